#include "data/graph/node_list.h"

#include <fmt/format.h>

#include <numeric>

#include "base/csv.h"
#include "base/text.h"
#include "l0gm/error.h"

namespace l0gm {

std::vector<int64_t> all_nodes(const Graph& graph) {
  std::vector<int64_t> nodes(static_cast<size_t>(graph.nodes));
  std::iota(nodes.begin(), nodes.end(), int64_t{0});
  return nodes;
}

NodeNames names_of_nodes(const Graph& graph) {
  NodeNames names(graph.name);
  if (graph.node_names.empty()) {
    names.number(graph.nodes);
  } else {
    for (const std::string& name : graph.node_names) names.add(name, graph.name, 0);
  }
  return names;
}

namespace {

// Calls take(nodes) for each line of a csv with exactly these columns, one node per column.
template <class Take>
void each_line(const Graph& graph, const std::filesystem::path& path, const std::vector<std::string>& columns, const Take& take) {
  const NodeNames names = names_of_nodes(graph);
  CsvReader reader(path, {});
  if (reader.names() != columns) {
    throw UserError(fmt::format("{} begins with '{}', wanted the header '{}' and the names of nodes below it.", path.string(),
                                list_some(reader.names()), join(columns, ",")));
  }
  std::vector<std::string_view> cells;
  std::vector<int64_t> nodes(columns.size());
  bool any = false;
  while (reader.next(cells)) {
    if (columns.size() == 1 && trim(cells[0]).empty()) continue;  // a blank line
    any = true;
    for (size_t i = 0; i < nodes.size(); ++i) nodes[i] = names.find(cells[i], path, reader.line());
    take(nodes);
  }
  if (!any) throw UserError(fmt::format("{} names no node; name at least one below the header.", path.string()));
}

}  // namespace

std::vector<int64_t> read_node_list(const Graph& graph, const std::filesystem::path& path) {
  std::vector<int64_t> nodes;
  each_line(graph, path, {"node"}, [&](const std::vector<int64_t>& line) { nodes.push_back(line[0]); });
  return nodes;
}

}  // namespace l0gm
