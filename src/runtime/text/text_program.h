#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/program.h"
#include "runtime/text/text_weights.h"

namespace l0gm {

// Token ids of some texts, one text after the other.
struct TokenGroup {
  std::span<const int32_t> ids;
  std::span<const int64_t> offsets;  // into ids: where each text begins, and the end of the last
  int64_t texts() const { return static_cast<int64_t>(offsets.size()) - 1; }
  int64_t tokens() const { return offsets.back() - offsets.front(); }
  int64_t begin(int64_t text) const { return offsets[static_cast<size_t>(text)] - offsets.front(); }
  int64_t length(int64_t text) const { return begin(text + 1) - begin(text); }
  std::span<const int32_t> all() const {
    return ids.subspan(static_cast<size_t>(offsets.front()), static_cast<size_t>(tokens()));
  }
};

// Working memory of one thread; grows with the largest group that it has met.
struct TextWorkspace {
  AlignedBuffer<float> states, projected, queries, attended;  // of all tokens
  AlignedBuffer<float> wide, narrow;                          // of a block of rows
  AlignedBuffer<std::byte> inputs;                            // the same, rounded for a product
  AlignedBuffer<float> row_scales, row_zeros;
  AlignedBuffer<float> attention, interface;
  onednn::Scratch scratch;
};

// A compact text model as it is computed: token ids to logits, texts packed one after the other, nothing padded.
class TextProgram {
 public:
  TextProgram(const TextNet& net, WeightType weights, const std::map<std::string, TensorBytes>& tensors,
              InstructionSet instructions = usable_instruction_sets().front());
  // logits: [texts, members, outputs]. Any number of threads, each with a workspace of its own. Ids are below the vocabulary,
  // texts have at least one token and at most as many as there are positions.
  void logits(const TokenGroup& group, float* logits, TextWorkspace& workspace) const;

  const TextNet& net() const { return net_; }
  onednn::Numbers numbers() const { return numbers_; }  // that products are computed with
  size_t memory_bytes() const { return weights_.bytes(); }

 private:
  class Pass;
  TextNet net_;
  onednn::Numbers numbers_;
  TextWeights weights_;
  const text_kernels::TextKernels& kernels_;
};

}  // namespace l0gm
