#include "encode/table/cell_text.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/text.h"

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

TEST(CanSeparate, OneAsciiCharacterWithoutMeaningInTableFiles) {
  for (const char c : {'|', ';', ' ', '\t', ',', '/'}) EXPECT_TRUE(can_separate(c)) << c;
  for (const char c : {'"', '\n', '\r', '\0', '\x7F', '\xE4'}) EXPECT_FALSE(can_separate(c)) << static_cast<int>(c);
}

TEST(Trimmed, IsTrim) {
  RandomStream random(6);
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (uint64_t k = random.below(7); k > 0; --k) text += " \t\r\n\v\f\x01x\xC3"[random.below(9)];
    ASSERT_EQ(trimmed(text), trim(text));
  }
  EXPECT_EQ(trimmed(std::string_view()), "");
}

TEST(ReadPlainNumber, EveryBitAsParseDouble) {
  RandomStream random(7);
  int read = 0;
  for (int i = 0; i < 200000; ++i) {
    std::string text(random.below(4) == 0 ? "-" : "");
    const uint64_t size = random.below(18), point = random.below(2 * size + 1);
    for (uint64_t k = 0; k < size; ++k) {
      if (k == point) text += '.';
      text += static_cast<char>('0' + random.below(10));
    }
    if (random.below(50) == 0) text.insert(random.below(text.size() + 1), 1, "-+.eE x"[random.below(7)]);
    double value = NAN;
    if (!read_plain_number(text, value)) continue;
    ++read;
    const auto wanted = parse_double(text);
    ASSERT_TRUE(wanted.has_value()) << text;
    ASSERT_EQ(std::bit_cast<uint64_t>(value), std::bit_cast<uint64_t>(*wanted)) << text;
  }
  EXPECT_GT(read, 120000);
}

TEST(ReadPlainNumber, ReadsUsualFormsAndRejectsAllOthers) {
  double value = NAN;
  for (const char* text : {"0", "39", "-7", "215646", "0.25", "-0", "123456789012345", "-1234567890.12345", "5.", ".5"}) {
    EXPECT_TRUE(read_plain_number(text, value)) << text;
    EXPECT_EQ(value, *parse_double(text)) << text;
  }
  for (const char* text : {"", "-", ".", "-.", "1.2.3", "1e3", "+1", "inf", "nan", " 1", "1 ", "--1", "1234567890123456",
                           "0000000000000001", "12345678.12345678", "\xB2", "/", ":"}) {
    EXPECT_FALSE(read_plain_number(text, value)) << text;
  }
}

}  // namespace
}  // namespace l0gm
