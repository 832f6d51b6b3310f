#include "data/graph/own_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/csv.h"
#include "base/files.h"
#include "base/log.h"
#include "base/text.h"
#include "data/graph/attribute_builder.h"
#include "data/graph/node_names.h"
#include "data/graph/node_split.h"
#include "data/graph/npy.h"
#include "data/splits.h"
#include "data/table/source.h"
#include "encode/table/schema.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

namespace fs = std::filesystem;

CsvReader open_csv(const DataOptions& options, const fs::path& path) {
  CsvOptions csv;
  const std::string name = lower(path.filename().string());
  const bool tabs = name.ends_with(".tsv") || name.find(".tsv.") != std::string::npos;
  csv.delimiter = options.delimiter.empty() ? (tabs ? '\t' : ',') : delimiter_of(options);
  return {path, csv};
}

void read_attribute_table(Graph& graph, NodeNames& nodes, const DataOptions& options) {
  const fs::path path = options.features;
  CsvReader reader = open_csv(options, path);
  const std::vector<std::string>& header = reader.names();
  if (header.size() < 2) {
    throw UserError(
        fmt::format("{} has {} column, wanted the node's name and then its attributes. Is the delimiter right (data.delimiter)?",
                    path.string(), header.size()));
  }
  const auto number = [](const std::string& cell) { return parse_double(cell).has_value(); };
  const bool numbers = std::all_of(header.begin() + 1, header.end(), number);  // attributes may be called 0, 1, 2, but not 0.35
  if (numbers && (number(header[0]) || !std::all_of(header.begin() + 1, header.end(),
                                                    [](const std::string& cell) { return parse_integer(cell).has_value(); }))) {
    throw UserError(
        fmt::format("{} has no header: its first line holds numbers. Add a line with the names of the columns.", path.string()));
  }
  graph.attribute_names.assign(header.begin() + 1, header.end());
  AttributeBuilder builder;
  std::vector<std::string_view> cells;
  std::vector<float> row(header.size() - 1);
  while (reader.next(cells)) {
    nodes.add(cells[0], path, reader.line());
    for (size_t i = 1; i < cells.size(); ++i) {
      const auto value = parse_double(cells[i]);
      row[i - 1] = value ? static_cast<float>(*value) : 0;
      if (value && std::isfinite(row[i - 1])) continue;
      throw UserError(fmt::format("{} line {}, column '{}': found '{}', wanted a finite number. Fill or remove such values.",
                                  path.string(), reader.line(), header[i], cells[i].substr(0, 60)));
    }
    builder.add(row);
  }
  builder.finish(graph);
}

void read_attribute_array(Graph& graph, NodeNames& nodes, const DataOptions& options) {
  const MappedFile file(options.features);
  const NumpyArray array = read_npy(file.bytes(), fmt::format("'{}'", options.features));
  if (array.shape.size() != 2) {
    throw UserError(fmt::format("'{}' has {} dimensions, wanted [nodes, attributes].", options.features, array.shape.size()));
  }
  if (array.shape[0] > std::numeric_limits<int32_t>::max())
    throw UserError(fmt::format("'{}' has too many rows.", options.features));
  nodes.number(array.shape[0]);
  set_attributes(graph, real_numbers(array, fmt::format("'{}'", options.features)), array.shape[1]);
}

void read_attributes(Graph& graph, NodeNames& nodes, const DataOptions& options) {
  if (options.features.ends_with(".npy")) {
    read_attribute_array(graph, nodes, options);
  } else {
    read_attribute_table(graph, nodes, options);
  }
  graph.nodes = nodes.count();
  if (graph.nodes < 1) throw UserError(fmt::format("{} has no rows; give one for each node.", options.features));
}

void check_edge_header(const std::vector<std::string>& header, const NodeNames& nodes, const fs::path& path) {
  if (header.size() != 2) {
    throw UserError(fmt::format("{} has the columns {}; wanted two, from and to. {}", path.string(), list_some(header),
                                header.size() < 2 ? "Is the delimiter right (data.delimiter)?"
                                                  : "Weights or kinds of edges cannot be read; remove them."));
  }
  if (nodes.has(header[0]) && nodes.has(header[1])) {
    throw UserError(fmt::format("{} has no header: its first line, '{}' and '{}', names two nodes. Add a line such as from,to.",
                                path.string(), header[0], header[1]));
  }
}

void read_edges(Graph& graph, const NodeNames& nodes, const DataOptions& options, bool undirected) {
  const fs::path path = options.edges;
  CsvReader reader = open_csv(options, path);
  check_edge_header(reader.names(), nodes, path);
  EdgeList edges;
  std::vector<std::string_view> cells;
  while (reader.next(cells)) {
    edges.from.push_back(static_cast<int32_t>(nodes.find(cells[0], path, reader.line())));
    edges.to.push_back(static_cast<int32_t>(nodes.find(cells[1], path, reader.line())));
  }
  build_adjacency(graph, std::move(edges), undirected);
}

// The table of labels and the positions of its columns.
struct LabelTable {
  TextTable table;
  int64_t node = -1, label = -1, split = -1;
  std::vector<int64_t> nodes;  // by row
};

int64_t need_column(const TextTable& table, const std::string& name, const std::string& option, const fs::path& path) {
  const int64_t column = table.column(name);
  if (column >= 0) return column;
  throw UserError(fmt::format("{} has no column '{}'; it has: {}.{} Rename one{}.", path.string(), name, list_some(table.names()),
                              did_you_mean(name, table.names()), option.empty() ? "" : ", or set data." + option));
}

LabelTable read_label_table(const NodeNames& nodes, const DataOptions& options) {
  const fs::path path = options.labels;
  CsvReader reader = open_csv(options, path);
  LabelTable labels{.table = TextTable(reader.names()), .nodes = {}};
  labels.node = need_column(labels.table, "node", "", path);
  labels.label = need_column(labels.table, options.label.empty() ? "label" : options.label, "label", path);
  if (!options.split.column.empty()) labels.split = need_column(labels.table, options.split.column, "split.column", path);
  std::vector<int64_t> others;
  for (int64_t i = 0; i < labels.table.columns(); ++i) {
    if (i != labels.node && i != labels.label && i != labels.split) others.push_back(i);
  }
  const auto refuse = [&](int64_t column) {
    throw UserError(
        fmt::format("{} has a column '{}', which nothing uses. Remove it{}.", path.string(),
                    labels.table.names()[static_cast<size_t>(column)],
                    labels.split < 0
                        ? ", or name it with data.split.column if it says train, valid or test"
                        : "; beside the one that data.split.column names only further splits are left aside, columns that say "
                          "train, valid or test"));
  };
  if (labels.split < 0 && !others.empty()) refuse(others.front());
  std::vector<std::string_view> cells;
  std::vector<bool> seen(static_cast<size_t>(nodes.count()), false);
  while (reader.next(cells)) {
    for (const int64_t i : others) {
      if (!split_named(cells[static_cast<size_t>(i)]) && !trim(cells[static_cast<size_t>(i)]).empty()) refuse(i);
    }
    const int64_t node = nodes.find(cells[static_cast<size_t>(labels.node)], path, reader.line());
    if (seen[static_cast<size_t>(node)]) {
      throw UserError(fmt::format("{} line {}: node '{}' is listed a second time. Give each node one label.", path.string(),
                                  reader.line(), cells[static_cast<size_t>(labels.node)]));
    }
    seen[static_cast<size_t>(node)] = true;
    labels.nodes.push_back(node);
    labels.table.add_row(cells);
  }
  return labels;
}

// The same marks mean "missing" as in a table.
bool is_unknown(std::string_view label) {
  static const MissingMarks marks(default_missing_marks, {});
  return marks.contains(label);
}

// Classes are in numeric order where all are whole numbers, else in the order of their names: independent of the order of rows.
void set_labels(Graph& graph, const LabelTable& labels, const fs::path& path) {
  std::vector<std::string> classes;
  for (int64_t row = 0; row < labels.table.rows(); ++row) {
    const std::string_view text = trim(labels.table.cell(row, labels.label));
    if (!is_unknown(text)) classes.emplace_back(text);
  }
  std::sort(classes.begin(), classes.end());
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  if (std::all_of(classes.begin(), classes.end(), [](const std::string& name) { return parse_integer(name).has_value(); })) {
    std::stable_sort(classes.begin(), classes.end(),
                     [](const std::string& a, const std::string& b) { return *parse_integer(a) < *parse_integer(b); });
  }
  if (classes.size() > 2 && classes[0] == "-1") {
    log_warning(
        fmt::format("{} has the label -1, which is learned as a class like the others. If it means that the label is unknown, "
                    "leave the cell empty.",
                    path.string()));
  }
  NodeNames numbers;
  for (const std::string& name : classes) numbers.add(name, {}, 0);
  std::vector<int32_t> of_nodes(static_cast<size_t>(graph.nodes), -1);
  for (size_t row = 0; row < labels.nodes.size(); ++row) {
    const std::string_view text = trim(labels.table.cell(static_cast<int64_t>(row), labels.label));
    if (!is_unknown(text)) of_nodes[static_cast<size_t>(labels.nodes[row])] = static_cast<int32_t>(numbers.find(text, {}, 0));
  }
  graph.classes = std::move(classes);
  graph.labels = std::move(of_nodes);
}

void split_by_labels(Graph& graph, const LabelTable& labels, const DataOptions& options) {
  if (!options.train.empty() || !options.valid.empty() || !options.test.empty()) {
    throw UserError(
        "data.split.column is set together with data.train, data.valid or data.test: the split comes from a column or from "
        "files. "
        "Remove one.");
  }
  const SplitRows rows = split_by_column(labels.table, labels.split);
  const auto nodes_of = [&](const std::vector<int64_t>& part) {
    std::vector<int64_t> nodes;
    for (const int64_t row : part) nodes.push_back(labels.nodes[static_cast<size_t>(row)]);
    std::sort(nodes.begin(), nodes.end());
    return nodes;
  };
  graph.train = nodes_of(rows.train);
  graph.valid = nodes_of(rows.valid);
  graph.test = nodes_of(rows.test);
}

std::vector<int64_t> read_node_file(const NodeNames& nodes, const DataOptions& options, const fs::path& path, int part,
                                    TakenNodes& taken) {
  CsvReader reader = open_csv(options, path);
  if (reader.names().size() != 1 || reader.names()[0] != "node") {
    throw UserError(
        fmt::format("{} begins with '{}', wanted a single column with the header 'node' and the names of nodes below it.",
                    path.string(), list_some(reader.names())));
  }
  std::vector<int64_t> part_nodes;
  std::vector<std::string_view> cells;
  while (reader.next(cells)) {
    if (trim(cells[0]).empty()) continue;  // a blank line
    const int64_t node = nodes.find(cells[0], path, reader.line());
    taken.take(node, part, path, reader.line(), fmt::format("'{}'", cells[0]));
    part_nodes.push_back(node);
  }
  if (part_nodes.empty())
    throw UserError(fmt::format("{} names no node. Name some, or leave the file out to have nodes drawn.", path.string()));
  std::sort(part_nodes.begin(), part_nodes.end());
  return part_nodes;
}

// Parts without a file are drawn: from the nodes of the training file, or from the labelled nodes that are in no file.
void split_by_files(Graph& graph, const NodeNames& nodes, const DataOptions& options) {
  TakenNodes taken(graph.nodes);
  const std::array<std::string, 3> paths = {options.train, options.valid, options.test};
  const std::array<std::vector<int64_t>*, 3> parts = {&graph.train, &graph.valid, &graph.test};
  for (size_t i = 0; i < paths.size(); ++i) {
    if (!paths[i].empty()) *parts[i] = read_node_file(nodes, options, paths[i], static_cast<int>(i), taken);
  }
  if (!options.train.empty() && !options.valid.empty() && !options.test.empty()) return;
  const auto unknown = std::find_if(graph.train.begin(), graph.train.end(), [&](int64_t node) { return graph.labels[node] < 0; });
  if (unknown != graph.train.end()) {
    throw UserError(fmt::format("{} names node '{}', which has no label in {}. Add the label, or take the node out.",
                                options.train, graph.node_name(*unknown), options.labels));
  }
  std::vector<int64_t> pool = graph.train;
  for (int64_t node = 0; options.train.empty() && node < graph.nodes; ++node) {
    if (!taken.taken(node)) pool.push_back(node);
  }
  draw_split(graph, options.valid.empty() ? options.split.valid : -1, options.test.empty() ? options.split.test : -1,
             static_cast<uint64_t>(options.split.seed), &pool);
}

}  // namespace

std::vector<std::pair<std::string, fs::path>> own_graph_files(const DataOptions& options, bool labelled) {
  const std::array<std::pair<std::string, std::string>, 3> needed = {
      {{"edges", options.edges}, {"features", options.features}, {"labels", options.labels}}};
  std::vector<std::pair<std::string, fs::path>> files;
  for (const auto& [key, path] : needed) {
    if (path.empty() && key == "labels" && !labelled) continue;
    if (path.empty()) {
      throw UserError(
          fmt::format("data.source is 'graph', but data.{} is not set. Your own graph needs data.edges, data.features and, "
                      "unless graph.task is "
                      "links, data.labels.",
                      key));
    }
    files.emplace_back(key, path);
  }
  if (!options.train.empty()) files.emplace_back("train", options.train);
  if (!options.valid.empty()) files.emplace_back("valid", options.valid);
  if (!options.test.empty()) files.emplace_back("test", options.test);
  return files;
}

Graph read_own_graph(const DataOptions& options, bool undirected) {
  Graph graph;
  NodeNames nodes(options.features);
  graph.name = fs::path(options.edges).filename().string();
  read_attributes(graph, nodes, options);
  graph.node_names = nodes.names();
  if (options.labels.empty()) {
    leave_unlabelled(graph);
  } else {
    const LabelTable labels = read_label_table(nodes, options);
    set_labels(graph, labels, options.labels);
    if (labels.split >= 0) {
      split_by_labels(graph, labels, options);
    } else {
      split_by_files(graph, nodes, options);
    }
  }
  read_edges(graph, nodes, options, undirected);
  return graph;
}

}  // namespace l0gm
