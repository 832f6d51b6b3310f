#include "server/json_cursor.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/random.h"
#include "server/request_error.h"

namespace l0gm {
namespace {

std::string text_of(std::string body) {
  JsonCursor cursor(body);
  const std::string text(cursor.text());
  cursor.end();
  return text;
}

bool skips(std::string body) {
  try {
    JsonCursor cursor(body);
    cursor.skip();
    cursor.end();
    return true;
  } catch (const RequestError&) {
    return false;
  }
}

TEST(JsonCursor, TextsAreDecodedInPlace) {
  EXPECT_EQ(text_of(R"("plain")"), "plain");
  EXPECT_EQ(text_of(R"( "a\"b\\c\/d\b\f\n\r\t" )"), "a\"b\\c/d\b\f\n\r\t");
  EXPECT_EQ(text_of(R"("\u0041\u00e9\u20ac\ud83d\ude00 end")"), "Aé€😀 end");
  EXPECT_EQ(text_of(R"("")"), "");
}

TEST(JsonCursor, WrongTextsAreRefused) {
  for (const char* wrong : {R"("open)", R"("\)", R"("\x")", R"("\u12")", R"("\u12g4")", R"("\ud800")", R"("\udc00")",
                            R"("\ud800\u0041")", "\"a\nb\"", "'a'", "12"}) {
    EXPECT_THROW(text_of(wrong), RequestError) << wrong;
  }
}

TEST(JsonCursor, NumbersAreSpelledAsTheyWere) {
  for (const std::string right : {"0", "-0", "10", "1.50", "1e3", "-1.5E-10", "123456789012345678901234567890"}) {
    std::string body = right;
    JsonCursor cursor(body);
    EXPECT_EQ(cursor.number(), right);
    cursor.end();
  }
  for (const char* wrong : {"01", "1.", ".5", "+1", "-", "1e", "1e+", "NaN", "Infinity", "0x1", ""})
    EXPECT_FALSE(skips(wrong)) << wrong;
}

TEST(JsonCursor, WalksThroughObjectsAndArrays) {
  std::string body = R"({"a": [1, [], {}], "b": true, "c": null})";
  JsonCursor cursor(body);
  cursor.open('{');
  ASSERT_TRUE(cursor.next('}'));
  EXPECT_EQ(cursor.key(), "a");
  cursor.open('[');
  ASSERT_TRUE(cursor.next(']'));
  EXPECT_EQ(cursor.number(), "1");
  ASSERT_TRUE(cursor.next(']'));
  cursor.skip();
  ASSERT_TRUE(cursor.next(']'));
  cursor.skip();
  EXPECT_FALSE(cursor.next(']'));
  ASSERT_TRUE(cursor.next('}'));
  EXPECT_EQ(cursor.key(), "b");
  EXPECT_TRUE(cursor.boolean());
  ASSERT_TRUE(cursor.next('}'));
  EXPECT_EQ(cursor.key(), "c");
  cursor.null();
  EXPECT_FALSE(cursor.next('}'));
  cursor.end();
}

TEST(JsonCursor, NestingIsBounded) {
  EXPECT_TRUE(skips(std::string(64, '[') + std::string(64, ']')));
  EXPECT_FALSE(skips(std::string(65, '[') + std::string(65, ']')));
  EXPECT_FALSE(skips(std::string(100000, '[')));
}

// The library that the rest of the project uses is the reference for what is JSON.
TEST(JsonCursor, AcceptsWhatTheReferenceAccepts) {
  RandomStream random(3);
  const auto below = [&](size_t most) { return static_cast<size_t>(random.uniform() * static_cast<double>(most)); };
  const std::string sample = R"({"k": [1, -2.5e3, "a\u00e9\n", true, false, null, {"x": []}], "l": {}} )";
  const std::string letters = "{}[]\",:\\ eE+-.019truefalsn u";
  int accepted = 0;
  for (int i = 0; i < 50000; ++i) {
    std::string body = sample;
    for (size_t changes = below(3) + 1; changes > 0; --changes) {
      if (below(3) == 0)
        body.erase(below(body.size()), below(4));
      else
        body[below(body.size())] = letters[below(letters.size())];
    }
    const bool wanted = nlohmann::json::accept(body);
    accepted += wanted;
    ASSERT_EQ(skips(body), wanted) << body;
  }
  EXPECT_GT(accepted, 1000);
}

}  // namespace
}  // namespace l0gm
