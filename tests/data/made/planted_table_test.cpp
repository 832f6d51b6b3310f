#include "data/made/planted_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

constexpr int64_t samples = 100000;

std::vector<double> numbers(const TextTable& table, const std::string& name) {
  std::vector<double> values;
  const int64_t column = table.column(name);
  for (int64_t i = 0; i < table.rows(); ++i) values.push_back(parse_double(table.cell(i, column)).value());
  return values;
}

bool is_numeric(const TextTable& table, const std::string& name) {
  return parse_double(table.cell(0, table.column(name))).has_value();
}

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  double ma = 0, mb = 0, ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) ma += a[i] / a.size(), mb += b[i] / b.size();
  for (size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - ma) * (b[i] - mb), aa += (a[i] - ma) * (a[i] - ma), bb += (b[i] - mb) * (b[i] - mb);
  }
  return ab / std::sqrt(aa * bb);
}

// Mutual information of a field and the label, less its chance level: numerics in ten bins of equal mass.
double mutual_information(const PlantedTable& made, const std::string& name) {
  const TextTable& table = made.dataset.table;
  std::map<std::string, std::array<double, 2>> counts;
  std::vector<double> edges;
  if (is_numeric(table, name)) {
    edges = numbers(table, name);
    std::sort(edges.begin(), edges.end());
    std::vector<double> cut;
    for (size_t k = 1; k < 10; ++k) cut.push_back(edges[k * edges.size() / 10]);
    edges = cut;
  }
  double yes = 0;
  for (int64_t i = 0; i < table.rows(); ++i) {
    std::string key(table.cell(i, table.column(name)));
    if (!edges.empty()) key = std::to_string(std::upper_bound(edges.begin(), edges.end(), *parse_double(key)) - edges.begin());
    const bool label = table.cell(i, made.dataset.label) == "yes";
    counts[key][label] += 1;
    yes += label;
  }
  const double n = static_cast<double>(table.rows());
  double information = 0;
  for (const auto& [key, count] : counts) {
    for (int label = 0; label < 2; ++label) {
      const double expected = (count[0] + count[1]) * (label ? yes : n - yes) / n;
      if (count[label] > 0) information += count[label] / n * std::log(count[label] / expected);
    }
  }
  return information - static_cast<double>(counts.size() - 1) / (2 * n);
}

TEST(PlantedTable, HasThirtyFieldsOfTheRolesTheSpecNames) {
  const PlantedRoles roles = planted_roles(PlantedVariant::global);
  EXPECT_EQ(roles.linear.size(), 1u);
  EXPECT_EQ(roles.u_shaped.size(), 1u);
  EXPECT_EQ(roles.categories.size(), 2u);
  EXPECT_EQ(roles.product.size(), 2u);
  EXPECT_EQ(roles.decoys.size(), 4u);
  EXPECT_EQ(roles.noise.size(), 20u);
  std::set<std::string> all(roles.noise.begin(), roles.noise.end());
  all.insert(roles.decoys.begin(), roles.decoys.end());
  for (const std::string& name : roles.informative()) all.insert(name);
  EXPECT_EQ(all.size(), 30u);
  EXPECT_EQ(*all.begin(), "f00");
  EXPECT_EQ(*all.rbegin(), "f29");
}

TEST(PlantedTable, IsATableWithLabelAndSplit) {
  const PlantedTable made = make_planted(20000, 5, PlantedVariant::global);
  const TableDataset& data = made.dataset;
  EXPECT_EQ(data.table.rows(), 20000);
  EXPECT_EQ(data.table.columns(), 31);
  EXPECT_EQ(data.table.names()[data.label], "label");
  EXPECT_EQ(data.train.size(), 12000u);
  EXPECT_EQ(data.valid.size(), 4000u);
  EXPECT_EQ(data.test.size(), 4000u);
  std::set<int64_t> rows(data.train.begin(), data.train.end());
  rows.insert(data.valid.begin(), data.valid.end());
  rows.insert(data.test.begin(), data.test.end());
  EXPECT_EQ(rows.size(), 20000u);
  EXPECT_EQ(*rows.rbegin(), 19999);
  EXPECT_EQ(data.planted, made.roles.informative());
  EXPECT_EQ(data.planted.size(), 6u);
  EXPECT_EQ(data.bayes_auc, planted_bayes_auc(PlantedVariant::global));

  double yes = 0, expected = 0;
  for (int64_t i = 0; i < data.table.rows(); ++i) {
    const std::string_view label = data.table.cell(i, data.label);
    ASSERT_TRUE(label == "yes" || label == "no") << label;
    yes += label == "yes";
    expected += made.probabilities[static_cast<size_t>(i)];
  }
  EXPECT_NEAR(yes, expected, 4 * std::sqrt(20000 * 0.25));
  EXPECT_NEAR(expected / 20000, 0.5, 0.015);
}

TEST(PlantedTable, WritesNumbersWithFourDecimalsAndBothKindsOfNoise) {
  const PlantedTable made = make_planted(500, 1, PlantedVariant::global);
  int numeric = 0, categorical = 0;
  for (const std::string& name : made.roles.noise) (is_numeric(made.dataset.table, name) ? numeric : categorical) += 1;
  EXPECT_EQ(numeric, 10);
  EXPECT_EQ(categorical, 10);
  for (int64_t i = 0; i < 500; ++i) {
    const std::string_view cell = made.dataset.table.cell(i, made.dataset.table.column(made.roles.linear[0]));
    ASSERT_EQ(cell.size() - cell.find('.'), 5u) << cell;
    ASSERT_NE(cell, "-0.0000");
  }
  std::set<std::string_view> levels;
  for (int64_t i = 0; i < 500; ++i)
    levels.insert(made.dataset.table.cell(i, made.dataset.table.column(made.roles.categories[0])));
  EXPECT_EQ(levels.size(), 5u);
}

TEST(PlantedTable, SameSeedSameTableOtherSeedAnother) {
  const TableDataset a = make_planted_table(300, 3, PlantedVariant::global),
                     b = make_planted_table(300, 3, PlantedVariant::global);
  const TableDataset c = make_planted_table(300, 4, PlantedVariant::global);
  bool same = true, other = false;
  for (int64_t i = 0; i < 300; ++i) {
    for (int64_t j = 0; j < 31; ++j) {
      same = same && a.table.cell(i, j) == b.table.cell(i, j);
      other = other || a.table.cell(i, j) != c.table.cell(i, j);
    }
  }
  EXPECT_TRUE(same);
  EXPECT_TRUE(other);
  EXPECT_EQ(a.train, b.train);
  EXPECT_NE(a.train, c.train);
}

TEST(PlantedTable, DecoysCorrelateByOneHalfWithOneInformativeField) {
  const PlantedTable made = make_planted(20000, 2, PlantedVariant::global);
  for (const std::string& decoy : made.roles.decoys) {
    int halves = 0, others = 0;
    for (const std::string& name : made.roles.informative()) {
      if (!is_numeric(made.dataset.table, name)) continue;
      const double found = correlation(numbers(made.dataset.table, decoy), numbers(made.dataset.table, name));
      halves += std::abs(found - 0.5) < 0.03;
      others += std::abs(found) < 0.03;
    }
    EXPECT_EQ(halves, 1) << decoy;
    EXPECT_EQ(others, 3) << decoy;
  }
}

TEST(PlantedTable, BayesAucIsTheStoredConstant) {
  for (const PlantedVariant variant : {PlantedVariant::global, PlantedVariant::instance}) {
    EXPECT_NEAR(planted_bayes_auc_without(variant, {}, 1000000, 11), planted_bayes_auc(variant), 0.001);
    EXPECT_NEAR(planted_bayes_auc(variant), 0.90, 0.005);
  }
}

TEST(PlantedTable, HidingAnInformativeFieldOrThePairCostsAFewHundredths) {
  const PlantedVariant variant = PlantedVariant::global;
  const double whole = planted_bayes_auc_without(variant, {}, samples, 12);
  const PlantedRoles roles = planted_roles(variant);
  for (const std::string& name : roles.informative()) {
    const double cost = whole - planted_bayes_auc_without(variant, {name}, samples, 12);
    EXPECT_GT(cost, 0.01) << name;
    EXPECT_LT(cost, 0.05) << name;
  }
  const double pair = planted_bayes_auc_without(variant, {}, samples / 5, 12) -
                      planted_bayes_auc_without(variant, roles.product, samples / 5, 12);
  EXPECT_GT(pair, 0.01);
  EXPECT_LT(pair, 0.05);
}

TEST(PlantedTable, HidingDecoysOrNoiseCostsNothingUntilTheirFieldIsHiddenToo) {
  const PlantedVariant variant = PlantedVariant::global;
  const PlantedRoles roles = planted_roles(variant);
  const double whole = planted_bayes_auc_without(variant, {}, samples, 13);
  EXPECT_EQ(planted_bayes_auc_without(variant, roles.decoys, samples, 13), whole);
  EXPECT_EQ(planted_bayes_auc_without(variant, roles.noise, samples, 13), whole);
  std::vector<std::string> both = roles.decoys;
  both.push_back(roles.linear[0]);
  EXPECT_LT(planted_bayes_auc_without(variant, both, samples, 13),
            planted_bayes_auc_without(variant, roles.linear, samples, 13) - 0.005);
}

TEST(PlantedTable, AUnivariateFilterRanksThePairAmongTheNoise) {
  double share_of_noise_above = 0;
  int counted = 0;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const PlantedTable made = make_planted(20000, seed, PlantedVariant::global);
    std::vector<double> noise;
    for (const std::string& name : made.roles.noise) noise.push_back(mutual_information(made, name));
    const double strongest_noise = *std::max_element(noise.begin(), noise.end());
    for (const auto& role : {made.roles.linear, made.roles.u_shaped, made.roles.categories}) {
      for (const std::string& name : role) EXPECT_GT(mutual_information(made, name), 10 * std::abs(strongest_noise)) << name;
    }
    for (const std::string& name : made.roles.product) {
      const double score = mutual_information(made, name);
      EXPECT_LT(score, 0.001) << name << " seed " << seed;
      for (const double other : noise) share_of_noise_above += other > score ? 1.0 / 20 : 0;
      counted += 1;
    }
  }
  EXPECT_GT(share_of_noise_above / counted, 0.25);
  EXPECT_LT(share_of_noise_above / counted, 0.75);
}

TEST(PlantedTable, InstanceVariantSwitchesBetweenTwoSets) {
  const PlantedTable made = make_planted(20000, 0, PlantedVariant::instance);
  EXPECT_EQ(made.roles.selector, "f00");
  EXPECT_EQ(made.dataset.planted.size(), 7u);
  EXPECT_EQ(made.dataset.planted[0], "f00");
  EXPECT_EQ(made.dataset.name, "planted-table/instance/0");
  for (int set = 0; set < 2; ++set) {
    ASSERT_EQ(made.roles.sets[set].size(), 3u);
    for (const std::string& name : made.roles.sets[set]) {
      const std::vector<double> values = numbers(made.dataset.table, name);
      std::array<std::vector<double>, 2> value, truth;
      for (int64_t i = 0; i < 20000; ++i) {
        const int branch = made.dataset.table.cell(i, 0) == "a" ? 0 : 1;
        value[branch].push_back(values[static_cast<size_t>(i)]);
        truth[branch].push_back(made.probabilities[static_cast<size_t>(i)]);
      }
      EXPECT_GT(std::abs(correlation(value[set], truth[set])), 0.4) << name;
      EXPECT_LT(std::abs(correlation(value[1 - set], truth[1 - set])), 0.04) << name;
    }
  }
}

TEST(PlantedTable, UnknownFieldIsRefused) {
  EXPECT_THROW(planted_bayes_auc_without(PlantedVariant::global, {"f30"}, 10, 0), UserError);
}

}  // namespace
}  // namespace l0gm
