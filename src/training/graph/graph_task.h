#pragma once

#include <map>
#include <memory>

#include "batches/graph/graph_batches.h"
#include "batches/graph/thinned_edges.h"
#include "data/graph/prefetcher.h"
#include "data/graph/sampling.h"
#include "encoders/graph/graph_encoder.h"
#include "training/task.h"

namespace l0gm {

// Nodes of a graph are classified; each step sees the whole graph or what a sampler draws of it.
class GraphTask : public Task {
 public:
  // `graph`: with scaled attributes; must outlive the task. `batch`: of samplers.
  GraphTask(const Graph& graph, const GraphOptions& options, int64_t batch, uint64_t seed, std::shared_ptr<Model> model,
            torch::Device device, torch::Dtype dtype);
  int64_t steps_per_epoch() const override;
  std::shared_ptr<Batch> training_batch(int64_t epoch, int64_t index) override;
  Predictions predict(Model& model, const GateState& state, Split split) override;
  int64_t class_count() const override { return static_cast<int64_t>(graph_.classes.size()); }
  bool has_fixed_shapes() const override;  // the whole graph with all of its edges

  // Where graph.drop_edge is applied: on the device, or by the host, which is faster for the processor itself. The same edges.
  bool picks_edges_on_device = false;

 private:
  bool drops_edges() const;
  std::shared_ptr<GraphBatch> full_batch(int64_t epoch);
  std::shared_ptr<GraphBatch> thinned_batch(uint64_t key);
  std::shared_ptr<GraphBatch> all_training_nodes();  // with their whole neighbourhoods
  const Graph& graph_;
  GraphOptions options_;
  uint64_t seed_;
  EpochOrder order_;
  std::shared_ptr<Model> model_;
  GraphTensors tensors_;
  std::shared_ptr<const MessageBlock> whole_;
  std::unique_ptr<Prefetcher> prefetcher_;
  std::unique_ptr<ThinnedEdges> edges_;  // made when first needed
  torch::Tensor training_nodes_;
  std::shared_ptr<GraphBatch> training_;                 // made once
  std::map<Split, std::shared_ptr<GraphBatch>> splits_;  // full inference: made once
};

GraphEncoder& graph_encoder(Model& model);

// The batch whose examples are `nodes`, each with its whole neighbourhood.
std::shared_ptr<GraphBatch> batch_of_nodes(Model& model, const GraphTensors& tensors,
                                           const std::shared_ptr<const MessageBlock>& whole, std::span<const int64_t> nodes);
// What the encoder says of the batch's examples, before the gate at the interface. `rows` 0: all at once; else layer by layer, so
// many rows at a time, whatever is kept of a layer being its output alone.
torch::Tensor encode(Model& model, const GraphBatch& batch, GatePass& pass, int64_t rows);
// Logits of the batch's examples in evaluation mode, computed in the same way.
torch::Tensor infer(Model& model, const GateState& state, const GraphBatch& batch, int64_t rows);
// Measures what batch norm stores, over the rows that the batch computes, in the same way; nothing where there is none.
void measure_statistics(Model& model, const GateState& state, const GraphBatch& batch, int64_t rows);

// A table of probabilities with nodes as rows.
Predictions predictions_of(const torch::Tensor& logits, const torch::Tensor& ids, const torch::Tensor& targets,
                           const std::vector<std::string>& classes);
// Predictions for nodes of a graph with scaled attributes.
Predictions predict_nodes(Model& model, const GateState& state, const Graph& graph, std::span<const int64_t> nodes, int64_t rows,
                          torch::Device device, torch::Dtype dtype);

}  // namespace l0gm
