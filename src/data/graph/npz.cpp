#include "data/graph/npz.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "base/log.h"
#include "base/text.h"
#include "data/graph/attribute_builder.h"
#include "data/graph/npy.h"
#include "data/graph/pickle.h"
#include "data/graph/zip.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

using Kind = PickleValue::Kind;

// A matrix as scipy stores it: rows may be unsorted and contain zeros and duplicate entries.
struct CsrMatrix {
  int64_t rows = 0, columns = 0;
  std::vector<int64_t> offsets, places;
  std::vector<float> values;
};

void check_csr(const CsrMatrix& matrix, const std::string& where) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  const auto entries = static_cast<int64_t>(matrix.places.size());
  if (matrix.rows < 0 || matrix.rows > most || matrix.columns < 0 || matrix.columns > most) {
    throw UserError(fmt::format("{} has the shape [{}, {}]; at most {} rows and columns can be read.", where, matrix.rows,
                                matrix.columns, most));
  }
  const bool fits = static_cast<int64_t>(matrix.offsets.size()) == matrix.rows + 1 && matrix.offsets.front() == 0 &&
                    matrix.offsets.back() == entries && static_cast<int64_t>(matrix.values.size()) == entries &&
                    std::is_sorted(matrix.offsets.begin(), matrix.offsets.end());
  if (!fits) {
    throw UserError(
        fmt::format("{}: shape [{}, {}], {} row limits, {} places and {} values do not make a CSR matrix. Write it anew.", where,
                    matrix.rows, matrix.columns, matrix.offsets.size(), entries, matrix.values.size()));
  }
  for (size_t i = 0; i < matrix.places.size(); ++i) {
    if (matrix.places[i] >= 0 && matrix.places[i] < matrix.columns) continue;
    const auto row =
        std::upper_bound(matrix.offsets.begin(), matrix.offsets.end(), static_cast<int64_t>(i)) - matrix.offsets.begin() - 1;
    throw UserError(fmt::format("{}: row {} has an entry in column {}, which does not exist: there are {}.", where, row,
                                matrix.places[i], matrix.columns));
  }
}

// One archive: its arrays by name, and the objects pickled in them.
class NpzFile {
 public:
  explicit NpzFile(const std::filesystem::path& path) : archive_(path), path_(path.string()) {}

  std::string where(const std::string& name) const { return fmt::format("'{}' in {}", name, path_); }
  bool has(const std::string& name) const { return archive_.has(name + ".npy"); }
  // Which of two spellings the archive has; the first where it has neither.
  std::string either(const std::string& name, const std::string& other) const { return !has(name) && has(other) ? other : name; }
  std::string label_name() const { return either("node_label", "labels"); }

  template <class Use>
  auto with_array(const std::string& name, const Use& use) const {
    const std::string bytes = archive_.read(name + ".npy");
    return use(read_npy(bytes, where(name)));
  }
  // The pickled object of an array: its only element where the array has no dimensions, else the array of objects.
  template <class Use>
  auto with_object(const std::string& name, const Use& use) const {
    return with_array(name, [&](const NumpyArray& array) {
      const Pickle pickle(array.bytes, where(name));
      const PickleValue& value = pickle.value();
      if (value.kind != Kind::array || value.array.type.kind != 'O' || value.items.empty()) damaged(name, name_of(value.kind));
      if (!value.array.shape.empty()) return use(value);
      if (value.objects().size() != 1) damaged(name, fmt::format("{} objects", value.objects().size()));
      return use(*value.objects()[0]);
    });
  }
  bool is_object(const std::string& name) const {
    return with_array(name, [](const NumpyArray& array) { return array.type.kind == 'O'; });
  }

  CsrMatrix matrix(const std::string& name, const std::string& prefix) const {
    CsrMatrix matrix = has(name) ? pickled_matrix(name) : plain_matrix(name, prefix);
    check_csr(matrix, where(has(name) ? name : prefix + "_…"));
    return matrix;
  }
  std::vector<int64_t> labels(const std::string& name) const {
    return with_array(name, [&](const NumpyArray& array) {
      if (array.shape.size() == 1) return whole_numbers(array, where(name));
      throw UserError(
          fmt::format("{} has {} dimensions, wanted one class number for each node.", where(name), array.shape.size()));
    });
  }
  // Texts in an array of their own, or under that name in `metadata`; empty where they are in neither.
  std::vector<std::string> names(const std::string& name) const {
    if (has(name)) {
      if (is_object(name)) return with_object(name, [&](const PickleValue& value) { return pickled_texts(value, name); });
      return with_array(name, [&](const NumpyArray& array) { return texts(array, where(name)); });
    }
    if (!has("metadata")) return {};
    return with_object("metadata", [&](const PickleValue& value) {
      const PickleValue* entry = value.entry(name);
      return entry == nullptr ? std::vector<std::string>() : pickled_texts(*entry, name);
    });
  }

 private:
  [[noreturn]] void damaged(const std::string& name, std::string_view found) const {
    throw UserError(
        fmt::format("{} holds {}, which is not what a graph has there. Write it anew with numpy and scipy.", where(name), found));
  }
  const NumpyArray& part(const PickleValue& matrix, const std::string& key, const std::string& name) const {
    const PickleValue* value = matrix.entry(key);
    if (value != nullptr && value->kind == Kind::array && value->array.type.kind != 'O') return value->array;
    throw UserError(fmt::format("{} is a matrix without '{}'. Write it anew with scipy.", where(name), key));
  }
  CsrMatrix pickled_matrix(const std::string& name) const {
    return with_object(name, [&](const PickleValue& value) {
      const PickleValue* shape = value.entry("_shape");
      const bool right = value.kind == Kind::matrix && shape != nullptr && shape->kind == Kind::tuple &&
                         shape->items.size() == 2 && shape->items[0]->kind == Kind::integer &&
                         shape->items[1]->kind == Kind::integer;
      if (!right) damaged(name, fmt::format("{} where a CSR matrix was wanted", name_of(value.kind)));
      return CsrMatrix{.rows = shape->items[0]->integer,
                       .columns = shape->items[1]->integer,
                       .offsets = whole_numbers(part(value, "indptr", name), where(name)),
                       .places = whole_numbers(part(value, "indices", name), where(name)),
                       .values = real_numbers(part(value, "data", name), where(name))};
    });
  }
  CsrMatrix plain_matrix(const std::string& name, const std::string& prefix) const {
    if (!has(prefix + "_indptr")) {
      throw UserError(fmt::format("{} has neither '{}' nor '{}_data', '{}_indices', '{}_indptr', '{}_shape'; it has: {}.", path_,
                                  name, prefix, prefix, prefix, prefix, list_some(archive_.names())));
    }
    const auto whole = [&](const std::string& part) {
      return with_array(prefix + part, [&](const NumpyArray& array) { return whole_numbers(array, where(prefix + part)); });
    };
    const std::vector<int64_t> shape = whole("_shape");
    if (shape.size() != 2) throw UserError(fmt::format("{} has {} numbers, wanted 2.", where(prefix + "_shape"), shape.size()));
    return {.rows = shape[0],
            .columns = shape[1],
            .offsets = whole("_indptr"),
            .places = whole("_indices"),
            .values = with_array(prefix + "_data",
                                 [&](const NumpyArray& array) { return real_numbers(array, where(prefix + "_data")); })};
  }
  std::vector<std::string> pickled_texts(const PickleValue& value, const std::string& name) const {
    if (value.kind == Kind::array && value.array.type.kind != 'O') return texts(value.array, where(name));
    if (value.kind == Kind::array && value.items.empty()) damaged(name, "an array without content");
    if (value.kind != Kind::array && value.kind != Kind::list) damaged(name, name_of(value.kind));
    std::vector<std::string> list;
    const uint64_t most = archive_.unpacked_bytes() + npz_repeated_text;
    uint64_t bytes = 0;
    for (const PickleValue* item : value.kind == Kind::array ? value.objects() : value.items) {
      if (item->kind != Kind::text) damaged(name, fmt::format("{} where text was wanted", name_of(item->kind)));
      bytes += item->text.size();
      if (bytes > most) {
        throw UserError(fmt::format("{} repeats texts to more than {} bytes, which no names of a graph need. Write it anew.",
                                    where(name), with_thousands(static_cast<int64_t>(most))));
      }
      list.emplace_back(item->text);
    }
    return list;
  }

  ZipArchive archive_;
  std::string path_;
};

void read_edges(Graph& graph, const NpzFile& file, bool undirected) {
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
  const std::string name = file.either("node_attr", "attr_matrix");
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

}  // namespace

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
