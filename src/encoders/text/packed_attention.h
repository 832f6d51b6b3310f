#pragma once

#include <functional>

#include "batches/text/text_batch.h"
#include "l0gm/gate_pass.h"

namespace l0gm {

// Dropout of attention weights. The processor draws by counters, one number per pair of tokens and head: independent of the
// batch. A GPU's fused kernels draw from the device's generator, which is set to the place's key first: the same for the same
// step and layer, so that a resumed run and a layer computed again repeat it, but dependent on how texts are batched.
struct AttentionDropout {
  double share = 0;
  const GatePass* pass = nullptr;
  int64_t place = 0;
  torch::Tensor ids;  // keys of the rows of queries
};

// Sets the generator from which a GPU's fused attention kernels draw.
void seed_fused_dropout(torch::Device device, uint64_t key);

// Attention within each sequence. q [query rows, heads, width], k and v [rows, heads, width]; `queries` and `keys` say which rows
// belong together (the same, or one query per sequence). Returns [query rows, heads, width].
torch::Tensor packed_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                               const SequenceRows& queries, const SequenceRows& keys, double scale,
                               const AttentionDropout& dropout);

// What is added to the scores of sequences [begin, begin + count), padded to the longest of them: [count, heads, queries, keys].
using ScoreBias = std::function<torch::Tensor(int64_t begin, int64_t count, const torch::Tensor& q, const torch::Tensor& k)>;

// The same in plain tensor operations with padding: any device, type and dropout; `bias` is given the padded q and k,
// [count, heads, longest, width].
torch::Tensor padded_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                               const SequenceRows& queries, const SequenceRows& keys, double scale,
                               const AttentionDropout& dropout, const ScoreBias& bias = nullptr);

}  // namespace l0gm
