#include "data/graph/ogb.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/line_reader.h"
#include "base/text.h"
#include "data/graph/attribute_builder.h"
#include "data/graph/number_lines.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

namespace fs = std::filesystem;
constexpr int64_t most_nodes = std::numeric_limits<int32_t>::max(), most_classes = 65536;

std::optional<fs::path> find_file(const fs::path& folder, const std::string& name) {
  std::error_code ignored;
  for (const std::string_view ending : {".csv.gz", ".csv"}) {
    const fs::path path = folder / "raw" / fmt::format("{}{}", name, ending);
    if (fs::is_regular_file(path, ignored)) return path;
  }
  return std::nullopt;
}

fs::path need_file(const fs::path& folder, const std::string& name) {
  if (const auto path = find_file(folder, name)) return *path;
  throw UserError(fmt::format(
      "{} has no file raw/{}.csv.gz (nor .csv). The folder of a graph in OGB's layout has raw/edge, raw/node-feat and "
      "raw/node-label.",
      folder.string(), name));
}

// The number of nodes or edges that the folder states in raw/num-node-list or raw/num-edge-list, if it does.
std::optional<int64_t> stated_count(const fs::path& folder, const std::string& name) {
  const auto path = find_file(folder, name);
  if (!path) return std::nullopt;
  LineReader reader(*path);
  std::string_view line;
  std::vector<std::string> lines;
  while (reader.next(line) && lines.size() < 3) {
    if (!trim(line).empty()) lines.emplace_back(trim(line));
  }
  const auto count = lines.size() == 1 ? parse_integer(lines[0]) : std::nullopt;
  if (count && *count >= 0) return count;
  throw UserError(fmt::format("{} should hold one number, the count of one graph; it has {} lines{}.", path->string(),
                              lines.size() > 2 ? "many" : std::to_string(lines.size()),
                              lines.empty() ? "" : fmt::format(", the first is '{}'", lines[0].substr(0, 60))));
}

void check_count(const fs::path& folder, const std::string& name, const fs::path& path, std::string_view what, int64_t found) {
  const auto wanted = stated_count(folder, name);
  if (!wanted || *wanted == found) return;
  throw UserError(fmt::format("{} has {} {}, but raw/{} says {}. The file is cut off or belongs to another graph.", path.string(),
                              with_thousands(found), what, name, with_thousands(*wanted)));
}

[[noreturn]] void fail_numbers(const LineReader& reader, std::string_view line, size_t column) {
  std::string_view cell = line;
  for (size_t i = 0; i < column; ++i) cell.remove_prefix(cell.find(',') + 1);
  cell = cell.substr(0, cell.find(','));
  throw UserError(fmt::format("{} line {}, column {}: found '{}', wanted a finite number. Fill or remove such values.",
                              reader.path().string(), reader.line(), column + 1, cell.substr(0, 60)));
}

void read_attributes(Graph& graph, const fs::path& folder) {
  const fs::path path = need_file(folder, "node-feat");
  LineReader reader(path);
  AttributeBuilder builder;
  std::string_view line;
  std::vector<float> numbers;
  size_t column = 0;
  while (reader.next(line)) {
    if (line.empty()) continue;
    if (!parse_numbers(line, numbers, column)) fail_numbers(reader, line, column);
    if (builder.rows() > 0 && static_cast<int64_t>(numbers.size()) != builder.width()) {
      throw UserError(fmt::format("{} line {} has {} columns, those before it {}. Each node has one line of attributes.",
                                  path.string(), reader.line(), numbers.size(), builder.width()));
    }
    builder.add(numbers);
  }
  graph.nodes = builder.rows();
  check_count(folder, "num-node-list", path, "nodes", graph.nodes);
  if (graph.nodes < 1 || graph.nodes > most_nodes) {
    throw UserError(fmt::format("{} has {} nodes, wanted 1 to {}.", path.string(), graph.nodes, with_thousands(most_nodes)));
  }
  builder.finish(graph);
}

void read_edges(Graph& graph, const fs::path& folder, bool undirected) {
  const fs::path path = need_file(folder, "edge");
  LineReader reader(path);
  EdgeList edges;
  std::string_view line;
  while (reader.next(line)) {
    if (line.empty()) continue;
    int64_t from = 0, to = 0;
    if (!parse_pair(line, from, to)) {
      throw UserError(
          fmt::format("{} line {}: found '{}', wanted two numbers of nodes, from and to, separated by a comma, and no header.",
                      path.string(), reader.line(), line.substr(0, 60)));
    }
    for (const int64_t node : {from, to}) {
      if (node >= 0 && node < graph.nodes) continue;
      throw UserError(
          fmt::format("{} line {}: there is no node {}; nodes are numbered from 0 to {}, one for each line of raw/node-feat.",
                      path.string(), reader.line(), node, graph.nodes - 1));
    }
    edges.from.push_back(static_cast<int32_t>(from));
    edges.to.push_back(static_cast<int32_t>(to));
  }
  check_count(folder, "num-edge-list", path, "edges", static_cast<int64_t>(edges.from.size()));
  build_adjacency(graph, std::move(edges), undirected);
}

// -1 for an unknown label; nullopt where the text is not a label.
std::optional<int32_t> parse_label(std::string_view text) {
  const std::string_view cell = trim(text);
  if (cell.empty() || lower(cell) == "nan") return -1;
  const auto value = parse_double(cell);  // OGB writes labels with gaps as 3.0
  if (!value || *value != std::floor(*value) || *value < 0 || *value >= static_cast<double>(most_classes)) return std::nullopt;
  return static_cast<int32_t>(*value);
}

void read_labels(Graph& graph, const fs::path& folder) {
  const fs::path path = need_file(folder, "node-label");
  LineReader reader(path);
  std::vector<int32_t> labels;
  std::string_view line;
  int32_t largest = -1;
  size_t blank = 0;  // lines at the end
  while (reader.next(line)) {
    blank = trim(line).empty() ? blank + 1 : 0;
    const auto label = parse_label(line);
    if (!label) {
      const bool several = line.find(',') != std::string_view::npos;
      throw UserError(
          fmt::format("{} line {}: found '{}', wanted one class number from 0 to {}{}.", path.string(), reader.line(),
                      line.substr(0, 60), most_classes - 1,
                      several ? "; nodes with several labels cannot be learned" : ", or nothing or nan where it is not known"));
    }
    labels.push_back(*label);
    largest = std::max(largest, *label);
  }
  for (; blank > 0 && static_cast<int64_t>(labels.size()) > graph.nodes; --blank) labels.pop_back();
  if (static_cast<int64_t>(labels.size()) != graph.nodes) {
    throw UserError(fmt::format("{} has {} lines, but there are {} nodes. Give one label for each node.", path.string(),
                                with_thousands(static_cast<int64_t>(labels.size())), with_thousands(graph.nodes)));
  }
  for (int32_t label = 0; label <= largest; ++label) graph.classes.push_back(std::to_string(label));
  graph.labels = std::move(labels);
}

}  // namespace

bool ogb_has_labels(const fs::path& folder) { return find_file(folder, "node-label").has_value(); }

std::vector<std::pair<std::string, fs::path>> ogb_files(const fs::path& folder, bool labelled) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    throw UserError(fmt::format("'{}' is not a folder. Name the folder of a graph in OGB's layout, which holds raw/ and split/.",
                                folder.string()));
  }
  std::vector<std::pair<std::string, fs::path>> files;
  for (const std::string name : {"edge", "node-feat", "node-label"}) {
    if (name != "node-label" || labelled) files.emplace_back(name, need_file(folder, name));
  }
  for (const std::string name : {"num-node-list", "num-edge-list"}) {
    if (const auto path = find_file(folder, name)) files.emplace_back(name, *path);
  }
  return files;
}

int64_t ogb_attributes(const fs::path& folder) {
  LineReader reader(need_file(folder, "node-feat"));
  std::string_view line;
  return reader.next(line) ? std::count(line.begin(), line.end(), ',') + 1 : 0;
}

Graph read_ogb(const fs::path& folder, bool undirected, bool labelled) {
  Graph graph;
  graph.name = fs::path(folder / "").parent_path().filename().string();
  read_attributes(graph, folder);
  if (labelled) {
    read_labels(graph, folder);
  } else {
    leave_unlabelled(graph);
  }
  read_edges(graph, folder, undirected);
  return graph;
}

}  // namespace l0gm
