#include "data/graph/npz.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>

#include "base/log.h"
#include "base/text.h"
#include "data/graph/attribute_builder.h"
#include "data/graph/npz_file.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

const std::vector<std::string> attribute_names = {"node_attr", "attr_matrix", "node_features", "features"};
constexpr std::array<std::array<std::string_view, 4>, 3> mask_names = {
    {{"train_masks", "train_mask", "train_masks", "train_mask"},
     {"val_masks", "val_mask", "valid_masks", "valid_mask"},
     {"test_masks", "test_mask", "test_masks", "test_mask"}}};

// An edge in each row, from and to, or in each column. numpy stores the one as the other's transpose.
void read_edge_list(Graph& graph, const NpzFile& file, const std::string& name, bool undirected) {
  file.with_array(name, [&](NumpyArray array) {
    if (array.fortran) std::reverse(array.shape.begin(), array.shape.end());
    array.fortran = false;
    const bool pairs = array.shape.size() == 2 && array.shape[1] == 2;
    if (!pairs && (array.shape.size() != 2 || array.shape[0] != 2)) {
      throw UserError(
          fmt::format("{} has the shape [{}], wanted [edges, 2] or [2, edges].", file.where(name), fmt::join(array.shape, ", ")));
    }
    const std::vector<int64_t> numbers = whole_numbers(array, file.where(name));
    const size_t count = numbers.size() / 2, step = pairs ? 2 : 1, to = pairs ? 1 : count;
    EdgeList edges;
    for (size_t i = 0; i < count; ++i) {
      for (const size_t place : {i * step, i * step + to}) {
        if (numbers[place] >= 0 && numbers[place] < graph.nodes) continue;
        throw UserError(fmt::format("{}: edge {} names node {}, which does not exist: attributes are of nodes 0 to {}.",
                                    file.where(name), i, numbers[place], graph.nodes - 1));
      }
      edges.from.push_back(static_cast<int32_t>(numbers[i * step]));
      edges.to.push_back(static_cast<int32_t>(numbers[i * step + to]));
    }
    build_adjacency(graph, std::move(edges), undirected);
  });
}

// How many nodes an archive with a list of edges has: as many as rows of attributes.
int64_t nodes_of_attributes(const NpzFile& file, const std::string& name) {
  if (!file.has(name) || file.is_object(name)) return file.matrix(name, "attr").rows;
  return file.with_array(name, [&](const NumpyArray& array) { return array.shape.empty() ? int64_t{0} : array.shape[0]; });
}

void read_edges(Graph& graph, const NpzFile& file, bool undirected) {
  const std::string list = file.any_of({"edges", "edge_index"});
  if (file.has(list) && !file.has("adj_matrix") && !file.has("adj_indptr")) {
    graph.nodes = nodes_of_attributes(file, file.any_of(attribute_names));
    if (graph.nodes > std::numeric_limits<int32_t>::max())
      throw UserError(
          fmt::format("{} has {} nodes; at most {} can be read.", graph.name, graph.nodes, std::numeric_limits<int32_t>::max()));
    return read_edge_list(graph, file, list, undirected);
  }
  const CsrMatrix matrix = file.matrix("adj_matrix", "adj");
  if (matrix.rows != matrix.columns) {
    throw UserError(fmt::format("{} has {} rows and {} columns; an adjacency has as many of both as there are nodes.",
                                file.where("adj_matrix"), matrix.rows, matrix.columns));
  }
  graph.nodes = matrix.rows;
  if (std::any_of(matrix.values.begin(), matrix.values.end(), [](float value) { return value != 0 && value != 1; })) {
    log_warning(
        fmt::format("{}: weights of edges are not read, every entry that is not 0 counts as 1", file.where("adj_matrix")));
  }
  EdgeList edges;
  for (int64_t row = 0; row < matrix.rows; ++row) {
    for (int64_t i = matrix.offsets[static_cast<size_t>(row)]; i < matrix.offsets[static_cast<size_t>(row) + 1]; ++i) {
      if (matrix.values[static_cast<size_t>(i)] == 0) continue;
      edges.from.push_back(static_cast<int32_t>(row));
      edges.to.push_back(static_cast<int32_t>(matrix.places[static_cast<size_t>(i)]));
    }
  }
  build_adjacency(graph, std::move(edges), undirected);
}

// Rows sorted, zeros dropped, duplicate entries summed (their meaning in scipy). Stays sparse even if most values are not zero.
SparseRows canonical_rows(const CsrMatrix& matrix) {
  std::vector<int64_t> offsets = {0}, order;
  std::vector<int32_t> columns;
  std::vector<float> values;
  for (size_t row = 0; row < static_cast<size_t>(matrix.rows); ++row) {
    order.resize(static_cast<size_t>(matrix.offsets[row + 1] - matrix.offsets[row]));
    std::iota(order.begin(), order.end(), matrix.offsets[row]);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return matrix.places[static_cast<size_t>(a)] < matrix.places[static_cast<size_t>(b)];
    });
    for (size_t i = 0; i < order.size();) {
      const int64_t column = matrix.places[static_cast<size_t>(order[i])];
      float sum = 0;
      for (; i < order.size() && matrix.places[static_cast<size_t>(order[i])] == column; ++i)
        sum += matrix.values[static_cast<size_t>(order[i])];
      if (sum == 0) continue;
      columns.push_back(static_cast<int32_t>(column));
      values.push_back(sum);
    }
    offsets.push_back(static_cast<int64_t>(columns.size()));
  }
  return {std::move(offsets), std::move(columns), std::move(values)};
}

void check_attribute_rows(const Graph& graph, int64_t rows, const std::string& where) {
  if (rows == graph.nodes) return;
  throw UserError(fmt::format("{} has {} rows, but the adjacency has {} nodes. Give one row of attributes for each node.", where,
                              rows, graph.nodes));
}

void read_attributes(Graph& graph, const NpzFile& file) {
  const std::string name = file.any_of(attribute_names);
  if (file.has(name) && !file.is_object(name)) {
    file.with_array(name, [&](const NumpyArray& array) {
      if (array.shape.size() != 2) {
        throw UserError(fmt::format("{} has {} dimensions, wanted [nodes, attributes].", file.where(name), array.shape.size()));
      }
      check_attribute_rows(graph, array.shape[0], file.where(name));
      set_attributes(graph, real_numbers(array, file.where(name)), array.shape[1]);
    });
  } else {
    const CsrMatrix matrix = file.matrix(name, "attr");
    check_attribute_rows(graph, matrix.rows, file.where(name));
    if (matrix.columns > std::max(npz_free_columns, static_cast<int64_t>(matrix.places.size()))) {
      throw UserError(
          fmt::format("{} has {} columns and {} entries: more than {} columns are read only where there are at least "
                      "as many entries. Leave out columns without entries.",
                      file.where(name), with_thousands(matrix.columns),
                      with_thousands(static_cast<int64_t>(matrix.places.size())), with_thousands(npz_free_columns)));
    }
    graph.attributes = matrix.columns;
    graph.sparse = canonical_rows(matrix);
  }
  graph.attribute_names = file.names("attr_names");
}

void read_labels(Graph& graph, const NpzFile& file) {
  constexpr int64_t most_classes = 65536;
  const std::string name = file.label_name();
  const std::vector<int64_t> labels = file.labels(name);
  if (static_cast<int64_t>(labels.size()) != graph.nodes) {
    throw UserError(
        fmt::format("{} has {} labels, but the adjacency has {} nodes. Give one for each node, -1 where it is not known.",
                    file.where(name), labels.size(), graph.nodes));
  }
  graph.classes = file.names("class_names");
  const int64_t largest = labels.empty() ? -1 : *std::max_element(labels.begin(), labels.end());
  const int64_t limit = graph.classes.empty() ? most_classes : static_cast<int64_t>(graph.classes.size());
  for (size_t node = 0; node < labels.size(); ++node) {
    if (labels[node] >= -1 && labels[node] < limit) continue;
    throw UserError(fmt::format("{}: the label of node {} is {}, wanted 0 to {}, or -1 where it is not known.", file.where(name),
                                node, labels[node], limit - 1));
  }
  for (int64_t i = static_cast<int64_t>(graph.classes.size()); i <= largest; ++i) graph.classes.push_back(std::to_string(i));
  graph.labels = std::vector<int32_t>(labels.begin(), labels.end());
}

// One of the three masks: its shape says whether a split is a row or a column of it.
struct Mask {
  std::vector<float> values;
  int64_t splits = 1;
  bool by_node = false;  // [nodes, splits]
  bool holds(int64_t node, int64_t split, int64_t nodes) const {
    return values[static_cast<size_t>(by_node ? node * splits + split : split * nodes + node)] != 0;
  }
};

std::string mask_name(const NpzFile& file, size_t part) {
  return file.any_of(std::vector<std::string>(mask_names[part].begin(), mask_names[part].end()));
}

Mask read_mask(const NpzFile& file, size_t part, int64_t nodes) {
  const std::string name = mask_name(file, part);
  return file.with_array(name, [&](const NumpyArray& array) {
    const auto& shape = array.shape;
    Mask mask{real_numbers(array, file.where(name))};
    if (shape.size() == 2 && (shape[0] == nodes || shape[1] == nodes)) {
      mask.by_node = shape[0] == nodes;
      mask.splits = shape[mask.by_node ? 1 : 0];
    } else if (shape.size() != 1 || shape[0] != nodes) {
      throw UserError(fmt::format("{} has the shape [{}], wanted [{}] or a row or column for each split.", file.where(name),
                                  fmt::join(shape, ", "), nodes));
    }
    return mask;
  });
}

}  // namespace

bool npz_has_masks(const std::filesystem::path& path) {
  const NpzFile file(path);
  return file.has(mask_name(file, 0)) && file.has(mask_name(file, 1)) && file.has(mask_name(file, 2));
}

void read_npz_split(Graph& graph, const std::filesystem::path& path, const std::string& protocol) {
  const NpzFile file(path);
  std::vector<Mask> masks;
  for (size_t part = 0; part < 3; ++part) masks.push_back(read_mask(file, part, graph.nodes));
  const int64_t splits = masks[0].splits;
  if (masks[1].splits != splits || masks[2].splits != splits) {
    throw UserError(fmt::format("{}: its masks hold {}, {} and {} splits, wanted as many in each.", path.string(), splits,
                                masks[1].splits, masks[2].splits));
  }
  const std::optional<int64_t> split = protocol.empty() ? std::optional<int64_t>(0) : parse_integer(protocol);
  if (!split || *split < 0 || *split >= splits) {
    throw UserError(fmt::format("data.protocol is '{}', and {} holds the splits 0 to {}: set it to one of them.", protocol,
                                path.string(), splits - 1));
  }
  if (protocol.empty() && splits > 1) {
    log_info(fmt::format("{} holds {} splits: the first is taken; data.protocol picks another (0 to {})", graph.name, splits,
                         splits - 1));
  }
  const std::array<std::vector<int64_t>*, 3> parts = {&graph.train, &graph.valid, &graph.test};
  for (int64_t node = 0; node < graph.nodes; ++node) {
    int found = -1;
    for (size_t part = 0; part < 3; ++part) {
      if (!masks[part].holds(node, *split, graph.nodes)) continue;
      if (found >= 0) throw UserError(fmt::format("{}: node {} is in two parts of split {}.", path.string(), node, *split));
      found = static_cast<int>(part);
      if (graph.labels[node] >= 0) parts[part]->push_back(node);
    }
  }
  if (graph.train.empty()) throw UserError(fmt::format("{}: split {} has no training node.", path.string(), *split));
}

bool npz_has_labels(const std::filesystem::path& path) {
  const NpzFile file(path);
  return file.has(file.label_name());
}

Graph read_npz(const std::filesystem::path& path, bool undirected, bool labelled) {
  const NpzFile file(path);
  Graph graph;
  graph.name = path.filename().string();
  read_edges(graph, file, undirected);
  read_attributes(graph, file);
  if (labelled) {
    read_labels(graph, file);
  } else {
    leave_unlabelled(graph);
  }
  graph.node_names = file.names("node_names");
  return graph;
}

}  // namespace l0gm
