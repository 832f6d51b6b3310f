#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/graph/graph.h"
#include "data/graph/links.h"

namespace l0gm {

// All nodes of a graph, in order.
std::vector<int64_t> all_nodes(const Graph& graph);
// The nodes that a csv with the single column `node` names, in its order. UserError naming file, line and node for one that is
// not there.
std::vector<int64_t> read_node_list(const Graph& graph, const std::filesystem::path& path);
// The pairs of nodes that a csv with the columns `from` and `to` names, in its order; likewise.
std::vector<Link> read_pair_list(const Graph& graph, const std::filesystem::path& path);

}  // namespace l0gm
