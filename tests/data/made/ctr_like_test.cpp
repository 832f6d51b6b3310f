#include "data/made/ctr_like.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "data/made/made_tools.h"

namespace l0gm {
namespace {

using made_tools::Mean;
using made_tools::mean_of;

class Ctr : public testing::Test {
 protected:
  static constexpr int64_t sampled = 200000;
  static const std::vector<CtrRow>& rows() {
    static const std::vector<CtrRow> drawn = [] {
      std::vector<CtrRow> made;
      for (int64_t i = 0; i < sampled; ++i) made.push_back(ctr_row(3, i));
      return made;
    }();
    return drawn;
  }
  static const std::vector<double>& truth() {
    static const std::vector<double> probabilities = [] {
      std::vector<double> found;
      for (const CtrRow& row : rows()) found.push_back(row.probability);
      return found;
    }();
    return probabilities;
  }
  static int64_t value(int64_t row, CtrField field) {
    return rows()[static_cast<size_t>(row)].values[static_cast<size_t>(field)];
  }
  static double by_value(CtrField field) {
    return made_tools::chi_square<int64_t>(truth(), [&](int64_t row) { return value(row, field); });
  }
  static double by_class(CtrField field) {
    return made_tools::chi_square<int64_t>(truth(), [&](int64_t row) { return ctr_class(value(row, field)); });
  }
  static double by_pair(CtrField left, CtrField right) {
    return made_tools::chi_square<int64_t>(truth(), [&](int64_t row) {
      return ctr_class(value(row, left)) * 4 + ctr_class(value(row, right));
    });
  }
  // What a sum of `count` squared standard normals stays below.
  static double chance(double count) { return count + 4 * std::sqrt(2 * count); }
};

TEST_F(Ctr, IsATableSplitByRowOrder) {
  const CtrTable made = make_ctr(1005, 4);
  const TableDataset& data = made.dataset;
  EXPECT_EQ(data.name, "ctr-like/4");
  EXPECT_EQ(data.table.rows(), 1005);
  EXPECT_EQ(data.table.columns(), 16);
  EXPECT_EQ(data.table.names()[data.label], "click");
  EXPECT_EQ(data.train.size(), 804u);
  EXPECT_EQ(data.valid.size(), 100u);
  EXPECT_EQ(data.test.size(), 101u);
  EXPECT_EQ(data.train.back() + 1, data.valid.front());
  EXPECT_EQ(data.valid.back() + 1, data.test.front());
  EXPECT_EQ(data.test.back(), 1004);
  const std::set<std::string> planted(data.planted.begin(), data.planted.end());
  EXPECT_EQ(planted.size(), 13u);
  EXPECT_EQ(planted.count("carrier") + planted.count("session"), 0u);
  for (const std::string& name : data.planted) EXPECT_GE(data.table.column(name), 0) << name;
  for (int64_t row = 0; row < 1005; ++row) {
    const std::string_view user = data.table.cell(row, 0), click = data.table.cell(row, data.label);
    ASSERT_EQ(user[0], 'u');
    ASSERT_TRUE(parse_integer(user.substr(1)).has_value()) << user;
    ASSERT_TRUE(click == "0" || click == "1") << click;
  }
}

TEST_F(Ctr, RowsDependOnSeedAndNumberOnly) {
  const CtrTable small = make_ctr(100, 8), large = make_ctr(1000, 8), other = make_ctr(100, 9);
  bool differs = false;
  for (int64_t row = 0; row < 100; ++row) {
    for (int64_t column = 0; column < 16; ++column) {
      ASSERT_EQ(small.dataset.table.cell(row, column), large.dataset.table.cell(row, column));
      differs = differs || small.dataset.table.cell(row, column) != other.dataset.table.cell(row, column);
    }
    EXPECT_EQ(ctr_row(8, row).probability, large.probabilities[static_cast<size_t>(row)]);
  }
  EXPECT_TRUE(differs);
}

TEST_F(Ctr, TextsAreOnePerValue) {
  std::set<int64_t> cardinalities;
  for (size_t field = 0; field < ctr_field_count; ++field) {
    const auto which = static_cast<CtrField>(field);
    cardinalities.insert(ctr_cardinality(which));
    std::set<std::string> texts;
    for (int64_t i = 0; i < ctr_cardinality(which); ++i) texts.insert(ctr_text(which, i));
    EXPECT_EQ(static_cast<int64_t>(texts.size()), ctr_cardinality(which)) << *texts.begin();
  }
  EXPECT_EQ(*cardinalities.begin(), 24);
  EXPECT_EQ(*cardinalities.rbegin(), 500000);
}

TEST_F(Ctr, IdsAreZipfLike) {
  // Shares of the most common ads, from the law itself: 5,000 values, exponent 1.1.
  const auto share = [](double ranks) { return (1 - std::pow(ranks + 1, -0.1)) / (1 - std::pow(5001.0, -0.1)); };
  for (const int64_t ranks : {1, 10, 100, 1000}) {
    std::vector<double> among;
    for (int64_t row = 0; row < sampled; ++row) among.push_back(value(row, CtrField::ad) < ranks);
    EXPECT_TRUE(mean_of(among).agrees(share(static_cast<double>(ranks)), 4)) << ranks;
  }
  std::map<int64_t, int64_t> users;
  for (int64_t row = 0; row < 20000; ++row) users[value(row, CtrField::user)] += 1;
  const auto once = std::count_if(users.begin(), users.end(), [](const auto& user) { return user.second == 1; });
  EXPECT_GT(users.size(), 10000u);
  EXPECT_GT(once, 8000);
}

TEST_F(Ctr, ASixthOfTheRowsAreClicks) {
  std::vector<double> clicks;
  for (const CtrRow& row : rows()) clicks.push_back(row.click);
  EXPECT_NEAR(mean_of(clicks).value, 0.17, 0.005);
  EXPECT_TRUE(mean_of(clicks).agrees(mean_of(truth()).value, 4));
}

TEST_F(Ctr, TagsAreOneToFiveDistinctOnes) {
  std::map<size_t, int64_t> sizes;
  std::set<int64_t> seen;
  for (const CtrRow& row : rows()) {
    sizes[row.tags.size()] += 1;
    ASSERT_EQ(std::set<int64_t>(row.tags.begin(), row.tags.end()).size(), row.tags.size());
    seen.insert(row.tags.begin(), row.tags.end());
  }
  EXPECT_EQ(sizes.size(), 5u);
  for (const auto& [size, count] : sizes)
    EXPECT_NEAR(static_cast<double>(count), sampled / 5.0, 4 * std::sqrt(sampled * 0.16)) << size;
  EXPECT_EQ(seen.size(), 200u);
  EXPECT_EQ(*seen.rbegin(), 199);
  // The cell says the same.
  const TableDataset data = make_ctr_table(100, 3);
  for (int64_t row = 0; row < 100; ++row) {
    const std::string_view cell = data.table.cell(row, data.table.column("tags"));
    EXPECT_EQ(static_cast<size_t>(std::count(cell.begin(), cell.end(), '|')) + 1, rows()[static_cast<size_t>(row)].tags.size())
        << cell;
    EXPECT_EQ(std::count(cell.begin(), cell.end(), 't'), std::count(cell.begin(), cell.end(), '|') + 1) << cell;
  }
}

TEST_F(Ctr, SingleTagsAndCountersMatter) {
  double effect = 0;
  for (int64_t tag = 0; tag < 50; ++tag) {
    const auto groups = made_tools::grouped<bool>(truth(), [&](int64_t row) {
      const std::vector<int64_t>& tags = rows()[static_cast<size_t>(row)].tags;
      return std::find(tags.begin(), tags.end(), tag) != tags.end();
    });
    const Mean with = mean_of(groups.at(true)), without = mean_of(groups.at(false));
    effect += std::pow((with.value - without.value) / std::hypot(with.error, without.error), 2);
  }
  EXPECT_GT(effect, 500);
  const auto where = [&](auto holds) {
    return mean_of(
               made_tools::grouped<bool>(truth(), [&](int64_t row) { return holds(rows()[static_cast<size_t>(row)]); }).at(true))
        .value;
  };
  EXPECT_GT(where([](const CtrRow& row) { return row.views_today == 0; }),
            where([](const CtrRow& row) { return row.views_today > 10; }) + 0.05);
  EXPECT_LT(where([](const CtrRow& row) { return row.clicks_before == 0; }),
            where([](const CtrRow& row) { return row.clicks_before > 4; }) - 0.05);
}

TEST_F(Ctr, CrossesAreInvisibleToSingleFields) {
  for (const auto& [left, right] : {std::pair{CtrField::category, CtrField::site}, std::pair{CtrField::hour, CtrField::device},
                                    std::pair{CtrField::placement, CtrField::city}}) {
    EXPECT_LT(by_class(left), chance(4)) << ctr_text(left, 0);
    EXPECT_LT(by_class(right), chance(4)) << ctr_text(right, 0);
    EXPECT_GT(by_pair(left, right), 3000) << ctr_text(left, 0);
  }
  EXPECT_LT(by_pair(CtrField::hour, CtrField::site), chance(16));  // not a planted pair
  EXPECT_LT(by_value(CtrField::hour), chance(24));
  EXPECT_LT(by_value(CtrField::device), chance(32));
}

TEST_F(Ctr, MainEffectsShowAndNoiseDoesNot) {
  for (const CtrField field : {CtrField::user, CtrField::item, CtrField::ad, CtrField::category, CtrField::site, CtrField::city,
                               CtrField::placement, CtrField::page}) {
    EXPECT_GT(by_value(field), 2 * chance(static_cast<double>(std::min<int64_t>(ctr_cardinality(field), 700))))
        << ctr_text(field, 0);
  }
  EXPECT_LT(by_value(CtrField::carrier), chance(60));
  // Hardly a session is seen fifty times: in blocks of a thousand.
  EXPECT_LT(made_tools::chi_square<int64_t>(truth(), [&](int64_t row) { return value(row, CtrField::session) / 1000; }),
            chance(500));
}

TEST_F(Ctr, BayesScoresAreTheStoredOnesAndThoseOfSampledLabels) {
  const TableDataset data = make_ctr_table(100, 0);
  EXPECT_EQ(data.bayes_auc, ctr_bayes().auc);
  EXPECT_EQ(data.bayes_nll, ctr_bayes().nll);
  EXPECT_GT(data.bayes_auc, 0.82);
  EXPECT_LT(data.bayes_auc, 0.87);
  const BayesScores drawn = ctr_bayes_by_sampling(500000, 12);
  EXPECT_NEAR(drawn.auc, data.bayes_auc, 0.0015);
  EXPECT_NEAR(drawn.nll, data.bayes_nll, 0.0015);
  std::vector<double> clicks;
  for (const CtrRow& row : rows()) clicks.push_back(row.click);
  EXPECT_NEAR(made_tools::ranked_auc(truth(), clicks), data.bayes_auc, 4 * 0.0011);
  EXPECT_TRUE(made_tools::mean_loss(truth(), clicks).agrees(data.bayes_nll, 4));
}

}  // namespace
}  // namespace l0gm
