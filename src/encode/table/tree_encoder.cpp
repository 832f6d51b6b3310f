#include "encode/table/tree_encoder.h"

#include <algorithm>
#include <limits>

namespace l0gm {
namespace {

float edge_of(const TreeInput& input, int32_t code) {
  if (code < 0) return -std::numeric_limits<float>::infinity();
  return static_cast<size_t>(code) < input.edges.size() ? input.edges[static_cast<size_t>(code)]
                                                        : std::numeric_limits<float>::infinity();
}

}  // namespace

TreeEncoder::TreeEncoder(const Schema& schema)
    : depth_(static_cast<size_t>(schema.trees.depth)),
      outputs_(static_cast<size_t>(schema.trees.outputs)),
      start_(schema.trees.start),
      leaves_(schema.trees.leaves) {
  const std::vector<int64_t> slots = slots_of_fields(schema);
  const std::vector<int32_t>& splits = schema.trees.splits;
  for (size_t i = 0; i < splits.size(); i += 2) {
    const TreeInput& input = schema.trees.inputs[static_cast<size_t>(splits[i])];
    const int32_t code = splits[i + 1];
    if (input.part.cut >= 0) {
      levels_.push_back({Reads::cut, static_cast<int32_t>(input.part.cut), code, 0});
      continue;
    }
    const auto slot = static_cast<int32_t>(slots[static_cast<size_t>(input.part.field)]);
    levels_.push_back({input.is_statistic() ? Reads::statistic : Reads::category, slot, code, edge_of(input, code)});
  }
}

void TreeEncoder::encode(const int32_t* codes, const int32_t* cut_codes, const float* slopes, float* log_odds) const {
  std::copy(start_.begin(), start_.end(), log_odds);
  const float* leaves = leaves_.data();
  for (const Level* level = levels_.data(); level != levels_.data() + levels_.size(); level += depth_) {
    size_t leaf = 0;
    for (size_t k = 0; k < depth_; ++k) {
      const Level& at = level[k];
      const bool holds = at.reads == Reads::cut        ? cut_codes[at.place] > at.code
                         : at.reads == Reads::category ? codes[at.place] == at.code
                                                       : slopes[at.place] >= at.edge;
      leaf |= static_cast<size_t>(holds) << k;
    }
    for (size_t c = 0; c < outputs_; ++c) log_odds[c] += leaves[leaf * outputs_ + c];
    leaves += outputs_ << depth_;
  }
}

}  // namespace l0gm
