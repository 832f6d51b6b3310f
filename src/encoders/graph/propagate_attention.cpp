#include "encoders/graph/propagate_attention.h"

#include <ATen/Functions.h>

#include <vector>

#include "encoders/graph/attention_kernels.h"
#include "encoders/graph/attention_tensors.h"
#include "encoders/graph/row_product.h"
#include "encoders/graph/saved_value.h"

namespace l0gm {

namespace {

struct AttentionKind {
  std::shared_ptr<const Adjacency> adjacency;
  double slope;
  bool self;
  torch::Tensor keep;  // undefined: nothing is dropped
};

// Attention after dropout: the weights of the messages.
torch::Tensor after_dropout(const torch::Tensor& attention, const AttentionKind& kind) {
  return kind.keep.defined() ? attention * kind.keep : attention;
}

torch::Tensor weighted_sums(const AttentionKind& kind, const torch::Tensor& weights, const torch::Tensor& x, bool back) {
  RowProduct product;
  product.transposed = back;
  product.weights = weights;
  if (kind.self) product.self = weights.narrow(0, kind.adjacency->edges(), kind.adjacency->targets());
  return row_product(*kind.adjacency, product, x);
}

struct PropagateAttention : torch::autograd::Function<PropagateAttention> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& x, const torch::Tensor& target,
                               const torch::Tensor& source, const AttentionKind& kind) {
    const AttentionScores scores = {target, source, kind.slope, kind.self};
    const torch::Tensor attention =
        x.is_cpu() ? attention_by_kernels(*kind.adjacency, scores) : attention_by_tensors(*kind.adjacency, scores);
    save_value(context, kind);
    context->save_for_backward({x, target, source, attention});
    return weighted_sums(kind, after_dropout(attention, kind), x, false);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &x = saved[0], &attention = saved[3], gradient = gradients[0].contiguous();
    const auto kind = saved_value<AttentionKind>(context);
    const AttentionScores scores = {saved[1], saved[2], kind.slope, kind.self};
    const Adjacency& adjacency = *kind.adjacency;
    const torch::Tensor to_x = weighted_sums(kind, after_dropout(attention, kind), gradient, true);
    torch::Tensor to_attention = x.is_cpu() ? attention_dots_by_kernels(adjacency, kind.self, gradient, x)
                                            : attention_dots_by_tensors(adjacency, kind.self, gradient, x);
    if (kind.keep.defined()) to_attention.mul_(kind.keep);
    const ScoreGradients to_scores = x.is_cpu() ? scores_back_by_kernels(adjacency, scores, attention, to_attention)
                                                : scores_back_by_tensors(adjacency, scores, attention, to_attention);
    return {to_x, to_scores.target, to_scores.source, {}};
  }
};

}  // namespace

torch::Tensor propagate_attention(const std::shared_ptr<const Adjacency>& adjacency, const torch::Tensor& x,
                                  const torch::Tensor& target_score, const torch::Tensor& source_score, double slope, bool self,
                                  const torch::Tensor& keep) {
  const int64_t targets = adjacency->targets(), sources = adjacency->sources(), rows = adjacency->edges() + (self ? targets : 0);
  TORCH_CHECK(x.dim() == 3 && x.size(0) == sources, "attention: a block of ", sources, " sources cannot read rows ", x.sizes());
  const std::vector<int64_t> of_targets = {targets, x.size(1)}, of_sources = {sources, x.size(1)}, of_edges = {rows, x.size(1)};
  TORCH_CHECK(target_score.sizes() == of_targets, "attention: scores of targets are ", of_targets);
  TORCH_CHECK(source_score.sizes() == of_sources, "attention: scores of sources are ", of_sources);
  TORCH_CHECK(!keep.defined() || keep.sizes() == of_edges, "attention: factors of edges are ", of_edges);
  const torch::Tensor factors = keep.defined() ? keep.to(x.scalar_type()).contiguous() : keep;
  return PropagateAttention::apply(x.contiguous(), target_score.contiguous(), source_score.contiguous(),
                                   AttentionKind{adjacency, slope, self, factors});
}

}  // namespace l0gm
