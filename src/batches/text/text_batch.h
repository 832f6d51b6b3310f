#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "batches/batch.h"

namespace l0gm {

// Where each of several sequences lies among rows that follow one another without padding.
struct SequenceRows {
  torch::Tensor offsets;         // int32 [sequences + 1], on the device
  std::vector<int64_t> lengths;  // the same on the host
  int64_t longest = 0;
  int64_t sequences() const { return static_cast<int64_t>(lengths.size()); }
  int64_t rows() const;
};

// Texts as token ids, one after the other: no padding anywhere.
struct TextBatch : Batch {
  torch::Tensor tokens;     // int64 [total]
  torch::Tensor positions;  // int64 [total]: of each token in its text, from 0
  torch::Tensor example;    // int64 [total]: the text of each token, counted in this batch
  torch::Tensor first;      // int64 [examples]: where each text begins
  SequenceRows texts;
  // [total, hidden], or undefined: what the encoder reads in place of the tokens' own vectors (perturbed inputs).
  torch::Tensor word_vectors;
  // [examples, width], or undefined: the interface as it was computed before, in place of all that is above (a frozen encoder).
  torch::Tensor features;

  // [examples, width], or undefined: a teacher's interface, which the encoder's is to come near; times this it is added to the
  // loss.
  torch::Tensor teacher_states;
  double teacher_weight = 0;

  int64_t examples() const { return texts.sequences(); }
  int64_t total() const { return tokens.size(0); }
  // Keys of noise for each token: independent of the batch, distinct for texts of fewer than 2^20 tokens.
  torch::Tensor token_ids() const;
};

inline int64_t SequenceRows::rows() const {
  int64_t total = 0;
  for (const int64_t length : lengths) total += length;
  return total;
}

inline torch::Tensor TextBatch::token_ids() const {
  return example_ids.to(tokens.device()).index_select(0, example).mul_(int64_t{1} << 20).add_(positions);
}

}  // namespace l0gm
