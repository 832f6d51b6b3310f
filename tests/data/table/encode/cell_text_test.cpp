#include "data/table/encode/cell_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace l0gm {
namespace {

TEST(TextHash, NeverChanges) {  // computed with another program
  EXPECT_EQ(text_hash(""), 0xf52a15e9a9b5e89bU);
  EXPECT_EQ(text_hash("a"), 0x02c0bdbf481420f8U);
  EXPECT_EQ(text_hash("user-4711"), 0xd5ae9cf0816577f5U);
  EXPECT_EQ(text_hash("Z\xC3\xBCrich"), 0xc65e9341af283a5dU);  // whether or not char is signed
}

TEST(BucketCode, BeginsAtOneAndStaysInside) {
  EXPECT_EQ(bucket_code("a", 1), 1);
  EXPECT_EQ(bucket_code("a", 1000), 737);
  for (int i = 0; i < 1000; ++i) {
    const int32_t code = bucket_code(std::to_string(i), most_buckets);
    EXPECT_TRUE(code >= 1 && code <= most_buckets);
  }
}

std::vector<std::string> values_of(std::string_view cell, char separator, size_t most = 100) {
  const MissingMarks marks(default_missing_marks, {});
  std::vector<std::string> values;
  each_value(cell, separator, marks, [&](std::string_view value) {
    values.emplace_back(value);
    return values.size() < most;
  });
  return values;
}

TEST(EachValue, SplitsTrimsAndLeavesOutWhatIsMissing) {
  using Values = std::vector<std::string>;
  EXPECT_EQ(values_of("a", '|'), Values{"a"});
  EXPECT_EQ(values_of(" b |a; c|b", '|'), (Values{"b", "a; c", "b"}));
  EXPECT_EQ(values_of("|NA|| x |?|", '|'), Values{"x"});
  EXPECT_EQ(values_of("", '|'), Values{});
  EXPECT_EQ(values_of("|||", '|'), Values{});
  EXPECT_EQ(values_of("a b", ' '), (Values{"a", "b"}));
  EXPECT_EQ(values_of("a|b|c", '|', 2), (Values{"a", "b"}));
}

TEST(CanSeparate, OneAsciiCharacterThatFilesDoNotUse) {
  for (const char c : {'|', ';', ' ', '\t', ',', '/'}) EXPECT_TRUE(can_separate(c)) << c;
  for (const char c : {'"', '\n', '\r', '\0', '\x7F', '\xE4'}) EXPECT_FALSE(can_separate(c)) << static_cast<int>(c);
}

}  // namespace
}  // namespace l0gm
