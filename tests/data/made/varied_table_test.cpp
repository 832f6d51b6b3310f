#include "data/made/varied_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

namespace l0gm {
namespace {

TEST(VariedDraw, SeedsCoverWhatTablesAreLike) {
  std::set<VariedEffect::Kind> effects;
  std::set<VariedColumn::Kind> columns;
  std::set<int64_t> classes;
  int64_t least_rows = 1 << 30, most_rows = 0, most_columns = 0;
  double most_imbalance = 0;
  bool noise = false, not_at_random = false;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const VariedDraw draw = draw_varied(seed);
    EXPECT_GE(draw.rows, 500);
    EXPECT_LE(draw.rows, 200'000);
    EXPECT_GE(draw.columns.size(), 4U);
    EXPECT_LE(draw.columns.size(), 200U);
    EXPECT_GE(draw.classes, 2);
    EXPECT_LE(draw.classes, 12);
    EXPECT_GE(static_cast<double>(draw.rows) / draw.imbalance, 40 - 1e-9);  // the rarest class has rows
    EXPECT_FALSE(draw.informative().empty());
    classes.insert(draw.classes);
    least_rows = std::min(least_rows, draw.rows);
    most_rows = std::max(most_rows, draw.rows);
    most_columns = std::max(most_columns, std::ssize(draw.columns));
    most_imbalance = std::max(most_imbalance, draw.imbalance);
    noise = noise || draw.label_noise > 0.05;
    for (const VariedColumn& column : draw.columns) {
      columns.insert(column.kind);
      not_at_random = not_at_random || column.missing_large;
    }
    for (const VariedEffect& effect : draw.effects) effects.insert(effect.kind);
  }
  EXPECT_EQ(effects.size(), 8U);
  EXPECT_EQ(columns.size(), 6U);
  EXPECT_EQ(classes.size(), 11U);
  EXPECT_LT(least_rows, 1000);
  EXPECT_GT(most_rows, 100'000);
  EXPECT_GT(most_columns, 150);
  EXPECT_GT(most_imbalance, 100);
  EXPECT_TRUE(noise && not_at_random);
}

TEST(VariedTable, ARowDependsOnSeedAndNumberOnly) {
  const VariedTable a = make_varied(3, 300), again = make_varied(3, 300), longer = make_varied(3, 600),
                    other = make_varied(4, 300);
  EXPECT_EQ(a.probabilities, again.probabilities);
  for (int64_t c = 0; c < a.dataset.table.columns(); ++c) {
    EXPECT_EQ(a.dataset.table.cell(17, c), again.dataset.table.cell(17, c));
    EXPECT_EQ(a.dataset.table.cell(17, c), longer.dataset.table.cell(17, c));
  }
  EXPECT_NE(a.draw.to_json(), other.draw.to_json());
  EXPECT_EQ(nlohmann::json::parse(a.dataset.about)["rows"], 300);
  EXPECT_EQ(a.dataset.planted, a.draw.informative());
}

// Labels follow the probabilities, classes have the shares that were drawn, and there is something to learn.
TEST(VariedTable, LabelsFollowTheirProbabilities) {
  for (const uint64_t seed : {1U, 2U, 5U, 8U}) {
    const VariedTable made = make_varied(seed, 4000);
    const auto classes = static_cast<size_t>(made.draw.classes);
    std::vector<double> expected(classes, 0.0), found(classes, 0.0);
    for (int64_t row = 0; row < 4000; ++row) {
      const std::string label(made.dataset.table.cell(row, made.dataset.label));
      found[std::stoul(label.substr(5))] += 1;
      for (size_t k = 0; k < classes; ++k) expected[k] += made.probabilities[static_cast<size_t>(row) * classes + k];
    }
    double entropy = 0;
    for (size_t k = 0; k < classes; ++k) {
      EXPECT_NEAR(found[k], expected[k], 5 * std::sqrt(expected[k]) + 1) << seed;
      entropy -= expected[k] / 4000 * std::log(expected[k] / 4000);
    }
    EXPECT_LT(made.dataset.bayes_nll, 0.97 * entropy) << seed;
    EXPECT_GT(made.dataset.bayes_nll, 0) << seed;
    if (made.draw.label_noise == 0) {
      EXPECT_NEAR(expected.front() / expected.back(), made.draw.imbalance, 0.35 * made.draw.imbalance) << seed;
    }
  }
}

}  // namespace
}  // namespace l0gm
