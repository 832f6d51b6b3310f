#include "encoders/graph/gat.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>

#include "encoders/graph/propagate_attention.h"
#include "l0gm/error.h"

namespace l0gm {

namespace {

constexpr double negative_slope = 0.2;

// Scores are computed from the layer's input as x (W a), which equals (x W) a and remains computable when channels of W are gone.
class GatConvolution : public Convolution {
 public:
  GatConvolution(int64_t inputs, int64_t outputs, const ConvolutionOptions& options, const std::vector<int64_t>& narrowed_heads)
      : options_(options), widths_(narrowed_heads), folded_(!narrowed_heads.empty()) {
    if (!folded_ && outputs % options.heads != 0) {
      throw UserError(fmt::format("graph.heads = {} does not divide a layer's {} channels (model.hidden, graph.last_width)",
                                  options.heads, outputs));
    }
    const int64_t width = outputs / options.heads;
    weight_ = register_parameter("weight", glorot(inputs, outputs));
    bias_ = register_parameter("bias", at::zeros({outputs}));
    target_ = register_parameter("attention_target", folded_ ? glorot(inputs, options.heads) : glorot(options.heads, width));
    source_ = register_parameter("attention_source", folded_ ? glorot(inputs, options.heads) : glorot(options.heads, width));
    if (!folded_) widths_.assign(static_cast<size_t>(options.heads), width);
  }

  torch::Tensor forward(const std::shared_ptr<const Adjacency>& block, const LayerRows& x, const GatePass& pass,
                        int64_t place) override {
    const torch::Tensor h = x.messages.defined() ? x.messages : messages_of(x);
    const torch::Tensor target = x.times_at_targets(score_weights(target_), *block), source = x.times(score_weights(source_));
    torch::Tensor keep;
    if (is_training() && options_.attention_dropout > 0) {
      const int64_t rows = block->edges() + (options_.self_loops ? block->targets() : 0);
      keep = pass.dropout(at::ones({rows, options_.heads}, h.options()), options_.attention_dropout, place,
                          at::arange(rows, h.options().dtype(torch::kInt64)));
    }
    return attend(block, h, target, source, keep) + bias_;
  }
  torch::Tensor messages_of(const LayerRows& x) const override { return x.times(weight_); }
  int64_t outputs() const override { return weight_.size(1); }
  int64_t parameters_per_output() const override { return weight_.size(0) + (folded_ ? 1 : 3); }

  void narrow_outputs(const torch::Tensor& kept) override {
    torch::NoGradGuard no_grad;
    if (!folded_) {  // scores of the full width, before any channel is removed
      const torch::Tensor target = score_weights(target_), source = score_weights(source_);
      target_.set_data(target.contiguous());
      source_.set_data(source.contiguous());
      folded_ = true;
    }
    const torch::Tensor on_host = kept.cpu();
    std::vector<int64_t> widths;
    int64_t begin = 0;
    for (const int64_t width : widths_) {
      widths.push_back((on_host.ge(begin) & on_host.lt(begin + width)).sum().item<int64_t>());
      begin += width;
    }
    widths_ = widths;
    keep_part(weight_, 1, kept);
    keep_part(bias_, 0, kept);
  }
  NarrowedOutputs narrowed() const override { return {folded_ ? widths_ : std::vector<int64_t>{}, 0}; }
  void narrow_inputs(const torch::Tensor& kept, const torch::Tensor& values) override {
    keep_inputs(weight_, kept, values);
    if (!folded_) return;
    keep_inputs(target_, kept, values);
    keep_inputs(source_, kept, values);
  }

 private:
  // [inputs, heads]: what an input adds to each head's score.
  torch::Tensor score_weights(const torch::Tensor& attention) const {
    if (folded_) return attention;
    const int64_t heads = attention.size(0);
    return (weight_.view({weight_.size(0), heads, -1}) * attention.unsqueeze(0)).sum(2);
  }
  torch::Tensor attend(const std::shared_ptr<const Adjacency>& block, const torch::Tensor& h, const torch::Tensor& target,
                       const torch::Tensor& source, const torch::Tensor& keep) const {
    const int64_t heads = options_.heads, first = widths_[0];
    const bool equal = std::all_of(widths_.begin(), widths_.end(), [&](int64_t width) { return width == first; });
    if (equal && first > 0) {
      return propagate_attention(block, h.view({h.size(0), heads, first}), target, source, negative_slope, options_.self_loops,
                                 keep)
          .reshape({target.size(0), heads * first});
    }
    std::vector<torch::Tensor> parts;  // heads with different numbers of channels left
    int64_t begin = 0;
    for (int64_t head = 0; head < heads; ++head) {
      const int64_t width = widths_[static_cast<size_t>(head)];
      if (width == 0) continue;
      const torch::Tensor part = h.narrow(1, begin, width).unsqueeze(1).contiguous();
      parts.push_back(propagate_attention(block, part, target.narrow(1, head, 1).contiguous(),
                                          source.narrow(1, head, 1).contiguous(), negative_slope, options_.self_loops,
                                          keep.defined() ? keep.narrow(1, head, 1).contiguous() : keep)
                          .squeeze(1));
      begin += width;
    }
    return at::cat(parts, 1);
  }

  ConvolutionOptions options_;
  torch::Tensor weight_, bias_, target_, source_;
  std::vector<int64_t> widths_;  // channels of each head
  bool folded_ = false;
};

}  // namespace

std::shared_ptr<Convolution> make_gat(int64_t inputs, int64_t outputs, const ConvolutionOptions& options,
                                      const std::vector<int64_t>& narrowed_heads) {
  return std::make_shared<GatConvolution>(inputs, outputs, options, narrowed_heads);
}

}  // namespace l0gm
