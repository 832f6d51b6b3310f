#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "compact/parity.h"
#include "training/graph/narrow_graph.h"

namespace l0gm {

// A finished run on a graph in every form that parity compares. UserError for a run that cannot be compacted: links, gates that
// depend on the example.
struct TrainedGraph {
  LoadedGraph single, exact;  // as it was trained, in float32 and in float64
  LoadedGraph narrowed;       // in float64, closed units gone
  GraphInputs inputs;         // what the narrowed one reads
  Graph raw;                  // the graph as it was trained on
  Graph scaled, read;         // the same as the trained model and as the narrowed one reads it

  explicit TrainedGraph(const std::filesystem::path& run);
  std::vector<double> probabilities(std::span<const int64_t> nodes, bool exactly);
  std::vector<double> narrowed_probabilities(std::span<const int64_t> nodes);
  bool encoder_narrowed() const { return !narrowed.model->selected().defined(); }
};

// Rows of a layer at a time: as the configuration says; where it says nothing and the graph is large, a number that bounds
// memory.
int64_t inference_rows_for(const Graph& graph, int64_t configured);

// All nodes of a graph; of a large one validation and test nodes, evenly thinned.
std::vector<int64_t> nodes_to_check(const Graph& graph);

// The largest difference; throws when it is beyond the limit, naming the worst node and both probabilities. `what`: was compared.
double check_nodes(const std::vector<double>& found, const std::vector<double>& wanted, double limit, const Graph& graph,
                   std::span<const int64_t> nodes, const char* what);

}  // namespace l0gm
