#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/graph/graph.h"
#include "data/graph/links.h"
#include "data/graph/node_names.h"

namespace l0gm {

// The nodes of a graph by name.
NodeNames names_of_nodes(const Graph& graph);
// All nodes of a graph, in order.
std::vector<int64_t> all_nodes(const Graph& graph);
// The nodes that a csv with the single column `node` names, in its order. UserError naming file, line and node for an
// unknown node.
std::vector<int64_t> read_node_list(const Graph& graph, const std::filesystem::path& path);

}  // namespace l0gm
