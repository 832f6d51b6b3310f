#pragma once

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

}  // namespace l0gm
