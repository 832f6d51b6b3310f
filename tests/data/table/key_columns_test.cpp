#include "data/table/key_columns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "data/table/fit.h"

namespace l0gm {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(CutEdges, FewNumbersHaveARangeEach) {
  const std::vector<double> sorted = sorted_finite({5, 1, nan, 3, 3, 1, std::numeric_limits<double>::infinity()});
  EXPECT_EQ(sorted, (std::vector<double>{1, 1, 3, 3, 5}));
  const std::vector<double> edges = cut_edges(sorted, 12);
  EXPECT_EQ(edges, (std::vector<double>{3, 5}));
  EXPECT_EQ(codes_of_cut(edges, {1, 3, 5, nan, 0, 9}).codes, (std::vector<int32_t>{1, 2, 3, 0, 1, 3}));
  EXPECT_EQ(codes_of_cut(edges, {1}).count, 4);
  EXPECT_TRUE(cut_edges({7, 7, 7}, 12).empty());
  EXPECT_TRUE(cut_edges({}, 12).empty());
}

TEST(CutEdges, ManyNumbersAreCutIntoEqualRanges) {
  std::vector<double> numbers(6000);
  std::iota(numbers.begin(), numbers.end(), 0.0);
  for (const int64_t ranges : {12, 48, 150}) {
    const std::vector<double> edges = cut_edges(numbers, ranges);
    ASSERT_EQ(std::ssize(edges), ranges - 1);
    std::vector<int64_t> rows(static_cast<size_t>(ranges + 1), 0);
    for (const int32_t code : codes_of_cut(edges, numbers).codes) ++rows[static_cast<size_t>(code)];
    EXPECT_EQ(rows[0], 0);
    for (int64_t r = 1; r <= ranges; ++r)
      EXPECT_NEAR(static_cast<double>(rows[static_cast<size_t>(r)]), 6000.0 / static_cast<double>(ranges), 2);
  }
}

TEST(KeyColumns, ReadFieldsAndCutsByRow) {
  TextTable texts({"age", "colour", "y"});
  for (const auto& [age, colour, y] :
       {std::array{"10", "red", "a"}, {"?", "blue", "b"}, {"30.5", "red", "a"}, {"20", "blue", "b"}})
    texts.add_row({age, colour, y});
  const std::vector<int64_t> order = {3, 0, 1, 2};
  Schema schema = fit_schema(texts, 2, order, {}, {}, {});
  const EncodedTable rows = encode_rows(texts, RowEncoder(schema), order, true);
  schema.cuts = {{0, {20}}};
  const KeyColumns columns(schema, rows, &texts);
  const std::vector<double> numbers = columns.numbers(0);
  EXPECT_EQ(numbers[0], 20);
  EXPECT_TRUE(std::isnan(numbers[2]));
  EXPECT_EQ(columns.of(KeyPart::of_cut(0)).codes, (std::vector<int32_t>{2, 1, 0, 2}));
  const auto colour = std::find_if(schema.fields.begin(), schema.fields.end(), [](const Field& f) { return f.name == "colour"; });
  const KeyColumn codes = columns.of(colour - schema.fields.begin());
  EXPECT_EQ(codes.count, colour->rows());
  EXPECT_EQ(codes.codes[0], codes.codes[2]);
  EXPECT_NE(codes.codes[0], codes.codes[1]);
  EXPECT_THROW(KeyColumns(schema, rows, nullptr).numbers(0), std::logic_error);
}

}  // namespace
}  // namespace l0gm
