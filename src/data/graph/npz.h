#pragma once

#include <filesystem>

#include "data/graph/graph.h"

namespace l0gm {

// A graph in a numpy archive, without its split. Two layouts: `adj_matrix`, `node_attr` (scipy CSR matrices, or a dense array),
// `node_label`, `metadata`; or plain arrays `adj_data`, `adj_indices`, `adj_indptr`, `adj_shape`, `attr_…` likewise (or
// `attr_matrix`), `labels`, `class_names`. Row i, column j of the adjacency is an edge from i to j. UserError when anything is
// missing, damaged or inconsistent. Without `labelled` labels are not read: all are unknown, and the graph has no classes.
Graph read_npz(const std::filesystem::path& path, bool undirected, bool labelled = true);
bool npz_has_labels(const std::filesystem::path& path);

}  // namespace l0gm
