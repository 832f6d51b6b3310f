#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "batches/batch.h"
#include "batches/graph/adjacency.h"
#include "batches/graph/tensor_plan.h"

namespace l0gm {

// Attributes on a device: exactly one of the two is set.
struct AttributeRows {
  torch::Tensor dense;                      // [rows, attributes]
  std::shared_ptr<const Adjacency> sparse;  // [rows, attributes]
  int64_t rows() const { return dense.defined() ? dense.size(0) : sparse->targets(); }
  int64_t width() const { return dense.defined() ? dense.size(1) : sparse->sources(); }
};

// The input of one step or one evaluation. `example_ids` are nodes, so that noise is keyed by node for every sampler.
struct GraphBatch : Batch {
  AttributeRows attributes;                              // of the first block's sources
  torch::Tensor input_ids;                               // int64: their nodes
  std::vector<std::shared_ptr<const Adjacency>> blocks;  // one per layer
  std::vector<torch::Tensor> output_ids;  // int64, per layer: the nodes of its targets (noise and dropout are keyed by them)
  torch::Tensor examples;                 // int64: rows of the last layer that are examples; undefined: all
  torch::Tensor propagated;               // attributes after the first layer's aggregation, where that comes first and is
                                          // constant; undefined: not precomputed
  torch::Tensor pairs;                    // int64 [pairs, 2]: links, as rows of the interface; undefined: nodes are classified
};

// A graph's attributes, labels and structure on a device, from which batches are made.
class GraphTensors {
 public:
  GraphTensors(const Graph& graph, torch::Device device, torch::Dtype dtype);

  // `targets`: labels of the plan's examples are filled in.
  std::shared_ptr<GraphBatch> batch(const MessagePlan& plan) const;
  std::shared_ptr<GraphBatch> batch(const TensorPlan& plan) const;
  // A block of all nodes, which many steps share, is put on the device once.
  std::shared_ptr<const Adjacency> adjacency_of(const std::shared_ptr<const MessageBlock>& block) const;
  const AttributeRows& attributes() const { return attributes_; }
  const Graph& graph() const { return graph_; }
  torch::Device device() const { return device_; }
  torch::Dtype dtype() const { return dtype_; }

 private:
  AttributeRows attributes_at(const std::vector<int64_t>& nodes) const;
  AttributeRows attributes_at(const torch::Tensor& nodes) const;  // undefined: of all
  std::shared_ptr<GraphBatch> batch(const TensorPlan& plan, AttributeRows attributes) const;
  const Graph& graph_;
  torch::Device device_;
  torch::Dtype dtype_;
  AttributeRows attributes_;
  torch::Tensor labels_, all_nodes_;
  // Blocks of all nodes, which many steps share, with their transposes; dropped once the block has no other owner.
  mutable std::vector<std::pair<std::weak_ptr<const MessageBlock>, std::shared_ptr<const Adjacency>>> whole_blocks_;
};

}  // namespace l0gm
