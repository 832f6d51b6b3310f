#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "compact/compact_run.h"
#include "compact/graph/graph_parity.h"

namespace l0gm {

// compact_run for a run on a graph: a file for `l0gm predict` (compact/graph_file.h), or with options.nodes look-ups of known
// nodes (compact/node_lookup.h) for the runtime.
nlohmann::json compact_graph_run(const std::filesystem::path& run, const std::filesystem::path& out,
                                 const CompactOptions& options);

// What a compact file says of the run that it was made of: everything but parity and figures.
nlohmann::json describe_graph_run(const TrainedGraph& trained);
nlohmann::json parity_json(const Parity& parity);
// Warns where the trained model's own float32 error made the bound a loose one.
void warn_of_loose_bound(const Parity& parity);
// Some of the nodes that were predicted, with their labels: those of the split, as figures want them; nobody of it there: no
// rows.
Predictions predictions_at(const std::vector<int64_t>& split, const Graph& graph, const std::vector<int64_t>& predicted,
                           const std::vector<double>& probabilities);

// What `l0gm compact --json` prints. `about`: as the model card reads it.
nlohmann::json compact_result(const std::filesystem::path& out, const std::filesystem::path& card, const nlohmann::json& about,
                              const Parity& parity, int64_t bytes);

// The model card of a file of either kind. `about`: what the file says about itself.
std::string graph_card(const std::string& file, const nlohmann::json& about);

}  // namespace l0gm
