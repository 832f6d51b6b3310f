#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "encode/table/schema.h"

namespace l0gm {

struct GrownTrees {
  TreeScores trees;
  std::vector<Cut> cuts;  // that the trees' inputs refer to
};

// Makes trees a part of the schema, and their cuts.
void attach_trees(Schema& schema, const GrownTrees& grown);

nlohmann::json grown_to_json(const GrownTrees& grown);
// UserError if they do not fit the schema.
GrownTrees grown_from_json(const nlohmann::json& json, const Schema& schema);

}  // namespace l0gm
