#pragma once

#include <cstdint>

#include "encode/text/transformer_config.h"
#include "runtime/kernels.h"

// The loops of a text encoder beside its matrix products, compiled once per instruction set. Arguments are not checked. Rows
// begin `stride` elements apart, a multiple of kernels::lanes, and may be read and written up to there.
namespace l0gm::text_kernels {

// What a product has left for each row: float numbers, bias included; or sums of int8 products, which are
// row_scale * (column_scale * sum - row_zero * column_offset) + bias as numbers.
struct Products {
  const void* values = nullptr;
  int64_t stride = 0;
  bool integers = false;
  const float *row_scales = nullptr, *row_zeros = nullptr;
  const float *column_scales = nullptr, *column_offsets = nullptr, *bias = nullptr;  // aligned and padded
};

// out = product, or what the activation makes of it. out may be where the products are.
struct Activated {
  int64_t rows = 0, width = 0;
  Products products;
  float* out = nullptr;
  int64_t stride = 0;
};

struct Norm {
  const float *weight = nullptr, *bias = nullptr;  // aligned and padded
  float epsilon = 0;
};

// states = norm(states + products), row by row.
struct NormOfSum {
  int64_t rows = 0, width = 0;
  Products products;
  Norm norm;
  float* states = nullptr;
  int64_t stride = 0;
};

// One row of states: norm(word + position); int8 words have a scale.
struct Embedded {
  int64_t width = 0;
  const void* word = nullptr;
  float scale = 1;
  const float* position = nullptr;
  Norm norm;
  float* state = nullptr;
};

// Rows as unsigned bytes: number = row_scale * (byte - row_zero), each row over its own range.
struct Quantised {
  int64_t rows = 0, width = 0;
  const float* in = nullptr;
  int64_t in_stride = 0;
  uint8_t* out = nullptr;
  int64_t out_stride = 0;
  float *row_scales = nullptr, *row_zeros = nullptr;
};

struct Rounded {  // to bfloat16
  int64_t rows = 0, width = 0;
  const float* in = nullptr;
  int64_t in_stride = 0;
  uint16_t* out = nullptr;
  int64_t out_stride = 0;
};

// One head of one text: out = softmax(scale * q k') v.
struct HeadAttention {
  int64_t queries = 0, keys = 0, width = 0;
  const float *q = nullptr, *k = nullptr, *v = nullptr;
  int64_t q_stride = 0, k_stride = 0, v_stride = 0;
  float scale = 1;
  float* out = nullptr;
  int64_t out_stride = 0;
  float* scratch = nullptr;  // attention_scratch(keys, width) floats, aligned
};
constexpr int64_t attention_rows = 8;  // queries at a time, at most
constexpr int64_t attention_scratch(int64_t keys, int64_t width) {
  return (kernels::padded(width) + attention_rows) * kernels::padded(keys) + keys * kernels::padded(width) +
         attention_rows * kernels::padded(width);
}

// sum += row, for pooling.
struct RowSum {
  int64_t rows = 0, width = 0;
  const float* in = nullptr;
  int64_t stride = 0;
  float* sum = nullptr;  // padded(width) floats
};

struct TextKernels {
  void (*plain)(const Activated&);
  void (*activated[3])(const Activated&);  // by Activation
  void (*norm_of_sum)(const NormOfSum&);
  void (*embed[3])(const Embedded&);  // by kernels::Storage of the words
  void (*quantise)(const Quantised&);
  void (*round)(const Rounded&);
  void (*attend)(const HeadAttention&);
  void (*add_rows)(const RowSum&);
};

// The kernels of a set that usable_instruction_sets() lists.
const TextKernels& text_kernels_of(InstructionSet set);

}  // namespace l0gm::text_kernels
