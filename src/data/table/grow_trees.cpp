#include "data/table/grow_trees.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "base/json_checks.h"
#include "data/table/boosted_trees.h"
#include "data/table/encoded.h"
#include "data/table/key_columns.h"
#include "data/table/statistic_groups.h"
#include "encode/table/statistic_json.h"
#include "encode/table/tree_json.h"

namespace l0gm {
namespace {

constexpr int64_t ranges_of_a_column = 64;
constexpr int32_t most_categories = 33;  // that a split may ask for: missing, rare and the most frequent
constexpr int64_t fewest_rows = 100, fewest_trees = 40, most_grown = 1000, patience = 50;
constexpr double most_additions = 6e9;  // some ten seconds of one thread
constexpr double rows_of_a_tree = 60'000, inputs_of_a_tree = 100;
constexpr double least_gain = 0.005;  // of the loss that the shares of classes have

// What one can split: a cut of each numeric column, by the first rows, which the schema gets, and the codes of each column of
// categories.
std::vector<KeyPart> inputs_of(Schema& schema, const EncodedTable& rows, size_t first, const TextTable& texts) {
  const KeyColumns columns(schema, rows, &texts);
  std::vector<KeyPart> inputs;
  for (size_t c = 0; c < schema.columns.size(); ++c) {
    const auto column = static_cast<int64_t>(c);
    if (schema.columns[c].type == ColumnType::numeric) {
      std::vector<double> numbers = columns.numbers(column);
      numbers.resize(first);
      const std::vector<double> edges = cut_edges(sorted_finite(std::move(numbers)), ranges_of_a_column);
      if (!edges.empty()) inputs.push_back(part_of_cut(schema, column, edges));
      continue;
    }
    const auto is_its_own = [&](const Field& field) { return field.column == column && field.kind == FieldKind::categorical; };
    const auto found = std::find_if(schema.fields.begin(), schema.fields.end(), is_its_own);
    if (found != schema.fields.end()) inputs.emplace_back(found - schema.fields.begin());
  }
  return inputs;
}

TreeRows rows_of(const Schema& schema, const EncodedTable& encoded, const TextTable& texts, const std::vector<KeyPart>& inputs) {
  const KeyColumns columns(schema, encoded, &texts);
  TreeRows rows;
  rows.classes = std::ssize(schema.classes);
  rows.labels = encoded.labels;
  rows.weights = encoded.weights;
  rows.codes.resize(inputs.size());
  rows.sizes.resize(inputs.size());
  for (const KeyPart& input : inputs) rows.is_category.push_back(input.cut < 0);
  for_each_at_once(encoded.rows(), std::ssize(inputs), [&](size_t i) {
    const KeyColumn column = columns.of(inputs[i]);
    const int64_t last = inputs[i].cut < 0 ? std::min<int64_t>(most_categories, column.count) : column.count - 1;
    rows.sizes[i] = static_cast<int32_t>(last) + 1;
    rows.codes[i].reserve(column.codes.size());
    for (const int32_t code : column.codes) rows.codes[i].push_back(static_cast<uint8_t>(std::min<int64_t>(code, last)));
  });
  return rows;
}

// How trees are grown on so many rows, and how many at most, in bounded time.
struct Plan {
  BoostSettings settings;
  int64_t trees = 0;
};
Plan plan_for(int64_t train, int64_t inputs, int64_t outputs) {
  const auto rows = static_cast<double>(train), columns = static_cast<double>(inputs);
  Plan plan;
  plan.settings.rows_share = std::min(0.8, rows_of_a_tree / rows);
  plan.settings.inputs_share = std::min(1.0, inputs_of_a_tree / columns);
  const auto depth = static_cast<double>(plan.settings.depth), width = static_cast<double>(2 * outputs);
  // Sums of gradients of the rows that a tree is grown on, and its leaf for every row.
  const double additions =
      rows * (depth * width * plan.settings.rows_share * columns * plan.settings.inputs_share + depth + width + 4);
  plan.trees = static_cast<int64_t>(std::min(most_additions / additions, static_cast<double>(most_grown)));
  plan.settings.rate = std::clamp(20.0 / static_cast<double>(std::max<int64_t>(plan.trees, 1)), 0.05, 0.3);
  return plan;
}

// Adds trees until the loss of `outside` stops falling; the number with the least, and by how much that is below the first.
struct Best {
  int64_t trees = 0;
  double gained = 0;
};
Best grow(Boosting& boosting, const std::vector<uint32_t>& outside, int64_t most) {
  const double without = boosting.loss(outside);
  double least = without;
  Best best;
  while (boosting.trees() < most && boosting.trees() - best.trees < patience && boosting.add_tree()) {
    const double loss = boosting.loss(outside);
    if (loss >= least) continue;
    least = loss;
    best = {boosting.trees(), 1 - loss / without};
  }
  return best;
}

// Inputs that no tree reads are left out, and with them their columns.
GrownTrees trees_of(const Boosting& boosting, int64_t count, const Schema& schema, const std::vector<KeyPart>& inputs) {
  GrownTrees grown;
  TreeScores& trees = grown.trees;
  trees.depth = BoostSettings{}.depth;
  trees.outputs = schema.tracked_classes();
  trees.start = boosting.start();
  trees.splits.assign(boosting.splits().begin(), boosting.splits().begin() + count * 2 * trees.depth);
  trees.leaves.assign(boosting.leaves().begin(), boosting.leaves().begin() + count * trees.leaf_values());
  std::vector<int32_t> number(inputs.size(), -1);
  for (size_t i = 0; i < trees.splits.size(); i += 2) number[static_cast<size_t>(trees.splits[i])] = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (number[i] < 0) continue;
    number[i] = static_cast<int32_t>(trees.inputs.size());
    KeyPart input = inputs[i];
    if (input.cut >= 0) {
      grown.cuts.push_back(schema.cuts[static_cast<size_t>(input.cut)]);
      input = KeyPart::of_cut(std::ssize(grown.cuts) - 1);
    }
    trees.inputs.push_back(input);
  }
  for (size_t i = 0; i < trees.splits.size(); i += 2) trees.splits[i] = number[static_cast<size_t>(trees.splits[i])];
  return grown;
}

// Of rows, 1 on average over the first ones; none where each counts the same.
std::vector<float> weights_of(const std::vector<int64_t>& numbers, size_t first, const std::vector<double>& by_number) {
  if (by_number.empty()) return {};
  double sum = 0;
  for (size_t i = 0; i < first; ++i) sum += by_number[static_cast<size_t>(numbers[i])];
  std::vector<float> weights;
  for (const int64_t number : numbers)
    weights.push_back(static_cast<float>(by_number[static_cast<size_t>(number)] * static_cast<double>(first) / sum));
  return weights;
}

}  // namespace

std::optional<GrownTrees> grow_trees(const Schema& schema, const TextTable& texts, const std::vector<int64_t>& train,
                                     const std::vector<int64_t>& valid, const std::vector<double>& weights) {
  if (std::ssize(train) < fewest_rows || schema.tracked_classes() > most_tree_outputs) return std::nullopt;
  std::vector<int64_t> numbers = train, outside_numbers = valid;  // training rows, then validation rows
  std::sort(numbers.begin(), numbers.end());
  std::sort(outside_numbers.begin(), outside_numbers.end());
  numbers.insert(numbers.end(), outside_numbers.begin(), outside_numbers.end());
  Schema cut = without_statistics(schema);
  EncodedTable encoded = encode_rows(texts, RowEncoder(cut), numbers, true);
  encoded.weights = weights_of(numbers, train.size(), weights);
  const std::vector<KeyPart> inputs = inputs_of(cut, encoded, train.size(), texts);
  const Plan plan = plan_for(std::ssize(train), std::ssize(inputs), schema.tracked_classes());
  if (inputs.empty() || std::ssize(cut.cuts) + std::ssize(schema.cuts) > most_cuts || plan.trees < fewest_trees)
    return std::nullopt;
  const TreeRows rows = rows_of(cut, encoded, texts, inputs);
  std::vector<uint32_t> inside(train.size()), outside(valid.size());
  std::iota(inside.begin(), inside.end(), 0U);
  std::iota(outside.begin(), outside.end(), static_cast<uint32_t>(train.size()));
  Boosting boosting(rows, std::move(inside), plan.settings, 0);
  const Best best = grow(boosting, outside, plan.trees);
  if (best.gained < least_gain) return std::nullopt;
  return trees_of(boosting, best.trees, cut, inputs);
}

void attach_trees(Schema& schema, const GrownTrees& grown) {
  schema.trees = grown.trees;
  for (KeyPart& input : schema.trees.inputs) {
    if (input.cut < 0) continue;
    const Cut& cut = grown.cuts[static_cast<size_t>(input.cut)];
    input = part_of_cut(schema, cut.column, cut.edges);
  }
}

nlohmann::json grown_to_json(const GrownTrees& grown) {
  nlohmann::json json = {{"trees", trees_to_json(grown.trees, true)}, {"cuts", nlohmann::json::array()}};
  for (const Cut& cut : grown.cuts) json["cuts"].push_back({{"column", cut.column}, {"edges", cut.edges}});
  return json;
}

GrownTrees grown_from_json(const nlohmann::json& json, const Schema& schema) {
  Schema plain = without_statistics(schema);
  plain.cuts = cuts_from_json(json, plain);
  if (std::ssize(plain.cuts) + std::ssize(schema.cuts) > most_cuts)
    json_checks::refuse("trees.json", "more cuts than are allowed");
  return {trees_from_json(json_checks::member(json, "trees.json", "trees"), plain), plain.cuts};
}

}  // namespace l0gm
