#include "data/table/grow_trees.h"

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
      const KeyPart& input = trees.inputs[static_cast<size_t>(trees.splits[place])];
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

TEST(GrowTrees, TellWhatThePairTellsAndEncodeAsTheyAreDefined) {
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

TEST(GrowTrees, NoneWhereThereIsNothingToTell) {
  const MadeTable noise(true), few(false, 120);
  EXPECT_FALSE(grow_trees(noise.schema, noise.table, noise.train, noise.valid));
  EXPECT_FALSE(grow_trees(few.schema, few.table, few.train, few.valid));  // 80 training rows
}

TEST(GrowTrees, TheOrderOfRowsDoesNotMatter) {
  const MadeTable made;
  std::vector<int64_t> reversed(made.train.rbegin(), made.train.rend());
  const auto one = grow_trees(made.schema, made.table, made.train, made.valid),
             other = grow_trees(made.schema, made.table, reversed, made.valid);
  ASSERT_TRUE(one && other);
  EXPECT_EQ(grown_to_json(*one), grown_to_json(*other));
}

TEST(GrowTrees, TheJsonIsReadBack) {
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
  damaged([](auto& trees) { trees["leaves"][0] = 1e35; });
  damaged([](auto& trees) { trees["start"] = nlohmann::json::array(); });
  damaged([](auto& trees) { trees["inputs"] = nlohmann::json::array(); });
  damaged([](auto& trees) { trees["inputs"][0] = {{"field_cut", 77}}; });
}

}  // namespace
}  // namespace l0gm
