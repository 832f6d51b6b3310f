#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "base/text_table.h"
#include "encode/table/schema.h"

namespace l0gm {

struct GrownTrees {
  TreeScores trees;
  std::vector<Cut> cuts;  // that the trees' inputs refer to
};

// Boosts trees over the columns of training rows, as many as lower the loss of validation rows. Nothing if they tell no more than
// the shares of classes, with more classes or fewer rows than trees are for, or where they would take minutes. `weights`: by
// row number; empty: each counts the same. Does not depend on the order of rows, nor on threads.
std::optional<GrownTrees> grow_trees(const Schema& schema, const TextTable& texts, const std::vector<int64_t>& train,
                                     const std::vector<int64_t>& valid, const std::vector<double>& weights = {});

// Makes trees a part of the schema, and their cuts.
void attach_trees(Schema& schema, const GrownTrees& grown);

nlohmann::json grown_to_json(const GrownTrees& grown);
// UserError if they do not fit the schema.
GrownTrees grown_from_json(const nlohmann::json& json, const Schema& schema);

}  // namespace l0gm
