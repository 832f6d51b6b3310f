#pragma once

#include <memory>
#include <string>
#include <vector>

#include "batches/graph/graph_batches.h"
#include "batches/graph/thinned_edges.h"
#include "data/graph/links.h"
#include "data/graph/options.h"
#include "data/graph/sampling.h"
#include "metrics/ranking.h"
#include "training/task.h"

namespace l0gm {

// Which pairs of nodes are linked. Messages pass over training links only, and in a training step not over those that the step is
// asked about: a pair is never scored with the help of its own link. Every layer sees the whole graph.
class LinkTask : public Task {
 public:
  // `graph`: with scaled attributes; must outlive the task. `batch`: links of a step. Split and evaluation follow `split_seed`
  // alone.
  LinkTask(const Graph& graph, const GraphOptions& options, const LinkOptions& link, int64_t batch, uint64_t seed,
           uint64_t split_seed, std::shared_ptr<Model> model, torch::Device device, torch::Dtype dtype);
  int64_t steps_per_epoch() const override { return order_.steps(); }
  // Pairs are rows of the interface, which has all nodes; first the links, then the pairs without one. Noise is keyed by node.
  std::shared_ptr<Batch> training_batch(int64_t epoch, int64_t index) override;
  // Of the part's links, then of as many pairs without one; a row's number is its place among them.
  Predictions predict(Model& model, const GateState& state, Split split) override;
  // Each link of the part against pairs of its own, which share a node with it.
  RankScores rank(Model& model, const GateState& state, Split split);
  int64_t class_count() const override { return 2; }
  int64_t links_of_step() const { return links_of_step_; }  // fewer than asked for, where a step would leave no link for messages

  const LinkSplit& split() const { return split_; }
  const Graph& messages() const { return messages_; }  // the training links
  bool measures_statistics = true;                     // of batch norm, before it predicts; a finished run has them stored
  // Where the links of a step are taken out: on the device, or by the host, which is faster for the processor itself.
  bool picks_edges_on_device = false;

 private:
  const std::vector<Link>& links_in(Split split) const;
  std::shared_ptr<GraphBatch> batch_over(std::shared_ptr<const Adjacency> block) const;  // nullptr: no messages
  std::shared_ptr<const Adjacency> messages_without(const std::vector<Link>& links, uint64_t key);
  torch::Tensor encode(Model& model, const GateState& state);

  const Graph& graph_;
  GraphOptions options_;
  LinkOptions link_;
  uint64_t seed_, split_seed_;
  LinkSplit split_;
  Graph messages_;
  UnlinkedPairs training_negatives_, negatives_;
  int64_t links_of_step_;
  std::vector<int64_t> numbers_;  // of the training links: what an epoch puts in order
  EpochOrder order_;
  std::shared_ptr<Model> model_;
  GraphTensors tensors_;
  std::shared_ptr<const MessageBlock> whole_;  // of the training links
  std::unique_ptr<ThinnedEdges> edges_;        // made when first needed
  std::shared_ptr<GraphBatch> evaluation_;     // messages over all training links; made when first needed
};

// How likely pairs of nodes are to be linked, in their order, in a graph with scaled attributes; messages pass over all of its
// edges. `rows`: as for predict_nodes.
Predictions predict_pairs(Model& model, const GateState& state, const Graph& graph, const std::vector<Link>& pairs, int64_t rows,
                          torch::Device device, torch::Dtype dtype);

}  // namespace l0gm
