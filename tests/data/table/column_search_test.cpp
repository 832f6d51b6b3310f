#include "data/table/column_search.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "data/table/fit.h"

namespace l0gm {
namespace {

// a and b tell only by their product, c a little by itself, the others nothing; a name is different in nearly every row.
struct MadeTable {
  TextTable table;
  std::vector<int64_t> train, valid;
  Schema schema;
  explicit MadeTable(bool noise = false) {
    RandomStream random(5);
    table = TextTable({"c", "d", "a", "e", "b", "f", "town", "label"});
    for (int64_t row = 0; row < 2400; ++row) {
      const double a = random.normal(), b = random.normal(), c = random.normal();
      const bool yes = noise ? random.uniform() < 0.5 : (a * b > 0 ? 1.5 : -1.5) + 0.6 * c + random.normal() > 0;
      table.add_row({fmt::format("{:.3f}", c), fmt::format("{:.3f}", random.normal()), fmt::format("{:.3f}", a),
                     fmt::format("{:.3f}", random.normal()), fmt::format("{:.3f}", b), random.uniform() < 0.5 ? "x" : "y",
                     fmt::format("town{}", random.below(100)), yes ? "yes" : "no"});
      (row % 4 == 0 ? valid : train).push_back(row);
    }
    TableOptions options;
    options.min_count = 1;
    schema = fit_schema(table, 7, train, options, {}, {});
  }
};

TEST(ColumnSearch, FindsThePairThatTellsOnlyTogether) {
  const MadeTable made;
  const TreeGrower grower(made.schema, made.table, made.train, made.valid);
  EXPECT_EQ(better_columns(grower, {1, 1, 0, 0, 0, 0, 0}), (ColumnMask{0, 0, 1, 0, 1, 0, 0}));
  EXPECT_EQ(better_columns(grower, {1, 0, 0, 1, 1, 0, 0}), (ColumnMask{1, 0, 1, 0, 1, 0, 0}));
  EXPECT_FALSE(better_columns(grower, {0, 0, 1, 0, 1, 0, 0}));  // nothing is better
  EXPECT_FALSE(better_columns(grower, {1, 1, 1, 1, 1, 1, 1}));  // nothing to choose
}

TEST(ColumnSearch, FindsNothingOnceItIsToEndEarly) {
  const MadeTable made;
  TreeGrower grower(made.schema, made.table, made.train, made.valid);
  std::atomic<bool> stop{true};
  grower.end_early_when(stop);
  EXPECT_FALSE(better_columns(grower, {1, 1, 0, 0, 0, 0, 0}));
  EXPECT_FALSE(grower.grow());
  stop = false;
  EXPECT_TRUE(better_columns(grower, {1, 1, 0, 0, 0, 0, 0}));
  EXPECT_TRUE(grower.grow());
}

TEST(ColumnSearch, WhatTreesSeeOnlyRoughlyStaysAsItIs) {
  const MadeTable made;
  const TreeGrower grower(made.schema, made.table, made.train, made.valid);
  ASSERT_TRUE(grower.is_coarse(6));
  EXPECT_FALSE(grower.is_coarse(5));
  EXPECT_EQ(better_columns(grower, {1, 1, 0, 0, 0, 0, 1}), (ColumnMask{0, 0, 1, 0, 1, 0, 1}));
}

TEST(ColumnSearch, NothingIsBetterWhereNothingTells) {
  const MadeTable made(true);
  const TreeGrower grower(made.schema, made.table, made.train, made.valid);
  int64_t changes = 0;
  for (const ColumnMask& open :
       {ColumnMask{1, 1, 0, 0, 0, 0, 0}, ColumnMask{0, 0, 1, 1, 0, 0, 0}, ColumnMask{0, 0, 0, 0, 1, 1, 0}})
    changes += better_columns(grower, open).has_value() ? 1 : 0;
  EXPECT_LE(changes, 1);
}

}  // namespace
}  // namespace l0gm
