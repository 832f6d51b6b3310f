#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "data/graph/graph.h"

namespace l0gm {

// A graph as one memory-mapped safetensors file: arrays and splits as tensors, names as JSON in a tensor. The file contains the
// hash of its tensors, which is checked when it is opened.
void write_graph(const std::filesystem::path& path, const Graph& graph);
Graph read_graph(const std::filesystem::path& path);  // UserError when damaged

// The graph stored in `folder` under `key` (a SHA-256 over everything that it is made from), or made by `make` and stored there.
// A damaged file is renamed to *.damaged with a warning and made again; a folder that is not writable causes only a warning.
Graph cached_graph(const std::filesystem::path& folder, const std::string& key, const std::function<Graph()>& make);

}  // namespace l0gm
