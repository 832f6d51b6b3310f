#include "data/table/tree_grower.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/random.h"
#include "data/table/encoded.h"
#include "data/table/fit.h"
#include "data/table/statistics.h"
#include "encode/table/tree_json.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

// The label follows from the product of x and y, from a colour, or from nothing; z is noise.
struct MadeTable {
  TextTable table;
  std::vector<int64_t> train, valid;
  Schema schema;
  explicit MadeTable(bool noise = false, int64_t rows = 1500) {
    RandomStream random(3);
    table = TextTable({"x", "y", "z", "colour", "label"});
    const std::array<const char*, 3> colours = {"red", "green", "blue"};
    for (int64_t row = 0; row < rows; ++row) {
      const double x = random.normal(), y = random.normal(), z = random.normal();
      const auto colour = random.below(3);
      const bool yes = noise ? random.uniform() < 0.5 : (x * y > 0) != (colour == 2);
      table.add_row({row % 50 == 0 ? "" : fmt::format("{:.4f}", x), fmt::format("{:.4f}", y), fmt::format("{:.4f}", z),
                     colours[colour], yes ? "yes" : "no"});
      (row % 3 == 0 ? valid : train).push_back(row);
    }
    schema = fit_schema(table, 4, train, {}, {}, {});
  }
};

// Log odds by walking the trees as their definition says.
float walked(const Schema& schema, const EncodedTable& rows, const std::vector<double>& numbers, size_t row) {
  const TreeScores& trees = schema.trees;
  const std::vector<int64_t> slots = slots_of_fields(schema);
  float sum = trees.start[0];
  for (int64_t t = 0; t < trees.trees(); ++t) {
    int64_t leaf = 0;
    for (int64_t level = 0; level < trees.depth; ++level) {
      const auto place = static_cast<size_t>(2 * (t * trees.depth + level));
      const KeyPart& input = trees.inputs[static_cast<size_t>(trees.splits[place])].part;
      const int32_t code = trees.splits[place + 1];
      bool holds = false;
      if (input.cut >= 0) {
        const Cut& cut = schema.cuts[static_cast<size_t>(input.cut)];
        const double value = numbers[static_cast<size_t>(cut.column)];
        const int64_t found =
            std::isnan(value) ? 0
                              : 1 + std::count_if(cut.edges.begin(), cut.edges.end(), [&](double edge) { return edge <= value; });
        holds = found > code;
      } else {
        holds = rows.codes[row * static_cast<size_t>(rows.code_slots) +
                           static_cast<size_t>(slots[static_cast<size_t>(input.field)])] == code;
      }
      leaf |= static_cast<int64_t>(holds) << level;
    }
    sum += trees.leaves[static_cast<size_t>((t << trees.depth) + leaf)];
  }
  return sum;
}

std::optional<GrownTrees> grow_trees(const Schema& schema, const TextTable& table, const std::vector<int64_t>& train,
                                     const std::vector<int64_t>& valid) {
  auto found = TreeGrower(schema, table, train, valid).grow();
  if (!found) return std::nullopt;
  return std::move(found->grown);
}

TEST(TreeGrower, TellWhatThePairTellsAndEncodeAsTheyAreDefined) {
  const MadeTable made;
  const auto grown = grow_trees(made.schema, made.table, made.train, made.valid);
  ASSERT_TRUE(grown);
  Schema schema = made.schema;
  attach_trees(schema, *grown);
  schema.trees.share = 0.5;
  EXPECT_EQ(schema.slope_slots(), made.schema.slope_slots() + 1);
  const RowEncoder encoder(schema);
  const EncodedTable rows = encode_rows(made.table, encoder, made.valid, true);
  double right = 0;
  for (size_t i = 0; i < made.valid.size(); ++i) {
    const float log_odds = rows.slopes[(i + 1) * static_cast<size_t>(rows.slope_slots) - 1];
    right += (log_odds > 0) == (rows.labels[i] == 1) ? 1 : 0;
    std::vector<double> numbers;
    for (size_t c = 0; c < 3; ++c)
      numbers.push_back(encoder.number_of(c, made.table.cell(made.valid[i], static_cast<int64_t>(c))));
    EXPECT_NEAR(log_odds, walked(schema, rows, numbers, i), 1e-4) << i;
  }
  EXPECT_GT(right / static_cast<double>(made.valid.size()), 0.9);
}

TEST(TreeGrower, SomeColumnsAloneAreReadAndLogOddsAreThoseOfTheEncodedRows) {
  const MadeTable made;
  const TreeGrower grower(made.schema, made.table, made.train, made.valid);
  const auto found = grower.grow({{1, 1, 0, 0}, {}});
  ASSERT_TRUE(found);
  Schema schema = made.schema;
  attach_trees(schema, found->grown);
  for (const Cut& cut : found->grown.cuts) EXPECT_LT(cut.column, 2);
  schema.trees.share = 0.5;
  const EncodedTable rows = encode_rows(made.table, RowEncoder(schema), made.valid, true);
  ASSERT_EQ(grower.valid_rows(), made.valid);
  ASSERT_EQ(found->valid_log_odds.size(), made.valid.size());
  for (size_t i = 0; i < made.valid.size(); ++i)
    EXPECT_EQ(found->valid_log_odds[i], rows.slopes[(i + 1) * static_cast<size_t>(rows.slope_slots) - 1]) << i;
  const std::vector<double> with = grower.valid_losses({1, 1, 0, 1}), without = grower.valid_losses({1, 0, 1, 1});
  EXPECT_LT(std::accumulate(with.begin(), with.end(), 0.0), 0.8 * std::accumulate(without.begin(), without.end(), 0.0));
}

// A town says much of the label and there are too many for splits; its statistic says it in one number.
struct Towns {
  TextTable table{{"town", "x", "label"}};
  std::vector<int64_t> train, valid;
  Schema schema;
  EncodedTable encoded;
  Towns() {
    RandomStream random(11);
    for (int64_t row = 0; row < 4000; ++row) {
      const uint64_t town = random.below(150);
      const double likely = town % 2 == 0 ? 0.9 : 0.1;
      table.add_row(
          {fmt::format("town{}", town), fmt::format("{:.3f}", random.normal()), random.uniform() < likely ? "yes" : "no"});
      (row % 3 == 0 ? valid : train).push_back(row);
    }
    std::reverse(train.begin(), train.end());
    TableOptions options;
    options.min_count = 1;
    schema = fit_schema(table, 2, train, options, {}, {});
    encoded = encode_rows(table, RowEncoder(schema), train, true);
    options.statistics = Statistics::columns;
    fit_statistics(schema, encoded, options, &table, false);
  }
};

TEST(TreeGrower, StatisticsAreReadOutOfFoldAndEncodedAlike) {
  const Towns made;
  ASSERT_GT(made.schema.statistic_slots(), 0);
  const TreeGrower grower(made.schema, made.table, made.train, made.valid, {}, &made.encoded);
  const std::vector<uint8_t> closed(static_cast<size_t>(made.schema.statistic_slots()), 0);
  const auto loss_of = [&](const TreeChoice& choice) {
    const auto found = grower.grow(choice);
    double sum = 0;
    for (size_t i = 0; found && i < made.valid.size(); ++i) {
      const bool yes = made.table.cell(made.valid[i], 2) == "yes";
      sum += std::log1p(std::exp(static_cast<double>(yes ? -found->valid_log_odds[i] : found->valid_log_odds[i])));
    }
    return found ? sum / static_cast<double>(made.valid.size()) : std::log(2.0);
  };
  EXPECT_LT(loss_of({}), 0.37);  // .325 is what chance leaves
  EXPECT_GT(loss_of({{}, closed}), 0.5);
  EXPECT_GT(loss_of({{0, 1}, {}}), 0.65);  // a statistic of a closed column is not read
  const auto found = grower.grow();
  ASSERT_TRUE(found);
  Schema schema = made.schema;
  attach_trees(schema, found->grown);
  schema.trees.share = 0.5;
  EXPECT_EQ(Schema::from_json(schema.to_json()).to_json(), schema.to_json());
  const EncodedTable rows = encode_rows(made.table, RowEncoder(schema), made.valid, true);
  for (size_t i = 0; i < made.valid.size(); ++i)
    EXPECT_EQ(found->valid_log_odds[i], rows.slopes[(i + 1) * static_cast<size_t>(rows.slope_slots) - 1]) << i;
}

TEST(TreeGrower, EdgesOfStatisticsAreChecked) {
  const Towns made;
  const auto found = TreeGrower(made.schema, made.table, made.train, made.valid, {}, &made.encoded).grow();
  ASSERT_TRUE(found);
  GrownTrees grown = found->grown;
  grown.trees.share = 0.5;
  const nlohmann::json json = nlohmann::json::parse(grown_to_json(grown).dump());
  EXPECT_EQ(grown_to_json(grown_from_json(json, made.schema)), json);
  const auto place = std::find_if(json["trees"]["inputs"].begin(), json["trees"]["inputs"].end(),
                                  [](const nlohmann::json& input) { return input.contains("edges"); });
  ASSERT_NE(place, json["trees"]["inputs"].end());
  const auto damaged = [&](const std::function<void(nlohmann::json&)>& damage) {
    nlohmann::json other = json;
    damage(other["trees"]["inputs"][static_cast<size_t>(place - json["trees"]["inputs"].begin())]);
    EXPECT_THROW(grown_from_json(other, made.schema), UserError) << other["trees"]["inputs"].dump().substr(0, 200);
  };
  damaged([](auto& input) { input["edges"] = nlohmann::json::array(); });
  damaged([](auto& input) { input["edges"] = {1.0, 1.0}; });
  damaged([](auto& input) { input["edges"] = {2.0, 1.0}; });
  damaged([](auto& input) { input["edges"] = {1e35}; });
  damaged([](auto& input) { input["edges"] = "many"; });
  damaged([](auto& input) { input["field"] = 0; });
  damaged([](auto& input) { input["field"] = 99; });
  damaged([](auto& input) { input.erase("field"); });
}

TEST(TreeGrower, NoneWhereThereIsNothingToTell) {
  const MadeTable noise(true), few(false, 120);
  EXPECT_FALSE(grow_trees(noise.schema, noise.table, noise.train, noise.valid));
  EXPECT_FALSE(grow_trees(few.schema, few.table, few.train, few.valid));  // 80 training rows
}

TEST(TreeGrower, TheOrderOfRowsDoesNotMatter) {
  const MadeTable made;
  std::vector<int64_t> reversed(made.train.rbegin(), made.train.rend());
  const auto one = grow_trees(made.schema, made.table, made.train, made.valid),
             other = grow_trees(made.schema, made.table, reversed, made.valid);
  ASSERT_TRUE(one && other);
  EXPECT_EQ(grown_to_json(*one), grown_to_json(*other));
}

TEST(TreeGrower, TheJsonIsReadBack) {
  const MadeTable made;
  auto grown = grow_trees(made.schema, made.table, made.train, made.valid);
  ASSERT_TRUE(grown);
  grown->trees.share = 0.25;
  const nlohmann::json json = nlohmann::json::parse(grown_to_json(*grown).dump());
  EXPECT_EQ(grown_to_json(grown_from_json(json, made.schema)), grown_to_json(*grown));
  Schema schema = made.schema;
  attach_trees(schema, *grown);
  EXPECT_EQ(Schema::from_json(schema.to_json()).to_json(), schema.to_json());
  const auto damaged = [&](const std::function<void(nlohmann::json&)>& damage) {
    nlohmann::json other = json;
    damage(other["trees"]);
    EXPECT_THROW(grown_from_json(other, made.schema), UserError) << other["trees"].dump().substr(0, 200);
  };
  damaged([](auto& trees) { trees["depth"] = 0; });
  damaged([](auto& trees) { trees["share"] = 0; });
  damaged([](auto& trees) { trees["share"] = 1.5; });
  damaged([](auto& trees) { trees["outputs"] = 2; });
  damaged([](auto& trees) { trees["splits"][0] = 99; });
  damaged([](auto& trees) { trees["splits"][1] = 5000; });
  damaged([](auto& trees) { trees["splits"].erase(0); });
  damaged([](auto& trees) { trees["leaves"].erase(0); });
  damaged([](auto& trees) { trees["leaves"] = nlohmann::json::array({trees["leaves"]}); });  // as many numbers in another shape
  damaged([](auto& trees) { trees["splits"] = nlohmann::json::array({trees["splits"]}); });
  damaged([](auto& trees) { trees["leaves"][0] = 1e35; });
  damaged([](auto& trees) { trees["start"] = nlohmann::json::array(); });
  damaged([](auto& trees) { trees["inputs"] = nlohmann::json::array(); });
  damaged([](auto& trees) { trees["inputs"][0] = {{"field_cut", 77}}; });
}

}  // namespace
}  // namespace l0gm
