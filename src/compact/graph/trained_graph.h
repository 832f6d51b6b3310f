#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "training/graph/graph_run.h"

namespace l0gm {

// A finished run on a graph in every form that compaction compares. UserError for a run that cannot be compacted: gates that
// depend on the example.
struct TrainedGraph {
  GraphRun single, exact;  // as it was trained, in float32 and in float64
  NarrowedGraph narrowed;  // in float64, closed units gone
  Graph raw;               // the graph as it was trained on
  Graph scaled, read;      // the same as the trained model and as the narrowed one reads it

  explicit TrainedGraph(const std::filesystem::path& run);
  std::vector<double> probabilities(std::span<const int64_t> nodes, Precision precision);
  std::vector<double> narrowed_probabilities(std::span<const int64_t> nodes);
  bool encoder_narrowed() const { return !narrowed.model->selected().defined(); }
};

// Rows of a layer at a time: as the configuration says; where it says nothing and the graph is large, a number that bounds
// memory.
int64_t inference_rows_for(const Graph& graph, int64_t configured);

// All nodes of a graph; of a large one validation and test nodes, evenly thinned.
std::vector<int64_t> nodes_to_check(const Graph& graph);
// Those and, for the figures, all that are held out; ascending.
std::vector<int64_t> nodes_to_predict(const Graph& graph, std::vector<int64_t> checked);
// Of the nodes that were predicted (ascending), the probabilities of some.
std::vector<double> rows_at(const std::vector<int64_t>& wanted, const std::vector<int64_t>& predicted,
                            const std::vector<double>& probabilities, size_t classes);
// The same of a split, with labels; none of it predicted: no rows.
Predictions predictions_at(Split split, const Graph& graph, const std::vector<int64_t>& predicted,
                           const std::vector<double>& probabilities);

}  // namespace l0gm
