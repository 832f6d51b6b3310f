#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/graph/graph.h"

namespace l0gm {

// The messages of one layer: target i sums over the sources neighbours[offsets[i] … offsets[i + 1]), each times its weight.
// The contract of every sampler: with its weights, the weighted sum over a target's row has the sum over all its neighbours in
// the graph as expectation (given that the target is in the block). Without weights the row is complete.
struct MessageBlock {
  int64_t targets = 0, sources = 0;
  SharedArray<int64_t> offsets;      // [targets + 1]
  SharedArray<int32_t> neighbours;   // numbers of sources
  SharedArray<float> weights;        // [edges], or empty: all 1
  SharedArray<int32_t> own;          // [targets]: the source that is the target itself; empty: source i is target i
  SharedArray<float> target_degree;  // [targets]: neighbours in the graph that messages pass in (loops not counted)
  SharedArray<float> source_degree;  // [sources]
  bool symmetric = false;            // targets and sources are the same nodes, and the matrix of weights is symmetric
};

// The structure that one step computes on. Layer l reads the rows that layer l - 1 wrote; the first reads `inputs`.
struct MessagePlan {
  std::vector<std::shared_ptr<const MessageBlock>> blocks;  // one per layer, from the first; layers may share one
  std::vector<int64_t>
      inputs;  // nodes whose attributes are read, in the order of the first block's sources; empty: all, in order
  std::vector<int64_t> outputs;     // nodes of the last block's targets, in order; empty: all, in order
  std::vector<int32_t> examples;    // rows of the outputs that are examples; empty: all
  std::vector<float> loss_weights;  // of the examples, with the expected sum 1; empty: the same for each
};

// The whole graph as one block.
std::shared_ptr<const MessageBlock> whole_block(const Graph& graph);
// The same without a share of the edges, picked by (key, edge); both directions of an edge are dropped together where the graph
// is symmetric. Degrees are those of the remaining edges.
std::shared_ptr<const MessageBlock> thinned_block(const Graph& graph, double drop_share, uint64_t key);
// Layers for the outputs `nodes` with all their neighbours, built from the last to the first: only rows that a later layer reads.
// A layer that needs more than nine tenths of the nodes computes all of them, in order, so that layers share `whole`.
MessagePlan complete_plan(const Graph& graph, const std::shared_ptr<const MessageBlock>& whole, std::span<const int64_t> nodes,
                          int64_t layers);

}  // namespace l0gm
