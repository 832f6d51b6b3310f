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

// train, valid and test (.csv.gz or .csv) in the folder `name` below folder/split, or in the only one there is. Nothing where
// there is no such folder and none was named; UserError when there are several to choose from or some of the three files are
// missing.
std::optional<SplitFiles> find_split_files(const std::filesystem::path& folder, const std::string& name);

// Which nodes a split has given away: each at most once.
class TakenNodes {
 public:
  explicit TakenNodes(int64_t nodes) : part_(static_cast<size_t>(nodes), -1) {}
  bool taken(int64_t node) const { return part_[static_cast<size_t>(node)] >= 0; }
  // `part`: 0, 1, 2. UserError naming file, line and node (as the file calls it) when it has been given away before.
  void take(int64_t node, int part, const std::filesystem::path& path, int64_t line, const std::string& called);

 private:
  std::vector<int8_t> part_;
};

// Node numbers, one a line, without a header.
void read_split(Graph& graph, const SplitFiles& files);

// Deals the labelled nodes among `pool` (all, where it is not given) out by shares, class by class; a negative share: that part
// keeps what it has.
void draw_split(Graph& graph, double valid, double test, uint64_t seed, const std::vector<int64_t>* pool = nullptr);

}  // namespace l0gm
