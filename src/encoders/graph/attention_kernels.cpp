#include "encoders/graph/attention_kernels.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "batches/graph/row_parts.h"
#include "encoders/graph/edge_tensors.h"
#include "encoders/graph/row_kernels.h"

namespace l0gm {

namespace {

// Pointers to the data that all passes over the edges read.
template <class T>
struct Edges {
  Edges(const Adjacency& adjacency, const AttentionScores& scores)
      : offsets(adjacency.offsets.const_data_ptr<int64_t>()),
        neighbours(adjacency.neighbours.const_data_ptr<int32_t>()),
        own(adjacency.own.defined() ? adjacency.own.const_data_ptr<int64_t>() : nullptr),
        target(scores.target.const_data_ptr<T>()),
        source(scores.source.const_data_ptr<T>()),
        targets(adjacency.targets()),
        edges(adjacency.edges()),
        heads(scores.target.size(1)),
        slope(static_cast<T>(scores.slope)),
        self(scores.self) {}

  // visit(row of the edge, its source), for all edges of a target; the edge to itself last.
  template <class Visit>
  void for_edges_of(int64_t row, const Visit& visit) const {
    for (int64_t edge = offsets[row]; edge < offsets[row + 1]; ++edge) visit(edge, static_cast<int64_t>(neighbours[edge]));
    if (self) visit(edges + row, own == nullptr ? row : own[row]);
  }

  const int64_t* offsets;
  const int32_t* neighbours;
  const int64_t* own;
  const T *target, *source;
  int64_t targets, edges, heads;
  T slope;
  bool self;
};

// Scores minus the largest of their target: the argument of the exponential.
template <class T>
void write_scores(const Edges<T>& of, T* out) {
  for_rows(of.offsets, of.targets, 4 * of.heads, [&](int64_t begin, int64_t end) {
    std::vector<T> largest(static_cast<size_t>(of.heads));
    for (int64_t row = begin; row < end; ++row) {
      std::fill(largest.begin(), largest.end(), -std::numeric_limits<T>::infinity());
      of.for_edges_of(row, [&](int64_t place, int64_t source) {
        for (int64_t h = 0; h < of.heads; ++h) {
          const T sum = of.target[row * of.heads + h] + of.source[source * of.heads + h];
          const T score = sum > 0 ? sum : sum * of.slope;
          out[place * of.heads + h] = score;
          largest[static_cast<size_t>(h)] = std::max(largest[static_cast<size_t>(h)], score);
        }
      });
      of.for_edges_of(row, [&](int64_t place, int64_t) {
        for (int64_t h = 0; h < of.heads; ++h) out[place * of.heads + h] -= largest[static_cast<size_t>(h)];
      });
    }
  });
}

template <class T>
void divide_by_sums(const Edges<T>& of, T* values) {
  for_rows(of.offsets, of.targets, 4 * of.heads, [&](int64_t begin, int64_t end) {
    std::vector<T> sums(static_cast<size_t>(of.heads));
    for (int64_t row = begin; row < end; ++row) {
      std::fill(sums.begin(), sums.end(), T(0));
      of.for_edges_of(row, [&](int64_t place, int64_t) {
        for (int64_t h = 0; h < of.heads; ++h) sums[static_cast<size_t>(h)] += values[place * of.heads + h];
      });
      for (T& sum : sums) sum = 1 / sum;
      of.for_edges_of(row, [&](int64_t place, int64_t) {
        for (int64_t h = 0; h < of.heads; ++h) values[place * of.heads + h] *= sums[static_cast<size_t>(h)];
      });
    }
  });
}

template <class T>
torch::Tensor attention(const Adjacency& adjacency, const AttentionScores& scores) {
  const Edges<T> of(adjacency, scores);
  torch::Tensor values = at::empty({of.edges + (of.self ? of.targets : 0), of.heads}, scores.target.options());
  write_scores(of, values.data_ptr<T>());
  values.exp_();
  divide_by_sums(of, values.data_ptr<T>());
  return values;
}

template <class T>
torch::Tensor dots(const Adjacency& adjacency, bool self, const torch::Tensor& gradient, const torch::Tensor& x) {
  const int64_t heads = x.size(1), edges = adjacency.edges();
  torch::Tensor result = at::empty({edges + (self ? adjacency.targets() : 0), heads}, x.options());
  RowDots<T> rows;
  rows.offsets = adjacency.offsets.const_data_ptr<int64_t>();
  rows.neighbours = adjacency.neighbours.const_data_ptr<int32_t>();
  rows.heads = heads;
  rows.width = x.size(2);
  rows.a = gradient.const_data_ptr<T>();
  rows.x = x.const_data_ptr<T>();
  rows.dots = result.data_ptr<T>();
  const RowKernels<T>& kernels = row_kernels<T>();
  for_rows(rows.offsets, adjacency.targets(), heads * rows.width,
           [&](int64_t begin, int64_t end) { kernels.dot(rows, begin, end); });
  if (self) result.narrow(0, edges, adjacency.targets()).copy_((gradient * own_rows(adjacency, x)).sum(2));
  return result;
}

// Turns the gradient of attention, in place, into that of the sums of scores; summed over a target's edges it is the target's.
template <class T>
void softmax_back(const Edges<T>& of, const T* values, T* gradient, T* to_target) {
  for_rows(of.offsets, of.targets, 6 * of.heads, [&](int64_t begin, int64_t end) {
    std::vector<T> mean(static_cast<size_t>(of.heads));
    for (int64_t row = begin; row < end; ++row) {
      T* sums = to_target + row * of.heads;
      std::fill(mean.begin(), mean.end(), T(0));
      of.for_edges_of(row, [&](int64_t place, int64_t) {
        for (int64_t h = 0; h < of.heads; ++h)
          mean[static_cast<size_t>(h)] += values[place * of.heads + h] * gradient[place * of.heads + h];
      });
      of.for_edges_of(row, [&](int64_t place, int64_t source) {
        for (int64_t h = 0; h < of.heads; ++h) {
          const T steepness = of.target[row * of.heads + h] + of.source[source * of.heads + h] > 0 ? T(1) : of.slope;
          T& here = gradient[place * of.heads + h];
          here = values[place * of.heads + h] * (here - mean[static_cast<size_t>(h)]) * steepness;
          sums[h] += here;
        }
      });
    }
  });
}

template <class T>
void sums_by_source(const Adjacency& adjacency, int64_t heads, const T* gradient, T* to_source) {
  const Adjacency::Transposed& transposed = adjacency.transposed(true);
  const auto* offsets = transposed.offsets.const_data_ptr<int64_t>();
  const auto* places = transposed.edge_of.const_data_ptr<int64_t>();
  for_rows(offsets, adjacency.sources(), 2 * heads, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t edge = offsets[row]; edge < offsets[row + 1]; ++edge) {
        for (int64_t h = 0; h < heads; ++h) to_source[row * heads + h] += gradient[places[edge] * heads + h];
      }
    }
  });
}

template <class T>
ScoreGradients back(const Adjacency& adjacency, const AttentionScores& scores, const torch::Tensor& values,
                    const torch::Tensor& gradient) {
  const Edges<T> of(adjacency, scores);
  ScoreGradients result = {at::zeros_like(scores.target), at::zeros_like(scores.source)};
  softmax_back(of, values.const_data_ptr<T>(), gradient.data_ptr<T>(), result.target.data_ptr<T>());
  sums_by_source(adjacency, of.heads, gradient.const_data_ptr<T>(), result.source.data_ptr<T>());
  if (of.self) add_to_own_rows(adjacency, result.source, gradient.narrow(0, of.edges, of.targets));
  return result;
}

}  // namespace

torch::Tensor attention_by_kernels(const Adjacency& adjacency, const AttentionScores& scores) {
  return scores.target.scalar_type() == torch::kFloat64 ? attention<double>(adjacency, scores)
                                                        : attention<float>(adjacency, scores);
}

torch::Tensor attention_dots_by_kernels(const Adjacency& adjacency, bool self, const torch::Tensor& gradient,
                                        const torch::Tensor& x) {
  return x.scalar_type() == torch::kFloat64 ? dots<double>(adjacency, self, gradient, x)
                                            : dots<float>(adjacency, self, gradient, x);
}

ScoreGradients scores_back_by_kernels(const Adjacency& adjacency, const AttentionScores& scores,
                                      const torch::Tensor& attention_values, torch::Tensor gradient) {
  return gradient.scalar_type() == torch::kFloat64 ? back<double>(adjacency, scores, attention_values, gradient)
                                                   : back<float>(adjacency, scores, attention_values, gradient);
}

}  // namespace l0gm
