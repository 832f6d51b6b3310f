#include "encoders/table/serving_costs.h"

#include <gtest/gtest.h>

#include <numeric>

#include "encoders/table/toy_table.h"

namespace l0gm {
namespace {

using namespace testing_tools;

// Prices that can be told apart in a sum.
ServingPrices round_prices() {
  ServingPrices prices;
  prices.row = 1000;
  prices.code = 10;
  prices.number = 20;
  prices.cut = 5;
  prices.look_up = 100;
  prices.add = 0.25;
  prices.product = 0.5;
  prices.pair = 2;
  return prices;
}

// rich_schema() with age as a number and a statistic of it in ranges.
Schema priced_schema() {
  Schema schema = rich_schema();
  schema.columns[2].type = ColumnType::numeric;
  schema.cuts.push_back({2, {10, 20}});
  schema.statistics.push_back({KeyPart::of_cut(0), KeyPart(3), {}, {}, {}});
  Field field;
  field.name = "age x kind: odds";
  field.column = 2;
  field.kind = FieldKind::statistic;
  field.statistic = 2;
  field.of_class = 1;
  schema.fields.push_back(field);
  return schema;
}

constexpr int64_t colour = 1, age = 2, pair_look_up = 7, cut_look_up = 8;

ServingCosts costs_of(const Schema& schema, const ServedShape& shape = {4, 0, 0}) {
  const LookUps look_ups = look_ups_of(schema);
  return serving_costs(schema, look_ups.of_field, std::ssize(look_ups.names), shape, round_prices());
}

double of(const ServingCosts& costs, const std::vector<int64_t>& open) {
  std::vector<double> mask(costs.units.own.size(), 0);
  for (const int64_t unit : open) mask[static_cast<size_t>(unit)] = 1;
  return costs.units.of(mask);
}

TEST(ServingCosts, ALookUpIsATableOrAStatisticThatNoTableHolds) {
  const LookUps look_ups = look_ups_of(priced_schema());
  EXPECT_EQ(look_ups.names, (std::vector<std::string>{"size", "colour", "age", "kind", "user", "tags", "phase",
                                                      "statistic of colour x kind", "statistic of age in 3 x kind"}));
  // The statistics of colour alone are part of its table; odds and rows of the pair are one look-up.
  EXPECT_EQ(look_ups.of_field, (std::vector<int64_t>{0, 1, 2, 3, 1, 2, 4, 5, 6, 1, 1, 7, 7, 8}));
}

TEST(ServingCosts, AColumnIsReadOnceForAllThatNeedIt) {
  const ServingCosts costs = costs_of(priced_schema());
  EXPECT_DOUBLE_EQ(of(costs, {colour}), 10 + 1) << "a code, a row of four numbers";
  EXPECT_DOUBLE_EQ(of(costs, {age}), 20 + 1.5) << "a number, one row or two";
  EXPECT_DOUBLE_EQ(of(costs, {pair_look_up}), 10 + 10 + 100 + 2) << "two codes, one look-up, two rows";
  EXPECT_DOUBLE_EQ(of(costs, {colour, pair_look_up}), 10 + 1 + 10 + 100 + 2) << "colour is read once";
  EXPECT_DOUBLE_EQ(of(costs, {cut_look_up}), 20 + 5 + 10 + 100 + 1) << "a number, its range, a code, a look-up, a row";
  EXPECT_DOUBLE_EQ(costs.besides, 1000);
}

TEST(ServingCosts, AddUp) {
  const Schema schema = priced_schema();
  const ServingCosts costs = costs_of(schema, {4, 32, 90});
  const std::vector<double> spread = costs.units.spread();
  const double all = costs.units.of(std::vector<double>(spread.size(), 1));
  EXPECT_NEAR(std::accumulate(spread.begin(), spread.end(), 0.0), all, 1e-9);
  EXPECT_DOUBLE_EQ(costs.besides, 1000 + 16);
  // Five columns of codes, two rows of tags; numbers: age with a row and a half. Statistics: two look-ups, three rows, a cut.
  const double columns = 5 * 10 + 2 * 20 + 4 * 1 + 2 * 1 + 2 * 1.5, statistics = 2 * 100 + 3 * 1 + 5, pairs = 90 * 2;
  EXPECT_NEAR(all, columns + statistics + pairs, 1e-9);
  // By column and pair of columns the same is divided otherwise.
  std::vector<int64_t> one(schema.fields.size(), 0);
  EXPECT_NEAR(serving_costs(schema, one, 1, {4, 32, 90}, round_prices()).units.of({1}), all, 1e-9);
}

}  // namespace
}  // namespace l0gm
