#include "encode/table/tree_encoder.h"

#include <algorithm>

namespace l0gm {

TreeEncoder::TreeEncoder(const Schema& schema)
    : depth_(static_cast<size_t>(schema.trees.depth)),
      outputs_(static_cast<size_t>(schema.trees.outputs)),
      start_(schema.trees.start),
      leaves_(schema.trees.leaves) {
  const std::vector<int64_t> slots = slots_of_fields(schema);
  const std::vector<int32_t>& splits = schema.trees.splits;
  for (size_t i = 0; i < splits.size(); i += 2) {
    const KeyPart& input = schema.trees.inputs[static_cast<size_t>(splits[i])];
    levels_.push_back({input.cut >= 0 ? -1 - input.cut : slots[static_cast<size_t>(input.field)], splits[i + 1]});
  }
}

void TreeEncoder::encode(const int32_t* codes, const int32_t* cut_codes, float* log_odds) const {
  std::copy(start_.begin(), start_.end(), log_odds);
  const float* leaves = leaves_.data();
  for (const Level* level = levels_.data(); level != levels_.data() + levels_.size(); level += depth_) {
    size_t leaf = 0;
    for (size_t k = 0; k < depth_; ++k) {
      const Level& at = level[k];
      const bool holds = at.place < 0 ? cut_codes[-1 - at.place] > at.code : codes[at.place] == at.code;
      leaf |= static_cast<size_t>(holds) << k;
    }
    for (size_t c = 0; c < outputs_; ++c) log_odds[c] += leaves[leaf * outputs_ + c];
    leaves += outputs_ << depth_;
  }
}

}  // namespace l0gm
