#include "data/graph/node_split.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/line_reader.h"
#include "base/text.h"
#include "data/splits.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

namespace fs = std::filesystem;
constexpr std::array<std::string_view, 3> part_names = {"train", "valid", "test"};

std::vector<std::string> folders_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->is_directory(error)) names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string folder_called(const fs::path& parent, const std::vector<std::string>& names, const std::string& wanted) {
  if (!wanted.empty()) {
    if (std::find(names.begin(), names.end(), wanted) != names.end()) return wanted;
    throw UserError(fmt::format("{} has no folder '{}'; it has: {}.{} Set data.protocol to one of them.", parent.string(), wanted,
                                names.empty() ? "none" : list_some(names), did_you_mean(wanted, names)));
  }
  if (names.size() == 1) return names[0];
  throw UserError(
      fmt::format("{} holds several splits: {}. Set data.protocol to one of them.", parent.string(), list_some(names)));
}

}  // namespace

std::optional<SplitFiles> find_split_files(const fs::path& folder, const std::string& name) {
  const fs::path parent = folder / "split";
  const std::vector<std::string> names = folders_in(parent);
  if (names.empty() && name.empty()) return std::nullopt;
  const fs::path place = parent / folder_called(parent, names, name);
  SplitFiles files;
  std::vector<std::string> missing;
  for (size_t i = 0; i < files.size(); ++i) {
    std::error_code ignored;
    for (const std::string_view ending : {".csv", ".csv.gz"}) {
      const fs::path path = place / fmt::format("{}{}", part_names[i], ending);
      if (fs::is_regular_file(path, ignored)) files[i] = path;
    }
    if (files[i].empty()) missing.push_back(fmt::format("{}.csv.gz", part_names[i]));
  }
  if (missing.empty()) return files;
  throw UserError(fmt::format("{} lacks {}. Add what is missing, or remove the folder to have a split drawn.", place.string(),
                              join(missing, ", ")));
}

void TakenNodes::take(int64_t node, int part, const fs::path& path, int64_t line, const std::string& called) {
  int8_t& current = part_[static_cast<size_t>(node)];
  if (current >= 0) {
    throw UserError(fmt::format("{} line {}: node {} is in the split twice: {}. A node may be in one part, and there once.",
                                path.string(), line, called,
                                current == part ? fmt::format("twice in {}", part_names[static_cast<size_t>(part)])
                                                : fmt::format("in {} and in {}", part_names[static_cast<size_t>(current)],
                                                              part_names[static_cast<size_t>(part)])));
  }
  current = static_cast<int8_t>(part);
}

void read_split(Graph& graph, const SplitFiles& files) {
  TakenNodes taken(graph.nodes);
  const std::array<std::vector<int64_t>*, 3> parts = {&graph.train, &graph.valid, &graph.test};
  for (size_t i = 0; i < files.size(); ++i) {
    LineReader reader(files[i]);
    std::string_view line;
    while (reader.next(line)) {
      if (trim(line).empty()) continue;
      const auto node = parse_integer(trim(line));
      if (!node || *node < 0 || *node >= graph.nodes) {
        throw UserError(fmt::format("{} line {}: found '{}', wanted the number of a node, 0 to {}, one a line and no header.",
                                    files[i].string(), reader.line(), line.substr(0, 60), graph.nodes - 1));
      }
      taken.take(*node, static_cast<int>(i), files[i], reader.line(), std::to_string(*node));
      parts[i]->push_back(*node);
    }
    std::sort(parts[i]->begin(), parts[i]->end());
  }
  if (graph.train.empty()) throw UserError(fmt::format("{} lists no node; a model needs training nodes.", files[0].string()));
}

void draw_split(Graph& graph, double valid, double test, uint64_t seed, const std::vector<int64_t>* pool) {
  std::vector<int64_t> nodes;
  std::vector<int32_t> labels;
  const auto take = [&](int64_t node) {
    if (graph.labels[node] < 0) return;
    nodes.push_back(node);
    labels.push_back(graph.labels[node]);
  };
  if (pool != nullptr) {
    for (const int64_t node : *pool) take(node);
  } else {
    for (int64_t node = 0; node < graph.nodes; ++node) take(node);
  }
  if (nodes.empty())
    throw UserError(fmt::format("{}: no node has a label, so there is nothing to train on. Give labels.", graph.name));
  std::vector<double> shares;
  if (valid >= 0) shares.push_back(valid);
  if (test >= 0) shares.push_back(test);
  auto parts = stratified(labels, shares, seed);
  for (auto& part : parts) {
    for (int64_t& node : part) node = nodes[static_cast<size_t>(node)];
  }
  graph.train = std::move(parts[0]);
  if (valid >= 0) graph.valid = std::move(parts[1]);
  if (test >= 0) graph.test = std::move(parts.back());
}

}  // namespace l0gm
