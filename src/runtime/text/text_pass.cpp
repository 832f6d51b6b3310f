#include "runtime/text/text_pass.h"

#include <algorithm>
#include <cmath>

namespace l0gm {

namespace {

using kernels::padded;
using onednn::MatrixProduct;
using onednn::Numbers;

constexpr int64_t least_block = 32, pieces = 4;

// Products read and write whole steps of rows.
size_t room(int64_t rows, int64_t width) { return static_cast<size_t>((rows + MatrixProduct::row_step) * padded(width)); }

int64_t block_of_pieces(int64_t tokens) {
  const int64_t share = (tokens + pieces - 1) / pieces, step = MatrixProduct::row_step;
  return std::clamp((share + step - 1) / step * step, least_block, MatrixProduct::most_rows);
}

}  // namespace

TextPass::TextPass(const TextProgram& program, const TokenGroup& group, TextWorkspace& shared, bool in_pieces)
    : weights_(program.weights()),
      net_(program.net()),
      kernels_(program.kernels()),
      group_(group),
      shared_(shared),
      hidden_(padded(net_.encoder.hidden)),
      block_(in_pieces ? block_of_pieces(group.tokens()) : MatrixProduct::most_rows) {
  reserve_shared();
  plan();
}

void TextPass::reserve_shared() {
  int64_t attention = 0;
  for (const TextLayer& layer : weights_.layers) attention = std::max(attention, layer.attention_width());
  shared_.states.grow(room(group_.tokens(), net_.encoder.hidden));
  shared_.projected.grow(room(group_.tokens(), 3 * attention));
  shared_.attended.grow(room(group_.tokens(), attention));
  if (net_.pooling == Pooling::cls) shared_.queries.grow(room(group_.texts(), attention));
  shared_.interface.grow(static_cast<size_t>(hidden_));
}

void TextPass::reserve(TextWorkspace& own) const {
  int64_t widest = net_.encoder.hidden, head = 0, longest = 0;
  for (const TextLayer& layer : weights_.layers) {
    widest = std::max({widest, layer.neurons(), layer.attention_width()});
    head = std::max(head, layer.head_width);
  }
  for (int64_t text = 0; text < group_.texts(); ++text) longest = std::max(longest, group_.length(text));
  own.wide.grow(room(block_, widest));
  own.narrow.grow(room(block_, net_.encoder.hidden));
  own.inputs.grow(room(block_, widest) * sizeof(uint16_t));
  own.row_scales.grow(room(block_, 1));
  own.row_zeros.grow(room(block_, 1));
  own.attention.grow(static_cast<size_t>(text_kernels::attention_scratch(longest, head)));
}

void TextPass::run(TextWorkspace& own) {
  reserve(own);
  phases_.run(own);
}

void TextPass::plan() {
  phases_.add(group_.texts(), [this](int64_t text, TextWorkspace&) { embed(text); });
  for (size_t i = 0; i < weights_.layers.size(); ++i) {
    const TextLayer& layer = weights_.layers[i];
    if (net_.token_factors && i + 1 == weights_.layers.size())
      phases_.add(group_.texts(), [this](int64_t text, TextWorkspace&) { scale_tokens(text); });
    if (layer.first_only) {
      add_last_layer_of_first_tokens(layer);
    } else {
      add_layer(layer);
    }
  }
}

void TextPass::add_blocks(int64_t rows, const std::function<void(int64_t begin, int64_t count, TextWorkspace& own)>& work) {
  phases_.add((rows + block_ - 1) / block_, [this, rows, work](int64_t item, TextWorkspace& own) {
    work(item * block_, std::min(block_, rows - item * block_), own);
  });
}

void TextPass::add_layer(const TextLayer& layer) {
  const int64_t width = layer.attention_width(), stride = padded(3 * width);
  float* const projected = shared_.projected.data();
  if (layer.heads == 0) return add_finish(layer, group_.tokens());
  add_blocks(group_.tokens(), [=, this, &layer](int64_t begin, int64_t count, TextWorkspace& own) {
    project(*layer.attention_in, shared_.states.data() + begin * hidden_, count, projected + begin * stride, own);
  });
  add_attention(layer, projected, stride, projected + width, projected + 2 * width, stride, /*first_only=*/false);
  add_finish(layer, group_.tokens());
}

// Keys and values of all tokens; all else of the first token of each text, which is all that is left of the states.
void TextPass::add_last_layer_of_first_tokens(const TextLayer& layer) {
  const int64_t width = layer.attention_width(), stride = padded(2 * width);
  float *const projected = shared_.projected.data(), *const queries = shared_.queries.data();
  if (layer.heads == 0) {
    phases_.add(1, [this](int64_t, TextWorkspace&) { keep_first_tokens(); });
    return add_finish(layer, group_.texts());
  }
  add_blocks(group_.tokens(), [=, this, &layer](int64_t begin, int64_t count, TextWorkspace& own) {
    project(*layer.keys_values, shared_.states.data() + begin * hidden_, count, projected + begin * stride, own);
  });
  phases_.add(1, [this](int64_t, TextWorkspace&) { keep_first_tokens(); });
  add_blocks(group_.texts(), [=, this, &layer](int64_t begin, int64_t count, TextWorkspace& own) {
    project(*layer.queries, shared_.states.data() + begin * hidden_, count, queries + begin * padded(width), own);
  });
  add_attention(layer, queries, padded(width), projected, projected + width, stride, /*first_only=*/true);
  add_finish(layer, group_.texts());
}

void TextPass::add_attention(const TextLayer& layer, const float* q, int64_t q_stride, const float* k, const float* v,
                             int64_t kv_stride, bool first_only) {
  phases_.add(group_.texts() * layer.heads, [=, this, &layer](int64_t item, TextWorkspace& own) {
    const int64_t text = item / layer.heads, column = item % layer.heads * layer.head_width;
    const int64_t key = group_.begin(text), query = first_only ? text : key, out_stride = padded(layer.attention_width());
    kernels_.attend({first_only ? 1 : group_.length(text), group_.length(text), layer.head_width, q + query * q_stride + column,
                     k + key * kv_stride + column, v + key * kv_stride + column, q_stride, kv_stride, kv_stride,
                     1 / std::sqrt(static_cast<float>(layer.head_width)), shared_.attended.data() + query * out_stride + column,
                     out_stride, own.attention.data()});
  });
}

void TextPass::add_finish(const TextLayer& layer, int64_t rows) {
  add_blocks(rows, [this, &layer](int64_t begin, int64_t count, TextWorkspace& own) { finish(layer, begin, count, own); });
}

void TextPass::embed(int64_t text) {
  const PackedRows& words = weights_.words;
  const kernels::Storage storage = kernels::storage_of(words.type());
  const auto row_bytes = words.stride() * static_cast<int64_t>(size_of(words.type()));
  for (int64_t i = 0; i < group_.length(text); ++i) {
    const int64_t token = group_.begin(text) + i, id = group_.id(token);
    kernels_.embed[static_cast<size_t>(storage)](
        {net_.encoder.hidden, static_cast<const std::byte*>(words.data()) + id * row_bytes,
         storage == kernels::Storage::int8 ? words.scales()[id] : 1.0F, weights_.positions.row<float>(i),
         weights_.embedding_norm.norm(), shared_.states.data() + token * hidden_});
  }
}

void TextPass::scale_tokens(int64_t text) {
  size_t block = 0;
  for (int64_t i = 0; i < group_.length(text); ++i) {
    while (block + 1 < token_block_starts.size() && i >= token_block_starts[block + 1]) ++block;
    float* const state = shared_.states.data() + (group_.begin(text) + i) * hidden_;
    const float* const factors = weights_.token_factors.data() + static_cast<int64_t>(block) * hidden_;
    for (int64_t j = 0; j < net_.encoder.hidden; ++j) state[j] *= factors[j];
  }
}

void TextPass::keep_first_tokens() {
  float* const states = shared_.states.data();  // a text's first token is never before its own place: none is written over unread
  for (int64_t text = 0; text < group_.texts(); ++text)
    std::copy_n(states + group_.begin(text) * hidden_, hidden_, states + text * hidden_);
}

text_kernels::Products TextPass::multiply(const TextLinear& linear, const float* in, int64_t rows, float* out,
                                          TextWorkspace& own) const {
  if (linear.inputs() == 0) {
    const int64_t width = padded(linear.outputs());
    for (int64_t row = 0; row < rows; ++row) std::copy_n(linear.bias(), width, out + row * width);
    return linear.products(out, nullptr, nullptr);
  }
  const int64_t stride = padded(linear.inputs());
  const void* inputs = in;
  if (linear.numbers() == Numbers::int8) {
    auto* const bytes = reinterpret_cast<uint8_t*>(own.inputs.data());
    kernels_.quantise({rows, linear.inputs(), in, stride, bytes, stride, own.row_scales.data(), own.row_zeros.data()});
    inputs = bytes;
  } else if (linear.numbers() == Numbers::bfloat16) {
    auto* const halves = reinterpret_cast<uint16_t*>(own.inputs.data());
    kernels_.round({rows, linear.inputs(), in, stride, halves, stride});
    inputs = halves;
  }
  linear.product().multiply(inputs, rows, out, own.scratch);
  return linear.products(out, own.row_scales.data(), own.row_zeros.data());
}

void TextPass::project(const TextLinear& linear, const float* in, int64_t rows, float* out, TextWorkspace& own) const {
  const Products products = multiply(linear, in, rows, out, own);
  if (products.integers) kernels_.plain({rows, linear.outputs(), products, out, padded(linear.outputs())});
}

// What follows attention, for a block of rows, so that the wide rows in between stay in the cache.
void TextPass::finish(const TextLayer& layer, int64_t begin, int64_t rows, TextWorkspace& own) const {
  const int64_t width = net_.encoder.hidden, wide = layer.neurons();
  float* const states = shared_.states.data() + begin * hidden_;
  const float* const attended = shared_.attended.data() + begin * padded(layer.attention_width());
  const Products out = multiply(*layer.attention_out, attended, rows, own.narrow.data(), own);
  kernels_.norm_of_sum({rows, width, out, layer.attention_norm.norm(), states, hidden_});
  if (wide > 0) {
    const Products in = multiply(*layer.feed_in, states, rows, own.wide.data(), own);
    kernels_.activated[static_cast<size_t>(net_.encoder.activation)]({rows, wide, in, own.wide.data(), padded(wide)});
  }
  const Products fed = multiply(*layer.feed_out, own.wide.data(), rows, own.narrow.data(), own);
  kernels_.norm_of_sum({rows, width, fed, layer.feed_norm.norm(), states, hidden_});
}

// The interface of a text: [hidden].
const float* TextPass::pooled(int64_t text) {
  const float* const states = shared_.states.data();
  if (net_.pooling == Pooling::cls) return states + text * hidden_;
  float* const sum = shared_.interface.data();
  std::fill_n(sum, hidden_, 0.0F);
  kernels_.add_rows({group_.length(text), net_.encoder.hidden, states + group_.begin(text) * hidden_, hidden_, sum});
  const float factor = 1 / static_cast<float>(group_.length(text));
  for (int64_t j = 0; j < net_.encoder.hidden; ++j) sum[j] *= factor;
  return sum;
}

void TextPass::logits(float* logits) {
  const int64_t outputs = net_.outputs(), width = net_.head_width();
  for (int64_t text = 0; text < group_.texts(); ++text) {
    const float* const interface = pooled(text);
    for (int64_t output = 0; output < net_.members * outputs; ++output) {
      const float* weight = weights_.head_weight.data() + (output / outputs) * width * outputs + output % outputs;
      double sum = weights_.head_bias[static_cast<size_t>(output)];
      for (int64_t j = 0; j < width; ++j, weight += outputs) {
        const auto dimension = static_cast<size_t>(net_.selected.empty() ? j : net_.selected[static_cast<size_t>(j)]);
        double r = interface[dimension];
        if (net_.scaled) r = (r - weights_.feature_mean[dimension]) * weights_.feature_factor[dimension];
        sum += r * *weight;
      }
      *logits++ = static_cast<float>(sum);
    }
  }
}

}  // namespace l0gm
