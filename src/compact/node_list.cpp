#include "compact/node_list.h"

#include <fmt/format.h>

#include <numeric>

#include "base/text.h"
#include "data/graph/own_nodes.h"
#include "data/table/csv.h"
#include "l0gm/error.h"

namespace l0gm {

std::vector<int64_t> all_nodes(const Graph& graph) {
  std::vector<int64_t> nodes(static_cast<size_t>(graph.nodes));
  std::iota(nodes.begin(), nodes.end(), int64_t{0});
  return nodes;
}

std::vector<int64_t> read_node_list(const Graph& graph, const std::filesystem::path& path) {
  NodeNames names(graph.name);
  if (graph.node_names.empty()) {
    names.number(graph.nodes);
  } else {
    for (const std::string& name : graph.node_names) names.add(name, graph.name, 0);
  }
  CsvReader reader(path, {});
  if (reader.names().size() != 1 || reader.names()[0] != "node") {
    throw UserError(fmt::format("{} begins with '{}', wanted a single column with the header 'node' and the names of nodes below it.", path.string(),
                                list_some(reader.names())));
  }
  std::vector<int64_t> nodes;
  std::vector<std::string_view> cells;
  while (reader.next(cells)) nodes.push_back(names.find(cells[0], path, reader.line()));
  if (nodes.empty()) throw UserError(fmt::format("{} names no node; name at least one below the header.", path.string()));
  return nodes;
}

}  // namespace l0gm
