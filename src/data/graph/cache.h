#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "data/graph/graph.h"

namespace l0gm {

// A graph as one safetensors file that is mapped, not read: arrays as tensors, names and splits beside them. The file carries the
// hash of its tensors, which is checked when it is opened.
void write_graph(const std::filesystem::path& path, const Graph& graph);
Graph read_graph(const std::filesystem::path& path);  // UserError when damaged

// The graph called `key` (a SHA-256 over everything that it is made from) out of `folder`, or made by `make` and put there. A
// damaged file is set aside with a warning and made anew; a folder that cannot be written to costs a warning, not the run.
Graph cached_graph(const std::filesystem::path& folder, const std::string& key, const std::function<Graph()>& make);

}  // namespace l0gm
