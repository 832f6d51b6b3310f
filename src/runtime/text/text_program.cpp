#include "runtime/text/text_program.h"

#include <algorithm>
#include <cmath>

namespace l0gm {

namespace {

using kernels::padded;
using onednn::MatrixProduct;
using onednn::Numbers;

// Products read and write whole steps of rows.
size_t room(int64_t rows, int64_t width) { return static_cast<size_t>((rows + MatrixProduct::row_step) * padded(width)); }

// Calls work(first row, rows) for blocks that a product takes.
template <class Work>
void for_each_block(int64_t rows, const Work& work) {
  for (int64_t begin = 0; begin < rows; begin += MatrixProduct::most_rows)
    work(begin, std::min(MatrixProduct::most_rows, rows - begin));
}

}  // namespace

// One group of texts on its way.
class TextProgram::Pass {
 public:
  Pass(const TextProgram& program, const TokenGroup& group, TextWorkspace& workspace)
      : weights_(program.weights_),
        net_(program.net_),
        kernels_(program.kernels_),
        group_(group),
        space_(workspace),
        hidden_(padded(net_.encoder.hidden)) {
    reserve();
  }

  void embed() {
    const kernels::Storage storage = kernels::storage_of(weights_.words.type());
    const std::span<const int32_t> ids = group_.all();
    for (int64_t text = 0; text < group_.texts(); ++text) {
      for (int64_t i = 0; i < group_.length(text); ++i) {
        const int64_t token = group_.begin(text) + i, id = ids[static_cast<size_t>(token)];
        const std::byte* const words = static_cast<const std::byte*>(weights_.words.data());
        const auto row_bytes = weights_.words.stride() * static_cast<int64_t>(size_of(weights_.words.type()));
        kernels_.embed[static_cast<size_t>(storage)](
            {net_.encoder.hidden, words + id * row_bytes, storage == kernels::Storage::int8 ? weights_.words.scales()[id] : 1.0F,
             weights_.positions.row<float>(i), weights_.embedding_norm.norm(), space_.states.data() + token * hidden_});
      }
    }
  }

  void scale_tokens() {
    for (int64_t text = 0; text < group_.texts(); ++text) {
      size_t block = 0;
      for (int64_t i = 0; i < group_.length(text); ++i) {
        while (block + 1 < token_block_starts.size() && i >= token_block_starts[block + 1]) ++block;
        float* const state = space_.states.data() + (group_.begin(text) + i) * hidden_;
        const float* const factors = weights_.token_factors.data() + static_cast<int64_t>(block) * hidden_;
        for (int64_t j = 0; j < net_.encoder.hidden; ++j) state[j] *= factors[j];
      }
    }
  }

  void layer(const TextLayer& layer) {
    const int64_t width = layer.attention_width(), stride = padded(3 * width);
    project(*layer.attention_in, space_.states.data(), group_.tokens(), space_.projected.data());
    const float* const projected = space_.projected.data();
    attend(layer, projected, stride, projected + width, projected + 2 * width, stride, /*first_only=*/false);
    finish(layer, group_.tokens());
  }

  // The same for the first token of each text, which is all that is left of the states.
  void last_layer_of_first_tokens(const TextLayer& layer) {
    const int64_t width = layer.attention_width();
    project(*layer.keys_values, space_.states.data(), group_.tokens(), space_.projected.data());
    for (int64_t text = 0; text < group_.texts(); ++text)  // never moves a state that is still to be read
      std::copy_n(space_.states.data() + group_.begin(text) * hidden_, hidden_, space_.states.data() + text * hidden_);
    project(*layer.queries, space_.states.data(), group_.texts(), space_.queries.data());
    const float* const projected = space_.projected.data();
    attend(layer, space_.queries.data(), padded(width), projected, projected + width, padded(2 * width), /*first_only=*/true);
    finish(layer, group_.texts());
  }

  // The interface of a text: [hidden].
  const float* pooled(int64_t text) {
    const float* const states = space_.states.data();
    if (net_.pooling == Pooling::cls) return states + text * hidden_;
    float* const sum = space_.interface.data();
    std::fill_n(sum, hidden_, 0.0F);
    kernels_.add_rows({group_.length(text), net_.encoder.hidden, states + group_.begin(text) * hidden_, hidden_, sum});
    const float factor = 1 / static_cast<float>(group_.length(text));
    for (int64_t j = 0; j < net_.encoder.hidden; ++j) sum[j] *= factor;
    return sum;
  }

 private:
  void reserve() {
    const int64_t tokens = group_.tokens(), rows = MatrixProduct::most_rows;
    int64_t attention = 0, projected = 0, widest = net_.encoder.hidden, head = 0, longest = 0;
    for (const TextLayer& layer : weights_.layers) {
      attention = std::max(attention, layer.attention_width());
      projected = std::max(projected, 3 * layer.attention_width());
      widest = std::max({widest, layer.feed_in->outputs(), layer.attention_width()});
      head = std::max(head, layer.head_width);
    }
    for (int64_t text = 0; text < group_.texts(); ++text) longest = std::max(longest, group_.length(text));
    space_.states.grow(room(tokens, net_.encoder.hidden));
    space_.projected.grow(room(tokens, projected));
    space_.attended.grow(room(tokens, attention));
    if (net_.pooling == Pooling::cls) space_.queries.grow(room(group_.texts(), attention));
    space_.wide.grow(room(rows, widest));
    space_.narrow.grow(room(rows, net_.encoder.hidden));
    space_.inputs.grow(room(rows, widest) * sizeof(uint16_t));
    space_.row_scales.grow(room(rows, 1));
    space_.row_zeros.grow(room(rows, 1));
    space_.attention.grow(static_cast<size_t>(text_kernels::attention_scratch(longest, head)));
    space_.interface.grow(static_cast<size_t>(hidden_));
  }

  // A block of at most MatrixProduct::most_rows rows.
  text_kernels::Products multiply(const TextLinear& linear, const float* in, int64_t rows, float* out) {
    const int64_t stride = padded(linear.inputs());
    const void* inputs = in;
    if (linear.numbers() == Numbers::int8) {
      auto* const bytes = reinterpret_cast<uint8_t*>(space_.inputs.data());
      kernels_.quantise({rows, linear.inputs(), in, stride, bytes, stride, space_.row_scales.data(), space_.row_zeros.data()});
      inputs = bytes;
    } else if (linear.numbers() == Numbers::bfloat16) {
      auto* const halves = reinterpret_cast<uint16_t*>(space_.inputs.data());
      kernels_.round({rows, linear.inputs(), in, stride, halves, stride});
      inputs = halves;
    }
    linear.product().multiply(inputs, rows, out, space_.scratch);
    return linear.products(out, space_.row_scales.data(), space_.row_zeros.data());
  }

  void project(const TextLinear& linear, const float* in, int64_t rows, float* out) {
    const int64_t in_stride = padded(linear.inputs()), out_stride = padded(linear.outputs());
    for_each_block(rows, [&](int64_t begin, int64_t count) {
      float* const block = out + begin * out_stride;
      const text_kernels::Products products = multiply(linear, in + begin * in_stride, count, block);
      if (products.integers) kernels_.plain({count, linear.outputs(), products, block, out_stride});
    });
  }

  void attend(const TextLayer& layer, const float* q, int64_t q_stride, const float* k, const float* v, int64_t kv_stride,
              bool first_only) {
    const int64_t width = layer.head_width, out_stride = padded(layer.attention_width());
    const float scale = 1 / std::sqrt(static_cast<float>(width));
    for (int64_t text = 0; text < group_.texts(); ++text) {
      const int64_t key = group_.begin(text), query = first_only ? text : key;
      for (int64_t head = 0; head < layer.heads; ++head) {
        const int64_t column = head * width;
        kernels_.attend({first_only ? 1 : group_.length(text), group_.length(text), width, q + query * q_stride + column,
                         k + key * kv_stride + column, v + key * kv_stride + column, q_stride, kv_stride, kv_stride, scale,
                         space_.attended.data() + query * out_stride + column, out_stride, space_.attention.data()});
      }
    }
  }

  // What follows attention, block by block, so that the wide rows in between stay in the cache.
  void finish(const TextLayer& layer, int64_t rows) {
    const int64_t width = net_.encoder.hidden, attended = padded(layer.attention_width());
    const auto activation = static_cast<size_t>(net_.encoder.activation);
    float *const narrow = space_.narrow.data(), *const wide = space_.wide.data();
    for_each_block(rows, [&](int64_t begin, int64_t count) {
      float* const states = space_.states.data() + begin * hidden_;
      const auto out = multiply(*layer.attention_out, space_.attended.data() + begin * attended, count, narrow);
      kernels_.norm_of_sum({count, width, out, layer.attention_norm.norm(), states, hidden_});
      const auto in = multiply(*layer.feed_in, states, count, wide);
      kernels_.activated[activation]({count, layer.feed_in->outputs(), in, wide, padded(layer.feed_in->outputs())});
      const auto fed = multiply(*layer.feed_out, wide, count, narrow);
      kernels_.norm_of_sum({count, width, fed, layer.feed_norm.norm(), states, hidden_});
    });
  }

  const TextWeights& weights_;
  const TextNet& net_;
  const text_kernels::TextKernels& kernels_;
  const TokenGroup& group_;
  TextWorkspace& space_;
  int64_t hidden_;  // from row to row of states
};

TextProgram::TextProgram(const TextNet& net, WeightType weights, const std::map<std::string, TensorBytes>& tensors,
                         InstructionSet instructions)
    : net_(net),
      numbers_(numbers_for(weights)),
      weights_(read_text_weights(tensors, net, numbers_)),
      kernels_(text_kernels::text_kernels_of(instructions)) {}

void TextProgram::logits(const TokenGroup& group, float* logits, TextWorkspace& workspace) const {
  Pass pass(*this, group, workspace);
  pass.embed();
  for (size_t i = 0; i < weights_.layers.size(); ++i) {
    const TextLayer& layer = weights_.layers[i];
    if (net_.token_factors && i + 1 == weights_.layers.size()) pass.scale_tokens();
    if (layer.attention_in) {
      pass.layer(layer);
    } else {
      pass.last_layer_of_first_tokens(layer);
    }
  }
  const int64_t members = net_.members, outputs = net_.outputs(), width = net_.head_width();
  for (int64_t text = 0; text < group.texts(); ++text) {
    const float* const interface = pass.pooled(text);
    for (int64_t m = 0; m < members; ++m) {
      for (int64_t o = 0; o < outputs; ++o) {
        double sum = weights_.head_bias[static_cast<size_t>(m * outputs + o)];
        for (int64_t j = 0; j < width; ++j) {
          const auto dimension =
              net_.selected.empty() ? static_cast<size_t>(j) : static_cast<size_t>(net_.selected[static_cast<size_t>(j)]);
          double r = interface[dimension];
          if (net_.scaled) r = (r - weights_.feature_mean[dimension]) * weights_.feature_factor[dimension];
          sum += r * weights_.head_weight[static_cast<size_t>((m * width + j) * outputs + o)];
        }
        *logits++ = static_cast<float>(sum);
      }
    }
  }
}

}  // namespace l0gm
