#include "batches/graph/thinned_edges.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "gate/noise.h"

namespace l0gm {

namespace {

constexpr int64_t edges_at_once = int64_t{1} << 24;  // their numbers and draws take 20 bytes each for a moment

// Behind each edge of a row some are gone: where the rows begin among those that are kept.
torch::Tensor offsets_of_kept(const torch::Tensor& offsets, const torch::Tensor& keep) {
  const torch::Tensor before = at::cat({at::zeros({1}, offsets.options()), at::cumsum(keep, 0, torch::kInt64)});
  return before.index_select(0, offsets);
}

torch::Tensor degrees_of(const torch::Tensor& offsets, torch::Dtype dtype) {
  const int64_t rows = offsets.size(0) - 1;
  return (offsets.narrow(0, 1, rows) - offsets.narrow(0, 0, rows)).to(dtype);
}

torch::Tensor places_where(const torch::Tensor& keep) { return at::nonzero(keep).squeeze(1); }

}  // namespace

Adjacency::Transposed transpose_of_kept(const Adjacency& whole, const torch::Tensor& keep) {
  const Adjacency::Transposed& all = whole.transposed(true);
  const torch::Tensor kept = keep.index_select(0, all.edge_of), places = places_where(kept);
  const torch::Tensor numbers = at::cumsum(keep, 0, torch::kInt64) - 1;  // of the kept edges
  Adjacency::Transposed result;
  result.offsets = offsets_of_kept(all.offsets, kept);
  result.neighbours = all.neighbours.index_select(0, places);
  if (all.weights.defined()) result.weights = all.weights.index_select(0, places);
  result.edge_of = numbers.index_select(0, all.edge_of.index_select(0, places));
  return result;
}

std::shared_ptr<Adjacency> keep_edges(const std::shared_ptr<const Adjacency>& whole, const torch::Tensor& keep) {
  const torch::Tensor places = places_where(keep);
  const torch::Tensor weights = whole->weights.defined() ? whole->weights.index_select(0, places) : torch::Tensor();
  auto made = std::make_shared<Adjacency>(whole->sources(), offsets_of_kept(whole->offsets, keep),
                                          whole->neighbours.index_select(0, places), weights, whole->symmetric());
  made->picked_from(whole, keep);
  return made;
}

ThinnedEdges::ThinnedEdges(std::shared_ptr<const Adjacency> whole) : whole_(std::move(whole)) {
  TORCH_CHECK(whole_->targets() == whole_->sources() && !whole_->weights.defined() && !whole_->own.defined(),
              "edges are picked from a whole graph");
  const int64_t rows = whole_->targets();
  targets_ = at::repeat_interleave(whole_->offsets.narrow(0, 1, rows) - whole_->offsets.narrow(0, 0, rows)).to(torch::kInt32);
}

torch::Tensor ThinnedEdges::drawn(double drop_share, uint64_t key) const {
  // The host compares in double precision. The smallest number that can be drawn and is not below the share is a float.
  const double least = std::ceil(drop_share * 0x1p24) * 0x1p-24;
  torch::Tensor keep = at::empty({whole_->edges()}, whole_->offsets.options().dtype(torch::kBool));
  for (int64_t begin = 0; begin < whole_->edges(); begin += edges_at_once) {
    const int64_t count = std::min(edges_at_once, whole_->edges() - begin);
    const torch::Tensor to = targets_.narrow(0, begin, count).to(torch::kInt64);
    const torch::Tensor from = whole_->neighbours.narrow(0, begin, count).to(torch::kInt64);
    // Both directions of an edge get the same random number where the graph is symmetric.
    const torch::Tensor high = whole_->symmetric() ? at::minimum(from, to) : from;
    const torch::Tensor low = whole_->symmetric() ? at::maximum(from, to) : to;
    const torch::Tensor ids = high.bitwise_left_shift(32).bitwise_or(low);
    keep.narrow(0, begin, count).copy_(uniform_of_key(key, ids, 1, ids.device()).squeeze(1).ge(least));
  }
  return keep;
}

std::shared_ptr<const Adjacency> ThinnedEdges::pick(double drop_share, uint64_t key, const torch::Tensor& gone) const {
  torch::Tensor keep =
      drop_share > 0 ? drawn(drop_share, key) : at::ones({whole_->edges()}, whole_->offsets.options().dtype(torch::kBool));
  if (gone.defined()) keep.index_fill_(0, gone, false);
  auto picked = keep_edges(whole_, keep);
  picked->target_degree = picked->source_degree = degrees_of(picked->offsets, whole_->target_degree.scalar_type());
  return picked;
}

GatheredRows gather_rows(const Adjacency& matrix, const torch::Tensor& rows) {
  const torch::Tensor first = matrix.offsets.index_select(0, rows), counts = matrix.offsets.index_select(0, rows + 1) - first;
  GatheredRows gathered;
  gathered.offsets = at::cat({at::zeros({1}, counts.options()), at::cumsum(counts, 0)});
  const torch::Tensor shift = at::repeat_interleave(first - gathered.offsets.narrow(0, 0, rows.size(0)), counts);
  gathered.places = shift + at::arange(shift.size(0), shift.options());
  return gathered;
}

}  // namespace l0gm
