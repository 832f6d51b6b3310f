#pragma once

#include <cstdint>
#include <memory>

#include "batches/graph/adjacency.h"

namespace l0gm {

// A graph's edges on a device, of which a step leaves some out. Picked there, with torch's operations only: the host neither
// builds nor copies anything of the size of the graph. The same edges as thinned_block and block_without_links pick.
//   const ThinnedEdges edges(tensors.adjacency_of(whole_block(graph)));
//   const auto block = edges.pick(0.2, key);
class ThinnedEdges {
 public:
  explicit ThinnedEdges(std::shared_ptr<const Adjacency> whole);  // square, without weights
  // Without a share of the edges, drawn by (key, edge), and without those at the places `gone`, int64; undefined: none. Degrees
  // are those of the remaining edges.
  std::shared_ptr<const Adjacency> pick(double drop_share, uint64_t key, const torch::Tensor& gone = {}) const;

 private:
  torch::Tensor drawn(double drop_share, uint64_t key) const;  // bool [edges]
  std::shared_ptr<const Adjacency> whole_;
  torch::Tensor targets_;  // int32 [edges]
};

// The edges of `whole` where `keep`, bool [edges], is true; degrees of these. Its transpose is picked from that of `whole`, which
// is made once, so that no step sorts its edges.
std::shared_ptr<Adjacency> keep_edges(const std::shared_ptr<const Adjacency>& whole, const torch::Tensor& keep);

// Some rows of a matrix: where each begins among the gathered edges, and the places of these edges in the matrix, int64.
struct GatheredRows {
  torch::Tensor offsets, places;
};
GatheredRows gather_rows(const Adjacency& matrix, const torch::Tensor& rows);

}  // namespace l0gm
