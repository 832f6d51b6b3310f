#include "encode/table/tree_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string_view>
#include <utility>

#include "base/json_checks.h"
#include "encode/table/statistic_json.h"

namespace l0gm {
namespace {

using namespace json_checks;

constexpr std::string_view where = "trees";

constexpr float largest = 1e30F;  // so many of them that there can be trees have a finite sum

bool all_in_range(const std::vector<float>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](float number) { return std::abs(number) <= largest; });
}

int64_t codes_of(const TreeInput& input, const Schema& schema) {
  return input.is_statistic() ? std::ssize(input.edges) + 1 : schema.rows_of(input.part);
}

TreeInput input_from_json(const Json& json, const Schema& schema) {
  if (!json.contains("edges")) return {part_from_json(json, where, "field", schema), {}};
  TreeInput input{count(json, where, "field"), {}};
  if (input.part.field >= std::ssize(schema.fields) ||
      schema.fields[static_cast<size_t>(input.part.field)].kind != FieldKind::statistic)
    refuse(where, fmt::format("an input with edges refers to field {}, wanted a statistic", input.part.field));
  for (const double edge : numbers(json, where, "edges")) input.edges.push_back(static_cast<float>(edge));
  const std::vector<float>& edges = input.edges;
  if (edges.empty() || std::ssize(edges) > most_edges_of_statistic || !all_in_range(edges) ||
      std::adjacent_find(edges.begin(), edges.end(), std::greater_equal<>()) != edges.end())
    refuse(where, fmt::format("the edges of a statistic must increase, 1 to {} of them", most_edges_of_statistic));
  return input;
}

void check_arrays(const TreeScores& trees, const Schema& schema) {
  if (trees.splits.size() % static_cast<size_t>(2 * trees.depth) != 0 || trees.trees() > most_trees ||
      std::ssize(trees.leaves) != trees.trees() * trees.leaf_values() || std::ssize(trees.start) != trees.outputs) {
    refuse(where,
           fmt::format("found {} numbers of starts, {} of splits and {} of leaves, which do not fit depth {} and {} outputs",
                       trees.start.size(), trees.splits.size(), trees.leaves.size(), trees.depth, trees.outputs));
  }
  for (size_t i = 0; i < trees.splits.size(); i += 2) {
    const int64_t input = trees.splits[i], code = trees.splits[i + 1];
    if (input < 0 || input >= std::ssize(trees.inputs))
      refuse(where, fmt::format("a split reads input {}, there are {}", input, trees.inputs.size()));
    if (code < -1 || code >= codes_of(trees.inputs[static_cast<size_t>(input)], schema))
      refuse(where, fmt::format("a split asks for code {}, which there is not", code));
  }
  if (!all_in_range(trees.leaves) || !all_in_range(trees.start)) refuse(where, "a leaf or start is too large, or not a number");
}

}  // namespace

nlohmann::json trees_to_json(const TreeScores& trees, bool with_arrays) {
  Json json = {{"depth", trees.depth}, {"outputs", trees.outputs}, {"share", trees.share}, {"inputs", Json::array()}};
  for (const TreeInput& input : trees.inputs) {
    Json part = Json::object();
    part_to_json(input.part, "field", part);
    if (input.is_statistic()) part["edges"] = input.edges;
    json["inputs"].push_back(std::move(part));
  }
  if (with_arrays) json.update({{"start", trees.start}, {"splits", trees.splits}, {"leaves", trees.leaves}});
  return json;
}

TreeScores trees_from_json(const nlohmann::json& json, const Schema& schema, TreeScores* separate) {
  TreeScores trees;
  trees.depth = count(json, where, "depth", 1, most_tree_depth);
  trees.outputs = count(json, where, "outputs", 1, most_tree_outputs);
  trees.share = number(json, where, "share");
  if (!(trees.share > 0 && trees.share <= 1)) refuse(where, "'share' must be above 0 and at most 1");
  if (trees.outputs != schema.tracked_classes())
    refuse(where, fmt::format("found {} outputs, wanted {}", trees.outputs, schema.tracked_classes()));
  for (const Json& input : array(json, where, "inputs")) trees.inputs.push_back(input_from_json(input, schema));
  if (trees.empty()) refuse(where, "there are no inputs");
  if (separate == nullptr || json.contains("splits")) {
    for (const double start : numbers(json, where, "start")) trees.start.push_back(static_cast<float>(start));
    for (const int64_t split : counts(json, where, "splits", -1, std::numeric_limits<int32_t>::max()))
      trees.splits.push_back(static_cast<int32_t>(split));
    for (const double leaf : numbers(json, where, "leaves")) trees.leaves.push_back(static_cast<float>(leaf));
  } else {
    trees.start = std::move(separate->start);
    trees.splits = std::move(separate->splits);
    trees.leaves = std::move(separate->leaves);
  }
  check_arrays(trees, schema);
  return trees;
}

}  // namespace l0gm
