#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/graph/graph.h"

namespace l0gm {

// Files of node numbers: training, validation, test.
using SplitFiles = std::array<std::filesystem::path, 3>;

// train, valid and test (.csv.gz or .csv) in the folder `name` below folder/split, or in the only one there is. Nullopt where
// there is no such folder and none was named; UserError when there are several folders and none was named, or some of the three
// files are missing.
std::optional<SplitFiles> find_split_files(const std::filesystem::path& folder, const std::string& name);

// The part of the split that each node is in: at most one.
class TakenNodes {
 public:
  explicit TakenNodes(int64_t nodes) : part_(static_cast<size_t>(nodes), -1) {}
  bool taken(int64_t node) const { return part_[static_cast<size_t>(node)] >= 0; }
  // `part`: 0, 1, 2. UserError naming file, line and node (`called`, as the file spells it) when the node is in a part already.
  void take(int64_t node, int part, const std::filesystem::path& path, int64_t line, const std::string& called);

 private:
  std::vector<int8_t> part_;
};

// Node numbers, one a line, without a header.
void read_split(Graph& graph, const SplitFiles& files);

// Splits the labelled nodes of `pool` (nullptr: of the graph) at random by shares, stratified by class. A negative share leaves
// that part unchanged.
void draw_split(Graph& graph, double valid, double test, uint64_t seed, const std::vector<int64_t>* pool = nullptr);

}  // namespace l0gm
