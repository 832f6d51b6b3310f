#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "data/graph/graph.h"

namespace l0gm {

// OGB's raw layout: raw/edge, raw/node-feat, raw/node-label (.csv.gz or .csv, no headers; one line for each edge or node), and,
// to be checked against where they are there, raw/num-node-list and raw/num-edge-list. UserError when a file is missing, damaged
// or does not fit.

// The files that are read, by name ("edge", …). Without `labelled` the labels are none of them.
std::vector<std::pair<std::string, std::filesystem::path>> ogb_files(const std::filesystem::path& folder, bool labelled = true);
bool ogb_has_labels(const std::filesystem::path& folder);
// How many attributes a node has, told by the first line.
int64_t ogb_attributes(const std::filesystem::path& folder);
// The graph without its split. An empty label, or nan, is an unknown one. Without `labelled` the file is not looked at: all are
// unknown, and the graph has no classes.
Graph read_ogb(const std::filesystem::path& folder, bool undirected, bool labelled = true);

}  // namespace l0gm
