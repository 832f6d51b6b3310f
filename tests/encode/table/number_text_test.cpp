#include "encode/table/number_text.h"

#include <gtest/gtest.h>

namespace l0gm {
namespace {

TEST(NumberText, PlainNumbersAreThoseOfParseDouble) {
  EXPECT_EQ(parse_number("-1.5e3", 0), -1500);
  EXPECT_EQ(parse_number("1,5", 0), std::nullopt);
  EXPECT_EQ(parse_number("1,234", 0), std::nullopt);
}

TEST(NumberText, DecimalComma) {
  EXPECT_EQ(parse_number("1,5", ','), 1.5);
  EXPECT_EQ(parse_number("-1.234.567,25", ','), -1234567.25);
  EXPECT_EQ(parse_number("1.234", ','), 1234);
  EXPECT_EQ(parse_number("12", ','), 12);
  EXPECT_EQ(parse_number("1,5e3", ','), 1500);
  for (const char* text : {"1.5", "1.23.456", "1,2,3", "1,234.5", ".123,5", "1.2345", "", ",", "1,5 kg", "1234.567,0"}) {
    EXPECT_EQ(parse_number(text, ','), std::nullopt) << text;
  }
}

TEST(NumberText, CommasBetweenThousands) {
  EXPECT_EQ(parse_number("+1,234.5", '.'), 1234.5);
  EXPECT_EQ(parse_number("1,234", '.'), 1234);
  EXPECT_EQ(parse_number(" 1234.5 ", '.'), 1234.5);
  for (const char* text : {"1,23", "1,234,5", "1.5,000", "12,3456", "0,123", "-0,123", "012,345"}) EXPECT_EQ(parse_number(text, '.'), std::nullopt) << text;
}

TEST(NumberText, Dates) {
  EXPECT_EQ(parse_number("1970-01-02", 'd'), 1);
  EXPECT_EQ(parse_number("2024/02/29", 'd'), 19782);
  EXPECT_EQ(parse_number("1969-12-31 12:00", 'd'), -0.5);
  EXPECT_EQ(parse_number("1970-01-01T06:00:00Z", 'd'), 0.25);
  for (const char* text :
       {"2023-02-29", "2024-13-01", "2024-1-1", "2024-01/01", "2024-01-01 24:00", "2024-01-01x", "19782", "", "2024"}) {
    EXPECT_EQ(parse_number(text, 'd'), std::nullopt) << text;
  }
  EXPECT_EQ(number_text(19782, 'd'), "2024-02-29");
  EXPECT_EQ(number_text(-0.5, 'd'), "1969-12-31 12:00:00");
  EXPECT_EQ(number_text(0.9999999, 'd'), "1970-01-02");
  EXPECT_EQ(number_text(1e300, 'd'), "9999-12-31");
}

TEST(NumberText, WrittenAsItIsRead) {
  for (const char decimal : {'\0', '.', ','}) {
    for (const double value : {0.1, -1234.5, 1e300, 7.0}) EXPECT_EQ(parse_number(number_text(value, decimal), decimal), value);
  }
}

}  // namespace
}  // namespace l0gm
