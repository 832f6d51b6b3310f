#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "data/graph/graph.h"

namespace l0gm {

// OGB's raw layout: raw/edge, raw/node-feat, raw/node-label (.csv.gz or .csv, no headers; one line for each edge or node), and
// optionally raw/num-node-list and raw/num-edge-list, which the counts are checked against. UserError when a file is missing,
// damaged or inconsistent.

// The files that are read, by name ("edge", …). Without `labelled` the labels are not among them.
std::vector<std::pair<std::string, std::filesystem::path>> ogb_files(const std::filesystem::path& folder, bool labelled = true);
bool ogb_has_labels(const std::filesystem::path& folder);
// The number of attributes per node, from the first line.
int64_t ogb_attributes(const std::filesystem::path& folder);
// The graph without its split. An empty label, or nan, is unknown. Without `labelled` the file is not read: all labels are
// unknown, and the graph has no classes.
Graph read_ogb(const std::filesystem::path& folder, bool undirected, bool labelled = true);

}  // namespace l0gm
