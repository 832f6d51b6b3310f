#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/packed_rows.h"
#include "runtime/text/aligned_buffer.h"
#include "runtime/text/onednn.h"
#include "runtime/text/text_header.h"
#include "runtime/text/text_kernels.h"

// The tensors of a compact text file as the runtime computes with them.
namespace l0gm {

// A matrix product with its bias, over rows of floats whatever it multiplies with.
class TextLinear {
 public:
  struct Part {  // rows of a tensor
    std::string name;
    int64_t outputs = 0, inputs = 0;  // of the tensor
    int64_t begin = 0, end = 0;
  };
  TextLinear(const std::map<std::string, TensorBytes>& tensors, const Part& part, onednn::Numbers numbers);

  int64_t inputs() const { return inputs_; }
  int64_t outputs() const { return outputs_; }
  onednn::Numbers numbers() const { return numbers_; }
  const onednn::MatrixProduct& product() const { return *product_; }  // there is one unless it has no inputs
  const float* bias() const { return bias_.data(); }
  // What the product leaves in `values`, for kernels.
  text_kernels::Products products(const void* values, const float* row_scales, const float* row_zeros) const;
  size_t bytes() const {
    return (product_ ? product_->bytes() : 0) + (bias_.size() + scales_.size() + offsets_.size()) * sizeof(float);
  }

 private:
  int64_t inputs_, outputs_;
  onednn::Numbers numbers_;
  AlignedBuffer<float> bias_, scales_, offsets_;  // scales and offsets: int8 only
  std::optional<onednn::MatrixProduct> product_;
};

struct TextNorm {
  AlignedBuffer<float> weight, bias;
  float epsilon = 0;
  text_kernels::Norm norm() const { return {weight.data(), bias.data(), epsilon}; }
};

struct TextLayer {
  int64_t heads = 0, head_width = 0;
  std::optional<TextLinear> attention_in;                      // queries, keys and values; absent without heads …
  std::optional<TextLinear> queries, keys_values;              // … or, in a last layer that computes first tokens only, apart
  std::optional<TextLinear> attention_out, feed_in, feed_out;  // feed_in: absent without neurons
  bool first_only = false;                                     // computes first tokens only
  TextNorm attention_norm, feed_norm;
  int64_t attention_width() const { return heads * head_width; }
  int64_t neurons() const { return feed_in ? feed_in->outputs() : 0; }
};

struct TextWeights {
  PackedRows words;
  PackedRows positions;  // from the first that a text has; with the vector of the token type, the same for all
  TextNorm embedding_norm;
  std::vector<TextLayer> layers;
  AlignedBuffer<float> token_factors;               // [blocks, padded width]; empty: none
  std::vector<float> feature_mean, feature_factor;  // empty: the interface is not scaled
  std::vector<float> head_weight, head_bias;        // [members, head width, outputs], [members, outputs]
  size_t bytes() const;
};

// Why the runtime cannot serve a text model; "": it can.
std::string obstacle_of(const TextNet& net);
std::string text_obstacle(const Container& file);  // UserError naming a file that is no text model
// What products are computed with on this processor: as the file has them, or float32 where it has no fast ones.
onednn::Numbers numbers_for(WeightType weights);
// UserError when a tensor is absent or of another shape.
TextWeights read_text_weights(const std::map<std::string, TensorBytes>& tensors, const TextNet& net, onednn::Numbers numbers);

}  // namespace l0gm
