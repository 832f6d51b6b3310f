#pragma once

#include "batches/text/text_batch.h"
#include "l0gm/gate_pass.h"

namespace l0gm {

// What every part of a Transformer needs to know of the pass it computes in. Parts read it only: a layer that is computed a
// second time for the gradient draws the same numbers again.
struct LayerPass {
  const TextBatch& batch;
  const GatePass& pass;
  torch::Tensor token_ids;  // keys of dropout, one per token; undefined: no dropout
  torch::Dtype compute;     // of matrix products; states, norms and sums have the type of the weights
  bool training() const { return token_ids.defined(); }
};

// Numbers that tell the places of dropout apart; those of heads and graph encoders are smaller.
enum class DropoutPlace { attention, after_attention, after_feed_forward, embeddings, relative_positions };
constexpr int64_t dropout_place(DropoutPlace place, int64_t layer = 0) { return 1000 + layer * 8 + static_cast<int64_t>(place); }

}  // namespace l0gm
