#include "base/text.h"

#include <gtest/gtest.h>

#include <clocale>
#include <cmath>
#include <limits>

namespace l0gm {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(ParseDouble, WhatIsANumber) {
  EXPECT_EQ(parse_double("1.5"), 1.5);
  EXPECT_EQ(parse_double(" \t-2.25\r\n"), -2.25);
  EXPECT_EQ(parse_double("1e3"), 1000.0);
  EXPECT_EQ(parse_double("1E-3"), 0.001);
  EXPECT_EQ(parse_double("+1"), 1.0);
  EXPECT_EQ(parse_double(".5"), 0.5);
  EXPECT_EQ(parse_double("5."), 5.0);
  EXPECT_EQ(parse_double("inf"), infinity);
  EXPECT_EQ(parse_double("-Infinity"), -infinity);
  EXPECT_EQ(parse_double("+INF"), infinity);
  EXPECT_TRUE(std::isnan(parse_double("NaN").value()));
  EXPECT_TRUE(std::signbit(parse_double("-0").value()));
}

TEST(ParseDouble, WhatIsNot) {
  for (const char* text : {"",    " ",   "+",   "-",   ".",    "e5",     "1e",    "1 2",   "1,5",   "0x10",
                           "--1", "+-1", "-+1", "++1", "1.5x", "nan(1)", "infin", "1_000", "1e5.0", "١"}) {
    EXPECT_FALSE(parse_double(text).has_value()) << "'" << text << "'";
  }
  EXPECT_FALSE(parse_double(std::string_view("1\0", 2)).has_value());
}

TEST(ParseDouble, NumbersBeyondTheRangeGoToTheNearest) {
  EXPECT_EQ(parse_double("1e400"), infinity);
  EXPECT_EQ(parse_double("-1e400"), -infinity);
  EXPECT_EQ(parse_double("+1e99999999999999999999"), infinity);
  EXPECT_EQ(parse_double("1e-400"), 0.0);
  EXPECT_TRUE(std::signbit(parse_double("-1e-400").value()));
  EXPECT_EQ(parse_double("0.0001e-330"), 0.0);
  EXPECT_EQ(parse_double("0.0001e+330"), infinity);
  EXPECT_EQ(parse_double(std::string(400, '9')), infinity);
  EXPECT_EQ(parse_double("0." + std::string(400, '0') + "1"), 0.0);
  EXPECT_EQ(parse_double("0." + std::string(400, '0') + "1e401"), 1.0);
  EXPECT_EQ(parse_double("0e999999"), 0.0);
  EXPECT_EQ(parse_double("5e-324"), std::numeric_limits<double>::denorm_min());
}

TEST(ParseInteger, WholeStringInRangeOrNothing) {
  EXPECT_EQ(parse_integer(" 42 "), 42);
  EXPECT_EQ(parse_integer("+7"), 7);
  EXPECT_EQ(parse_integer("-9223372036854775808"), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(parse_integer("9223372036854775807"), std::numeric_limits<int64_t>::max());
  for (const char* text : {"", "9223372036854775808", "1.0", "1e3", "+-1", "0x1", "1 2", "+", "-"}) {
    EXPECT_FALSE(parse_integer(text).has_value()) << "'" << text << "'";
  }
}

TEST(Shortest, ReadsBackAndIsShort) {
  EXPECT_EQ(shortest(0.1), "0.1");
  EXPECT_EQ(shortest(100000.0), "100000");
  EXPECT_EQ(shortest(0.1F), "0.1");
  EXPECT_EQ(shortest(1e300), "1e+300");
  EXPECT_EQ(shortest(infinity), "inf");
  EXPECT_EQ(shortest(-infinity), "-inf");
  EXPECT_EQ(shortest(-std::nan("")), "nan");
  for (const double value : {1.0 / 3, 5e-324, 1.7976931348623157e308, -0.0, 123456789.123456789, 2e22}) {
    EXPECT_EQ(parse_double(shortest(value)), value) << shortest(value);
  }
  EXPECT_TRUE(std::signbit(parse_double(shortest(-0.0)).value()));
}

TEST(Numbers, DoNotFollowTheLocale) {
  const char* before = std::setlocale(LC_ALL, nullptr);
  const std::string saved = before;
  if (std::setlocale(LC_ALL, "de_DE.UTF-8") == nullptr) GTEST_SKIP() << "no locale with a decimal comma here";
  EXPECT_EQ(parse_double("1.5"), 1.5);
  EXPECT_EQ(shortest(1.5), "1.5");
  EXPECT_EQ(with_thousands(1234), "1,234");
  std::setlocale(LC_ALL, saved.c_str());
}

TEST(WithThousands, Groups) {
  EXPECT_EQ(with_thousands(0), "0");
  EXPECT_EQ(with_thousands(999), "999");
  EXPECT_EQ(with_thousands(1000), "1,000");
  EXPECT_EQ(with_thousands(1234567), "1,234,567");
  EXPECT_EQ(with_thousands(-100), "-100");
  EXPECT_EQ(with_thousands(-123456), "-123,456");
  EXPECT_EQ(with_thousands(std::numeric_limits<int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(Text, TrimLowerJoin) {
  EXPECT_EQ(trim(" \t a b\v\f\r\n"), "a b");
  EXPECT_EQ(trim("  "), "");
  EXPECT_EQ(lower("ABÇé1"), "abÇé1");  // ASCII only
  const std::vector<std::string> parts = {"a", "", "c"};
  EXPECT_EQ(join(parts, ", "), "a, , c");
  EXPECT_EQ(join({}, ", "), "");
}

TEST(ListSome, CutsLongLists) {
  const std::vector<std::string> names = {"a", "b", "c"};
  EXPECT_EQ(list_some(names), "a, b, c");
  EXPECT_EQ(list_some(names, 3), "a, b, c");
  EXPECT_EQ(list_some(names, 2), "a, b, … (3 in all)");
  EXPECT_EQ(list_some(names, 0), "… (3 in all)");
}

TEST(NearestName, FindsTyposAndNothingElse) {
  const std::vector<std::string> names = {"age", "income", "education", "hours-per-week"};
  EXPECT_EQ(nearest_name("incom", names), "income");
  EXPECT_EQ(nearest_name("Income", names), "income");
  EXPECT_EQ(nearest_name("icnome", names), "income");
  EXPECT_EQ(nearest_name("hours_per_week", names), "hours-per-week");
  EXPECT_EQ(nearest_name("aeg", names), "age");
  EXPECT_EQ(nearest_name("zebra", names), "");
  EXPECT_EQ(nearest_name("", names), "");
  EXPECT_EQ(nearest_name("x", std::vector<std::string>{"y"}), "");
  EXPECT_EQ(nearest_name("incom", {}), "");
  const std::vector<std::string> two = {"tests", "test"};
  EXPECT_EQ(nearest_name("test", two), "test");
  EXPECT_EQ(did_you_mean("incom", names), " Did you mean 'income'?");
  EXPECT_EQ(did_you_mean("zebra", names), "");
}

TEST(Utf8, ValidText) {
  for (const std::string_view text :
       {"", "plain", "é", "€", "😀", "aé€😀 and some more plain text", "\xEF\xBF\xBF", "\xF4\x8F\xBF\xBF", "\xED\x9F\xBF",
        "\xEE\x80\x80", "\xC2\x80", "\xE0\xA0\x80", "\xF0\x90\x80\x80"}) {
    EXPECT_EQ(first_invalid_utf8(text), std::nullopt) << text;
  }
  EXPECT_EQ(first_invalid_utf8(std::string_view("a\0b", 3)), std::nullopt);
}

TEST(Utf8, FirstInvalidByte) {
  const std::vector<std::string> bad = {
      "\x80",              // continuation without a start
      "\xC0\x80",          // overlong
      "\xC1\xBF",          // overlong
      "\xE0\x9F\xBF",      // overlong
      "\xF0\x8F\xBF\xBF",  // overlong
      "\xED\xA0\x80",      // surrogate
      "\xED\xBF\xBF",      // surrogate
      "\xF4\x90\x80\x80",  // above U+10FFFF
      "\xF5\x80\x80\x80",
      "\xFF",
      "\xC3",
      "\xE2\x82",
      "\xF0\x9F\x98",
      "\xC3(",
      "\xE2\x28\xA1",
      "\xE2\x82\x28",
      "\xF0\x9F\x98\x28",
  };
  for (const std::string& bytes : bad) {
    EXPECT_EQ(first_invalid_utf8(bytes), 0U);
    // At every alignment to the eight-byte steps.
    for (size_t before = 1; before < 20; ++before) EXPECT_EQ(first_invalid_utf8(std::string(before, 'a') + bytes), before);
    EXPECT_EQ(first_invalid_utf8("é" + bytes + " and more text"), 2U);
  }
}

}  // namespace
}  // namespace l0gm
