#include "encoders/graph/attention_tensors.h"

#include <ATen/Functions.h>

#include <limits>

#include "encoders/graph/edge_tensors.h"

namespace l0gm {

namespace {

// The rows of `edges` that belong to the targets' edges to themselves.
torch::Tensor self_part(const Adjacency& adjacency, const torch::Tensor& edges) {
  return edges.narrow(0, adjacency.edges(), adjacency.targets());
}

torch::Tensor sum_of_scores(const AttentionScores& scores, const torch::Tensor& targets, const torch::Tensor& sources) {
  return scores.target.index_select(0, targets) + scores.source.index_select(0, sources);
}

torch::Tensor own_sum_of_scores(const Adjacency& adjacency, const AttentionScores& scores) {
  return scores.target + own_rows(adjacency, scores.source);
}

torch::Tensor steepness(const torch::Tensor& sum, double slope) {
  return at::where(sum.gt(0), at::ones({1}, sum.options()), at::full({1}, slope, sum.options()));
}

}  // namespace

torch::Tensor attention_by_tensors(const Adjacency& adjacency, const AttentionScores& scores) {
  const int64_t heads = scores.target.size(1), targets = adjacency.targets();
  torch::Tensor values = at::empty({adjacency.edges() + (scores.self ? targets : 0), heads}, scores.target.options());
  torch::Tensor largest = at::full({targets, heads}, -std::numeric_limits<double>::infinity(), scores.target.options());
  if (scores.self) {
    self_part(adjacency, values).copy_(at::leaky_relu(own_sum_of_scores(adjacency, scores), scores.slope));
    largest.copy_(self_part(adjacency, values));
  }
  for_edge_blocks(adjacency, 4 * heads, [&](int64_t begin, int64_t end, const torch::Tensor& to, const torch::Tensor& from) {
    torch::Tensor part = values.narrow(0, begin, end - begin);
    part.copy_(at::leaky_relu(sum_of_scores(scores, to, from), scores.slope));
    largest.index_reduce_(0, to, part, "amax", true);
  });
  torch::Tensor sums = at::zeros_like(largest);
  if (scores.self) sums.copy_(self_part(adjacency, values).sub_(largest).exp_());
  for_edge_blocks(adjacency, 3 * heads, [&](int64_t begin, int64_t end, const torch::Tensor& to, const torch::Tensor&) {
    torch::Tensor part = values.narrow(0, begin, end - begin);
    part.sub_(largest.index_select(0, to)).exp_();
    sums.index_add_(0, to, part);
  });
  if (scores.self) self_part(adjacency, values).div_(sums);
  for_edge_blocks(adjacency, 3 * heads, [&](int64_t begin, int64_t end, const torch::Tensor& to, const torch::Tensor&) {
    values.narrow(0, begin, end - begin).div_(sums.index_select(0, to));
  });
  return values;
}

torch::Tensor attention_dots_by_tensors(const Adjacency& adjacency, bool self, const torch::Tensor& gradient,
                                        const torch::Tensor& x) {
  torch::Tensor dots = at::empty({adjacency.edges() + (self ? adjacency.targets() : 0), x.size(1)}, x.options());
  if (self) self_part(adjacency, dots).copy_((gradient * own_rows(adjacency, x)).sum(2));
  for_edge_blocks(adjacency, 3 * x.size(1) * x.size(2),
                  [&](int64_t begin, int64_t end, const torch::Tensor& to, const torch::Tensor& from) {
                    dots.narrow(0, begin, end - begin).copy_((gradient.index_select(0, to) * x.index_select(0, from)).sum(2));
                  });
  return dots;
}

ScoreGradients scores_back_by_tensors(const Adjacency& adjacency, const AttentionScores& scores, const torch::Tensor& attention,
                                      torch::Tensor gradient) {
  ScoreGradients result = {at::zeros_like(scores.target), at::zeros_like(scores.source)};
  gradient.mul_(attention);
  torch::Tensor mean = scores.self ? self_part(adjacency, gradient).clone() : at::zeros_like(scores.target);
  const int64_t heads = scores.target.size(1);
  for_edge_blocks(adjacency, 2 * heads, [&](int64_t begin, int64_t end, const torch::Tensor& to, const torch::Tensor&) {
    mean.index_add_(0, to, gradient.narrow(0, begin, end - begin));
  });
  if (scores.self) {
    torch::Tensor own = self_part(adjacency, gradient);
    own.sub_(self_part(adjacency, attention) * mean).mul_(steepness(own_sum_of_scores(adjacency, scores), scores.slope));
    result.target.add_(own);
    add_to_own_rows(adjacency, result.source, own);
  }
  for_edge_blocks(adjacency, 5 * heads, [&](int64_t begin, int64_t end, const torch::Tensor& to, const torch::Tensor& from) {
    torch::Tensor part = gradient.narrow(0, begin, end - begin);
    part.sub_(attention.narrow(0, begin, end - begin) * mean.index_select(0, to))
        .mul_(steepness(sum_of_scores(scores, to, from), scores.slope));
    result.target.index_add_(0, to, part);
    result.source.index_add_(0, from, part);
  });
  return result;
}

}  // namespace l0gm
