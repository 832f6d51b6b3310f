#include "data/table/grown_trees.h"

#include <nlohmann/json.hpp>

#include "base/json_checks.h"
#include "data/table/key_columns.h"
#include "encode/table/statistic_json.h"
#include "encode/table/tree_json.h"

namespace l0gm {

void attach_trees(Schema& schema, const GrownTrees& grown) {
  schema.trees = grown.trees;
  for (TreeInput& input : schema.trees.inputs) {
    if (input.part.cut < 0) continue;
    const Cut& cut = grown.cuts[static_cast<size_t>(input.part.cut)];
    input.part = part_of_cut(schema, cut.column, cut.edges);
  }
}

nlohmann::json grown_to_json(const GrownTrees& grown) {
  nlohmann::json json = {{"trees", trees_to_json(grown.trees, true)}, {"cuts", nlohmann::json::array()}};
  for (const Cut& cut : grown.cuts) json["cuts"].push_back({{"column", cut.column}, {"edges", cut.edges}});
  return json;
}

GrownTrees grown_from_json(const nlohmann::json& json, const Schema& schema) {
  Schema with_cuts = schema;  // those that the trees' inputs refer to, in place of its own
  with_cuts.cuts = cuts_from_json(json, schema);
  if (std::ssize(with_cuts.cuts) + std::ssize(schema.cuts) > most_cuts)
    json_checks::refuse("trees.json", "more cuts than are allowed");
  return {trees_from_json(json_checks::member(json, "trees.json", "trees"), with_cuts), with_cuts.cuts};
}

}  // namespace l0gm
