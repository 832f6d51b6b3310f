#include "data/made/messy_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "data/made/made_tools.h"

namespace l0gm {
namespace {

using made_tools::Mean;
using made_tools::mean_of;

class Messy : public testing::Test {
 protected:
  static constexpr int64_t rows = 40000;
  static const MessyTable& made() {
    static const MessyTable table = make_messy(rows, 5);
    return table;
  }
  static std::string_view cell(int64_t row, const std::string& name) {
    return made().dataset.table.cell(row, made().dataset.table.column(name));
  }
  // Missing cells are NaN.
  static std::vector<double> numbers(const std::string& name) {
    std::vector<double> values;
    for (int64_t row = 0; row < rows; ++row) {
      values.push_back(cell(row, name).empty() ? std::numeric_limits<double>::quiet_NaN()
                                               : parse_double(cell(row, name)).value());
    }
    return values;
  }
  template <class Holds>
  static Mean share(const std::string& name, Holds holds) {
    std::vector<double> held;
    for (int64_t row = 0; row < rows; ++row) held.push_back(holds(cell(row, name)) ? 1 : 0);
    return mean_of(held);
  }
  // Mean true probability where the number lies in [from, to] and, if asked for, is not `but`.
  static Mean truth(const std::string& name, double from, double to, double but = -1) {
    const std::vector<double> values = numbers(name);
    std::vector<double> kept;
    for (int64_t row = 0; row < rows; ++row) {
      const double value = values[static_cast<size_t>(row)];
      if (value >= from && value <= to && std::abs(value - but) > 1e-6)
        kept.push_back(made().probabilities[static_cast<size_t>(row)]);
    }
    return mean_of(kept);
  }
  static double quantile(std::vector<double> values, double share) {
    std::sort(values.begin(), values.end());
    return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
  }
};

TEST_F(Messy, IsATableWithLabelAndSplit) {
  const TableDataset& data = made().dataset;
  EXPECT_EQ(data.name, "messy-table/5");
  EXPECT_EQ(data.table.rows(), rows);
  EXPECT_EQ(data.table.columns(), 18);
  EXPECT_EQ(data.table.names()[data.label], "label");
  EXPECT_EQ(data.train.size(), 24000u);
  EXPECT_EQ(data.valid.size(), 8000u);
  EXPECT_EQ(data.test.size(), 8000u);
  EXPECT_EQ(data.planted.size(), 14u);
  for (const std::string& name : data.planted) EXPECT_GE(data.table.column(name), 0) << name;
  for (const std::string& name : messy_uninformative()) {
    EXPECT_GE(data.table.column(name), 0) << name;
    EXPECT_EQ(std::count(data.planted.begin(), data.planted.end(), name), 0) << name;
  }
  const Mean yes = mean_of(made_tools::labels(data, "yes"));
  EXPECT_TRUE(yes.agrees(mean_of(made().probabilities).value, 4));
  EXPECT_NEAR(yes.value, 0.42, 0.02);
}

TEST_F(Messy, SpikesHaveTheirSharesAndEffectsOfTheirOwn) {
  EXPECT_NEAR(share("price", [](auto text) { return text == "9.99"; }).value, 0.12, 0.01);
  EXPECT_NEAR(share("price", [](auto text) { return text == "19.99"; }).value, 0.10, 0.01);
  EXPECT_NEAR(share("price", [](auto text) { return text == "49.00"; }).value, 0.05, 0.01);
  EXPECT_LT(share("price", [](auto text) { return text == "10.00"; }).value, 0.002);
  EXPECT_GT(truth("price", 9.98, 10).value, truth("price", 8, 12, 9.99).value + 0.1);
  EXPECT_LT(truth("price", 19.98, 20).value, truth("price", 18, 22, 19.99).value - 0.1);
  EXPECT_GT(truth("price", 48.99, 49.01).value, truth("price", 45, 53, 49).value + 0.05);
}

TEST_F(Messy, ZerosAndTheCodeStandOut) {
  EXPECT_TRUE(share("discount", [](auto text) { return text == "0.00"; }).agrees(0.55, 4));
  EXPECT_LT(truth("discount", 0, 0).value, truth("discount", 2, 6).value - 0.1);
  EXPECT_TRUE(share("days_since", [](auto text) { return text == "999"; }).agrees(0.15, 4));
  EXPECT_LT(quantile(numbers("days_since"), 0.84), 600);
  EXPECT_EQ(truth("days_since", 731, 998).rows, 0);
  EXPECT_GT(truth("days_since", 999, 999).value, truth("days_since", 200, 730).value + 0.2);
  EXPECT_GT(truth("days_since", 0, 20).value, truth("days_since", 200, 730).value + 0.15);
}

TEST_F(Messy, TailsAreHeavy) {
  const std::vector<double> volume = numbers("volume"), weight = numbers("weight");
  EXPECT_GT(quantile(volume, 1) / quantile(volume, 0), 1e5);
  EXPECT_NEAR(std::log10(quantile(volume, 0.999) / quantile(volume, 0.9)), 1.25 * 2,
              0.3);  // Pareto: a straight line in logarithms
  EXPECT_NEAR(std::log(quantile(weight, 0.9772) / quantile(weight, 0.5)), 2 * 1.3, 0.1);
  EXPECT_NEAR(std::log(quantile(weight, 0.5) / quantile(weight, 0.0228)), 2 * 1.3, 0.1);
}

TEST_F(Messy, SmoothEffectTurnsAndStepIsSharp) {
  const auto around = [](double middle) { return truth("position", middle - 5, middle + 5).value; };
  for (const double peak : {10.0, 50.0, 90.0}) {
    for (const double trough : {30.0, 70.0}) EXPECT_GT(around(peak), around(trough) + 0.2) << peak << " " << trough;
  }
  EXPECT_GT(truth("temperature", 13.375, 15).value, truth("temperature", 11.5, 13.37).value + 0.12);
  const Mean below = truth("temperature", -10, 5), just_below = truth("temperature", 9, 13.37);
  EXPECT_LT(std::abs(below.value - just_below.value), 4 * std::hypot(below.error, just_below.error));
}

TEST_F(Messy, FewIntegersWithoutOrder) {
  std::set<std::string_view> items, ratings;
  for (int64_t row = 0; row < rows; ++row) items.insert(cell(row, "items")), ratings.insert(cell(row, "rating"));
  EXPECT_EQ(items.size(), 8u);
  EXPECT_EQ(ratings.size(), 6u);  // with the missing one
  int turns = 0;
  for (double value = 2; value < 8; ++value) {
    const double here = truth("items", value, value).value;
    turns += (here > truth("items", value - 1, value - 1).value) == (here > truth("items", value + 1, value + 1).value);
  }
  EXPECT_EQ(turns, 6);  // up and down at each value
  for (double value = 1; value < 5; ++value) {
    EXPECT_LT(truth("rating", value, value).value, truth("rating", value + 1, value + 1).value) << value;
  }
}

TEST_F(Messy, MissingCellsSaySomethingOrNothing) {
  const double whole = mean_of(made().probabilities).value;
  const auto where = [&](const std::string& name, std::string_view mark) {
    return made_tools::grouped<bool>(made().probabilities, [&](int64_t row) { return cell(row, name) == mark; });
  };
  const auto check = [&](const std::string& name, std::string_view mark, double wanted) {
    EXPECT_TRUE(share(name, [&](auto text) { return text == mark; }).agrees(wanted, 4)) << name;
    return mean_of(where(name, mark).at(true));
  };
  EXPECT_GT(check("account_age", "", 0.22).value, mean_of(where("account_age", "").at(false)).value + 0.15);
  for (const Mean at_random : {check("rating", "", 0.10), check("noise_amount", "", 0.10), check("city", "NA", 0.05)}) {
    EXPECT_TRUE(at_random.agrees(whole, 4)) << at_random.value << " " << whole;
  }
}

TEST_F(Messy, CategoriesHaveLongTails) {
  std::map<std::string_view, int64_t> products;
  for (int64_t row = 0; row < 20000; ++row) products[cell(row, "product")] += 1;
  std::vector<int64_t> counts;
  for (const auto& [name, count] : products) counts.push_back(count);
  std::sort(counts.rbegin(), counts.rend());
  EXPECT_GT(counts.size(), 700u);
  EXPECT_LE(counts.size(), 800u);
  EXPECT_GT(std::count_if(counts.begin(), counts.end(), [](int64_t count) { return count < 10; }), 300);
  EXPECT_GT(counts[0], 20000 / 12);
  const auto groups =
      made_tools::grouped<std::string_view>(made().probabilities, [](int64_t row) { return cell(row, "product"); });
  double lowest = 1, highest = 0;
  for (const auto& [name, group] : groups) {
    if (group.size() < 200) continue;
    lowest = std::min(lowest, mean_of(group).value);
    highest = std::max(highest, mean_of(group).value);
  }
  EXPECT_GT(highest - lowest, 0.3);
}

TEST_F(Messy, OnlyThePairIsInformative) {
  const std::vector<double>& truth = made().probabilities;
  const auto key = [](const std::string& name) { return [name](int64_t row) { return std::string(cell(row, name)); }; };
  for (const std::string name : {"channel", "plan"}) {
    EXPECT_EQ(made_tools::grouped<std::string>(truth, key(name)).size(), 4u);
    EXPECT_LT(made_tools::chi_square<std::string>(truth, key(name)), 4 + 4 * std::sqrt(8.0)) << name;
  }
  EXPECT_GT(made_tools::chi_square<std::string>(truth, [&](int64_t row) { return key("channel")(row) + key("plan")(row); }),
            1000);
}

TEST_F(Messy, NoiseSaysNothingAndTheCopyNothingNew) {
  const std::vector<double>& truth = made().probabilities;
  const std::vector<double> amounts = numbers("noise_amount"), weight = numbers("weight"), gross = numbers("weight_gross");
  EXPECT_LT(made_tools::chi_square<int64_t>(truth,
                                            [&](int64_t row) {
                                              return std::isnan(amounts[row]) ? -1 : static_cast<int64_t>(amounts[row] / 25);
                                            }),
            45 + 4 * std::sqrt(90.0));
  const auto code = [](int64_t row) { return cell(row, "noise_code"); };
  EXPECT_LT(made_tools::chi_square<std::string_view>(truth, code), 200 + 4 * std::sqrt(400.0));
  double largest = 0;
  std::vector<double> apart;
  for (size_t row = 0; row < weight.size(); ++row) {
    if (weight[row] < 0.5) continue;  // three decimals
    largest = std::max(largest, std::abs(std::log(gross[row] / weight[row])));
    apart.push_back(std::log(gross[row] / weight[row]));
  }
  EXPECT_LT(largest, 0.15);
  EXPECT_GT(largest, 0.05);
  EXPECT_NEAR(mean_of(apart).value, std::log(1.03), 0.001);
}

TEST_F(Messy, RowsDependOnSeedAndNumberOnly) {
  const MessyTable small = make_messy(300, 5), other = make_messy(300, 6);
  bool differs = false;
  for (int64_t row = 0; row < 300; ++row) {
    for (int64_t column = 0; column < 18; ++column) {
      ASSERT_EQ(small.dataset.table.cell(row, column), made().dataset.table.cell(row, column)) << row << " " << column;
      differs = differs || small.dataset.table.cell(row, column) != other.dataset.table.cell(row, column);
    }
  }
  EXPECT_TRUE(differs);
  EXPECT_NE(small.dataset.train, other.dataset.train);
}

TEST_F(Messy, BayesScoresAreTheStoredOnesAndThoseOfSampledLabels) {
  EXPECT_GT(messy_bayes().auc, 0.88);
  EXPECT_LT(messy_bayes().auc, 0.92);
  EXPECT_EQ(made().dataset.bayes_auc, messy_bayes().auc);
  EXPECT_EQ(made().dataset.bayes_nll, messy_bayes().nll);
  const BayesScores sampled = messy_bayes_by_sampling(400000, 11);
  EXPECT_NEAR(sampled.auc, messy_bayes().auc, 0.001);
  EXPECT_NEAR(sampled.nll, messy_bayes().nll, 0.0015);
  const std::vector<double> labels = made_tools::labels(made().dataset, "yes");
  EXPECT_NEAR(made_tools::ranked_auc(made().probabilities, labels), messy_bayes().auc, 4 * 0.0016);
  EXPECT_TRUE(made_tools::mean_loss(made().probabilities, labels).agrees(messy_bayes().nll, 4));
}

}  // namespace
}  // namespace l0gm
