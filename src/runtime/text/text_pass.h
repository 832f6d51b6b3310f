#pragma once

#include <cstdint>
#include <span>

#include "runtime/text/shared_phases.h"
#include "runtime/text/text_program.h"

namespace l0gm {

// Token ids of some texts, one text after the other.
struct TokenGroup {
  std::span<const int32_t> ids;
  std::span<const int64_t> offsets;  // into ids: where each text begins, and the end of the last
  int64_t texts() const { return static_cast<int64_t>(offsets.size()) - 1; }
  int64_t tokens() const { return offsets.back() - offsets.front(); }
  int64_t begin(int64_t text) const { return offsets[static_cast<size_t>(text)] - offsets.front(); }
  int64_t length(int64_t text) const { return begin(text + 1) - begin(text); }
  int32_t id(int64_t token) const { return ids[static_cast<size_t>(offsets.front() + token)]; }
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

// A group of texts on its way through a program, packed one after the other, nothing padded.
//   TextPass pass(program, group, workspace, false);  pass.run(workspace);  pass.logits(logits);
// Ids are below the vocabulary; texts have at least one token and at most as many as there are positions.
class TextPass {
 public:
  // States of all tokens lie in `shared`. in_pieces: in blocks so small that several threads find work in a single text.
  TextPass(const TextProgram& program, const TokenGroup& group, TextWorkspace& shared, bool in_pieces);
  // By one thread or several at once, each with a workspace of its own, which may be the shared one for one of them.
  void run(TextWorkspace& own);
  void logits(float* logits);  // [texts, members, outputs], once it has run

 private:
  using Products = text_kernels::Products;
  void reserve_shared();
  void reserve(TextWorkspace& own) const;
  void plan();
  void add_blocks(int64_t rows, const std::function<void(int64_t begin, int64_t count, TextWorkspace& own)>& work);
  void add_layer(const TextLayer& layer);
  void add_last_layer_of_first_tokens(const TextLayer& layer);
  void add_attention(const TextLayer& layer, const float* q, int64_t q_stride, const float* k, const float* v, int64_t kv_stride,
                     bool first_only);
  void add_finish(const TextLayer& layer, int64_t rows);
  void embed(int64_t text);
  void scale_tokens(int64_t text);
  void keep_first_tokens();
  Products multiply(const TextLinear& linear, const float* in, int64_t rows, float* out, TextWorkspace& own) const;
  void project(const TextLinear& linear, const float* in, int64_t rows, float* out, TextWorkspace& own) const;
  void finish(const TextLayer& layer, int64_t begin, int64_t rows, TextWorkspace& own) const;
  const float* pooled(int64_t text);

  const TextWeights& weights_;
  const TextNet& net_;
  const text_kernels::TextKernels& kernels_;
  TokenGroup group_;
  TextWorkspace& shared_;
  int64_t hidden_;  // from row to row of states
  int64_t block_;   // rows that a thread takes at a time
  SharedPhases<TextWorkspace> phases_;
};

}  // namespace l0gm
