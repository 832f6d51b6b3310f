#include "data/table/read_numbers.h"

#include <gtest/gtest.h>

#include "data/table/fit_tools.h"

namespace l0gm {
namespace {

using fit_tools::contains;
using fit_tools::error_of;

// `good` cells 0.5, 1.5, … and then the others.
std::vector<std::string> texts_of(int good, const std::vector<std::string>& others) {
  std::vector<std::string> texts;
  for (int i = 0; i < good; ++i) texts.push_back(std::to_string(i) + ".5");
  texts.insert(texts.end(), others.begin(), others.end());
  return texts;
}

struct Read {
  std::optional<NumberReading> reading;
  std::string warnings;
};

Read read(const std::vector<std::string>& texts, const ColumnRequest& request = {}) {
  Cells cells;
  for (size_t i = 0; i < texts.size(); ++i) {
    cells.texts.emplace_back(texts[i]);
    cells.rows.push_back(static_cast<int64_t>(i));
  }
  testing::internal::CaptureStderr();
  Read result;
  try {
    result.reading = read_numbers("x", cells, request, {}, {});
    if (result.reading) warn_of_reading("x", cells, request, *result.reading, {});
  } catch (...) {
    testing::internal::GetCapturedStderr();
    throw;
  }
  result.warnings = testing::internal::GetCapturedStderr();
  return result;
}

TEST(ReadNumbers, OneCellInTwentyMayBeNone) {
  EXPECT_EQ(read(texts_of(12, {})).warnings, "");
  EXPECT_EQ(read(texts_of(9, {"unknown"})).reading->unreadable, (std::vector<size_t>{9}));
  EXPECT_EQ(read(texts_of(8, {"unknown"})).reading, std::nullopt);
  EXPECT_EQ(read(texts_of(38, {"-", "--"})).reading->sorted.size(), 38U);
  const Read texts = read(texts_of(38, {"a", "b", "c"}));
  EXPECT_FALSE(texts.reading.has_value());
  EXPECT_TRUE(contains(texts.warnings, {"column 'x' is taken as categories though most of its cells are numbers: 3 of 41",
                                        "'a' in data row 39", "columns.x.type = \"numeric\""}));
  EXPECT_EQ(read({"a", "b", "c", "d", "e", "f", "g", "h", "i", "1", "2"}).warnings, "");
}

TEST(ReadNumbers, TheOnlyWayOfWritingThatFitsIsTaken) {
  const Read comma = read({"1,5", "2,5", "3,5", "4,5", "5,5", "6,5", "7,5", "8,5", "9,5", "10", "n.a."});
  ASSERT_TRUE(comma.reading.has_value());
  EXPECT_EQ(comma.reading->notation, ',');
  EXPECT_EQ(comma.reading->sorted.back(), 10);
  EXPECT_TRUE(contains(comma.warnings, {"with a decimal comma", "columns.x.decimal", "'n.a.' in data row 11"}));
  EXPECT_EQ(read(texts_of(10, {"1,234.5", "2,000"})).reading->notation, '.');
}

TEST(ReadNumbers, WhatMayMeanTwoThingsIsMissing) {
  std::vector<std::string> texts(20, "7");
  texts[3] = "1,234";
  const Read one = read(texts);
  ASSERT_TRUE(one.reading.has_value());
  EXPECT_EQ(one.reading->notation, 0);
  EXPECT_EQ(one.reading->sorted.back(), 7);
  EXPECT_TRUE(contains(one.warnings, {"'1,234' in data row 4", "columns.x.decimal = \",\" reads 1.234,5"}));
  const Read all = read(std::vector<std::string>(20, "1,234"));
  EXPECT_FALSE(all.reading.has_value());
  EXPECT_TRUE(contains(all.warnings, {"column 'x' is taken as texts: '1,234' in data row 1 may have a decimal comma",
                                      "columns.x.decimal"}))
      << all.warnings;
  EXPECT_EQ(read(std::vector<std::string>(20, "red")).warnings, "");
  std::vector<std::string> with_a_zero(20, "1,234");
  with_a_zero[7] = "0,512";
  EXPECT_EQ(read(with_a_zero).reading->notation, ',') << "0,512 is no number of thousands";
  ColumnRequest request;
  request.options.decimal = ".";
  EXPECT_EQ(read(texts, request).reading->sorted.back(), 1234);
  EXPECT_EQ(read(texts, request).warnings, "");
  request.options.decimal = ";";
  EXPECT_TRUE(contains(error_of([&] { read(texts, request); }), {"decimal is ';'"}));
}

TEST(ReadNumbers, AGivenTypeIsKeptUpToHalfOfTheCells) {
  ColumnRequest numeric;
  numeric.type = "numeric";
  const Read half = read({"1", "2", "x", "y"}, numeric);
  EXPECT_EQ(half.reading->sorted, (std::vector<double>{1, 2}));
  EXPECT_TRUE(contains(half.warnings, {"2 of 4 cells are not numbers and count as missing"}));
  EXPECT_TRUE(contains(error_of([&] { read({"1", "x", "y"}, numeric); }), {"'x' is not a number", "2 of its 3 cells"}));
}

}  // namespace
}  // namespace l0gm
