#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "data/graph/graph.h"
#include "data/perturbation.h"

namespace l0gm {

// The graph with the raw attributes of all nodes outside training perturbed (data/perturbation.h names the twelve conditions):
// missing is 0; noise in units of the attribute's standard deviation over training nodes; quantised over its training range; a
// contiguous block of attributes is 0. Drawn by (seed, condition, node, attribute): the same for every method. Structure, labels
// and split are shared.
enum class Nodes { outside_training, all };
Graph perturb_attributes(const Graph& graph, const Perturbation& perturbation, uint64_t seed,
                         Nodes perturbed = Nodes::outside_training);

// SHA-256 of the attributes' bytes: who reads the same hash reads the same inputs.
std::string hash_of_attributes(const Graph& graph);

// All conditions, for peers: FOLDER/perturbed/test-<condition>.safetensors, each a graph as write_graph() makes it, and
// FOLDER/perturbed.json: {"seed": …, "conditions": {"missing-0.1": {"file": …, "sha256": hash_of_attributes()}, …}}, which is
// returned.
nlohmann::json export_perturbed_graphs(const Graph& graph, uint64_t seed, const std::filesystem::path& folder);

}  // namespace l0gm
