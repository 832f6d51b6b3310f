#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "data/graph/graph.h"
#include "data/options.h"

namespace l0gm {

// A user's own graph (data.source = "graph"): an edge list, attributes by node name (csv) or by number (.npy), labels by node,
// and a split from a column of the labels, from files of node names, or drawn from the labelled nodes.

// The files that the options name, by option ("edges", …). UserError when a required one is not set.
std::vector<std::pair<std::string, std::filesystem::path>> own_graph_files(const DataOptions& options, bool labelled);
// UserError naming file, line and node for any inconsistency. Without data.labels the graph has no classes and no
// split.
Graph read_own_graph(const DataOptions& options, bool undirected);

}  // namespace l0gm
