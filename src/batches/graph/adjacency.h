#pragma once

#include <torch/types.h>

#include <map>
#include <memory>
#include <utility>

#include "data/graph/blocks.h"

namespace l0gm {

// A RowPlan (row_plan.h) on a device.
struct RowPlanTensors {
  int64_t longest = 0, cut_rows = 0, segments = 0;
  torch::Tensor rows, first_segment, row_of_segment;             // int32
  std::map<std::pair<int64_t, int64_t>, size_t> shape_of_width;  // which of its shapes a kernel found fastest, by width and bytes
};

// A MessageBlock as tensors on a device. On the CPU they share the block's memory.
class Adjacency {
 public:
  // A sparse matrix [targets, sources] with its tensors; `weights` undefined: all ones.
  Adjacency(int64_t sources, torch::Tensor offsets, torch::Tensor neighbours, torch::Tensor weights, bool symmetric);
  static std::shared_ptr<Adjacency> of(const std::shared_ptr<const MessageBlock>& block, torch::Device device,
                                       torch::Dtype dtype);
  static std::shared_ptr<Adjacency> of(const SparseRows& rows, const std::shared_ptr<const void>& owner, int64_t columns,
                                       torch::Device device,
                                       torch::Dtype dtype);  // attributes: [nodes, attributes]

  int64_t targets() const { return offsets.size(0) - 1; }
  int64_t sources() const { return sources_; }
  int64_t edges() const { return neighbours.size(0); }

  torch::Tensor offsets;                       // int64 [targets + 1]
  torch::Tensor neighbours;                    // int32 [edges]
  torch::Tensor weights;                       // [edges], or undefined
  torch::Tensor own;                           // int64 [targets]: a target's row among the sources; undefined: target t is row t
  torch::Tensor target_degree, source_degree;  // [targets], [sources]; undefined for attributes

  // The transposed matrix, made once on first use; a symmetric matrix is its own transpose. `edge_of`: for each edge of the
  // transpose the index of the same edge here, int64; undefined for a symmetric matrix unless `with_places` was requested.
  struct Transposed {
    torch::Tensor offsets, neighbours, weights;
    torch::Tensor edge_of;
  };
  const Transposed& transposed(bool with_places = false) const;
  bool symmetric() const { return symmetric_; }
  // These are the edges of `whole` where `keep`, bool, is true: the transpose is picked from that of `whole`.
  void picked_from(std::shared_ptr<const Adjacency> whole, torch::Tensor keep);

  // 1 / d and 1 / sqrt(d) with d the degree, plus one where every node also reads itself, else at least 1: a node without
  // neighbours gets 0. Made once.
  struct DegreeScales {
    torch::Tensor target_inverse, target_root, source_root;
  };
  const DegreeScales& degree_scales(bool self_loops) const;

  // Many products will be computed with it: worth a plan in which order to sum its rows on a GPU, made on first use.
  void plan_sums() const { planned_ = true; }
  // nullptr: there is none. Edges that were picked from a planned matrix are summed by its plan.
  RowPlanTensors* row_plan(bool transposed) const;

  // The matrix or its transpose as a CSR tensor for torch's own products; made once for each precision.
  const torch::Tensor& matrix(bool transposed, torch::Dtype dtype) const;

 private:
  int64_t sources_;
  bool symmetric_;
  std::shared_ptr<const Adjacency> whole_;  // nullptr: it was not picked from another
  torch::Tensor keep_;
  mutable std::unique_ptr<Transposed> transposed_;
  mutable std::map<std::pair<bool, torch::Dtype>, torch::Tensor> matrices_;
  mutable std::map<bool, DegreeScales> scales_;  // by whether there are self loops
  mutable bool planned_ = false;
  mutable std::map<bool, RowPlanTensors> row_plans_;  // by whether it is the transpose's
};

// Three implementations, all with `edge_of`: by counting, in the host's threads; with torch's sort, on any device; by picking
// from the transpose of the matrix that the edges were picked from, on any device.
Adjacency::Transposed transpose_by_counting(const Adjacency& adjacency);
Adjacency::Transposed transpose_by_sorting(const Adjacency& adjacency);
Adjacency::Transposed transpose_of_kept(const Adjacency& whole, const torch::Tensor& keep);

// A CSR tensor [rows, width], with int32 indices where its number of edges allows it.
torch::Tensor csr_tensor(const torch::Tensor& offsets, const torch::Tensor& columns, const torch::Tensor& values, int64_t width);

}  // namespace l0gm
