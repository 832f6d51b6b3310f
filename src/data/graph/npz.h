#pragma once

#include <filesystem>

#include "data/graph/graph.h"

namespace l0gm {

// A graph in a numpy archive, without its split. Three layouts: `adj_matrix`, `node_attr` (scipy CSR matrices, or a dense array),
// `node_label`, `metadata`; or plain arrays `adj_data`, `adj_indices`, `adj_indptr`, `adj_shape`, `attr_…` likewise (or
// `attr_matrix`), `labels`, `class_names`; or `edges` [edges, 2] (or `edge_index` [2, edges]), `node_features`, `node_labels`.
// Each part may have any of its names. Row i, column j of the adjacency is an edge from i to j. UserError when anything is
// missing, damaged or inconsistent. A small file cannot ask for much memory or work: the archive has the limits of ZipArchive, a
// sparse matrix of attributes with more than npz_free_columns columns needs as many entries as columns, and the texts of a
// pickle, which may name one text many times, take at most npz_repeated_text bytes more than the archive unpacks to. Without
// `labelled` labels are not read: all are unknown, and the graph has no classes.
inline constexpr int64_t npz_free_columns = int64_t{1} << 20;
inline constexpr uint64_t npz_repeated_text = uint64_t{1} << 24;
Graph read_npz(const std::filesystem::path& path, bool undirected, bool labelled = true);
bool npz_has_labels(const std::filesystem::path& path);

// Splits inside an archive: `train_masks`, `val_masks`, `test_masks` (or `train_mask`, …), of nodes alone or with a row or a
// column for each split. `protocol`: the number of one, from 0; empty: the first. Nodes without a label are in none.
bool npz_has_masks(const std::filesystem::path& path);
void read_npz_split(Graph& graph, const std::filesystem::path& path, const std::string& protocol);

}  // namespace l0gm
