#pragma once

#include "batches/text/text_batch.h"

namespace l0gm {

// packed_attention() on the processor, without dropout: sequence by sequence, without padding and without ever holding all
// scores of a batch. Differentiable.
torch::Tensor sequence_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                                 const SequenceRows& queries, const SequenceRows& keys, double scale);

}  // namespace l0gm
