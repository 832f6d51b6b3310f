#pragma once

#include <ATen/Functions.h>

#include <algorithm>

#include "batches/graph/adjacency.h"
#include "batches/graph/suppress_torch_warnings.h"

namespace l0gm {

// Edge by edge with torch's own operations, for devices other than the processor. They run on any device, so that tests can
// compare them with the kernels.

// Calls work(begin, end, targets, sources) with the nodes of edges begin … end - 1, int64. `numbers`: how many numbers per edge
// are in memory at the same time.
template <class Work>
void for_edge_blocks(const Adjacency& adjacency, int64_t numbers, const Work& work) {
  const SuppressTorchWarnings suppress;
  constexpr int64_t most_numbers = 1 << 26;
  const int64_t edges = adjacency.edges(), step = std::max<int64_t>(1, most_numbers / std::max<int64_t>(1, numbers));
  for (int64_t begin = 0; begin < edges; begin += step) {
    const int64_t end = std::min(edges, begin + step);
    const torch::Tensor places = at::arange(begin, end, adjacency.offsets.options());
    const torch::Tensor targets = at::searchsorted(adjacency.offsets, places, /*out_int32=*/false, /*right=*/true) - 1;
    work(begin, end, targets, adjacency.neighbours.narrow(0, begin, end - begin).to(torch::kInt64));
  }
}

// A target's own rows of x [sources, …].
inline torch::Tensor own_rows(const Adjacency& adjacency, const torch::Tensor& x) {
  return adjacency.own.defined() ? x.index_select(0, adjacency.own) : x.narrow(0, 0, adjacency.targets());
}

// The transpose: adds row t of `rows` to the own row of target t.
inline void add_to_own_rows(const Adjacency& adjacency, torch::Tensor& x, const torch::Tensor& rows) {
  if (adjacency.own.defined()) {
    x.index_add_(0, adjacency.own, rows);
  } else {
    x.narrow(0, 0, adjacency.targets()).add_(rows);
  }
}

}  // namespace l0gm
