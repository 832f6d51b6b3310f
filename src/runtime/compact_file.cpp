#include "runtime/compact_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <set>
#include <stdexcept>
#include <utility>

#include "base/json_checks.h"
#include "encode/table/cell_text.h"
#include "l0gm/error.h"
#include "runtime/manifest.h"
#include "runtime/manifest_net.h"

namespace l0gm {
namespace {

using nlohmann::json;
using Tensors = std::map<std::string, TensorBytes>;

[[noreturn]] void refuse(const std::string& what) { throw UserError(what); }

// Takes tensors out of a file by name, checks them and remembers which ones were asked for.
class TensorReader {
 public:
  explicit TensorReader(const Tensors& tensors) : tensors_(tensors) {}

  const TensorBytes& take(const std::string& name, DType type) {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) refuse(fmt::format("tensor '{}' is absent", name));
    if (found->second.dtype != type) {
      refuse(fmt::format("tensor '{}' is of type {}, wanted {}", name, name_of(found->second.dtype), name_of(type)));
    }
    used_.insert(name);
    return found->second;
  }

  const TensorBytes& take(const std::string& name, DType type, const std::vector<int64_t>& shape) {
    const TensorBytes& tensor = take(name, type);
    if (tensor.shape == shape) return tensor;
    refuse(
        fmt::format("tensor '{}' has the shape [{}], wanted [{}]", name, fmt::join(tensor.shape, ", "), fmt::join(shape, ", ")));
  }

  PackedRows rows(const std::string& name, int64_t rows, int64_t columns, DType type) {
    const TensorBytes& tensor = take(name, type, {rows, columns});
    if (!all_finite(type, tensor.bytes)) refuse(fmt::format("tensor '{}' holds a number that is not finite", name));
    std::vector<float> scales;
    if (type == DType::i8) {
      const TensorBytes& stored = take(name + ".scales", DType::f32, {rows});
      scales.resize(static_cast<size_t>(rows));
      if (!scales.empty()) std::memcpy(scales.data(), stored.bytes.data(), stored.bytes.size());
      const bool sound =
          all_finite(DType::f32, stored.bytes) && std::all_of(scales.begin(), scales.end(), [](float s) { return s > 0; });
      if (!sound) refuse(fmt::format("tensor '{}.scales' holds a scale that is not a finite number above 0", name));
    }
    return PackedRows(rows, columns, type, tensor.bytes.data(), std::move(scales));
  }

  std::vector<int64_t> integers(const std::string& name, size_t dimensions) {
    const TensorBytes& tensor = take(name, DType::i64);
    if (tensor.shape.size() != dimensions) {
      refuse(fmt::format("tensor '{}' has {} dimensions, wanted {}", name, tensor.shape.size(), dimensions));
    }
    return numbers<int64_t>(name, DType::i64);
  }

  template <class Number>
  std::vector<Number> numbers(const std::string& name, DType type) {
    const TensorBytes& tensor = take(name, type);
    std::vector<Number> values(tensor.bytes.size() / sizeof(Number));
    if (!values.empty()) std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
    return values;
  }

  void refuse_others() const {
    for (const auto& [name, tensor] : tensors_) {
      if (!used_.contains(name)) refuse(fmt::format("nothing reads its tensor '{}'", name));
    }
  }

 private:
  const Tensors& tensors_;
  std::set<std::string> used_;
};

struct TreeShapes {
  std::vector<int64_t> start, splits, leaves;
};
TreeShapes shapes_of(const TreeScores& trees) {
  const int64_t count = trees.trees();
  return {{trees.outputs}, {count, trees.depth, 2}, {count, int64_t{1} << trees.depth, trees.outputs}};
}

// How many numbers there are is checked with the schema; the same number in another shape means something else.
void check_tree_shapes(const TreeScores& trees, TensorReader& tensors) {
  const TreeShapes shapes = shapes_of(trees);
  tensors.take("trees.start", DType::f32, shapes.start);
  tensors.take("trees.splits", DType::i32, shapes.splits);
  tensors.take("trees.leaves", DType::f32, shapes.leaves);
}

Schema read_schema(const json& stored, TensorReader& tensors) {
  std::vector<Statistic> arrays(json_checks::array(stored, "top level", "statistics").size());
  for (size_t s = 0; s < arrays.size(); ++s) {
    const std::string name = fmt::format("statistic{}", s);
    arrays[s].keys = tensors.integers(name + ".keys", 1);
    arrays[s].counts = tensors.integers(name + ".counts", 1);
    arrays[s].class_counts = tensors.integers(name + ".class_counts", 2);
  }
  TreeScores trees;
  if (stored.contains("trees")) {
    trees.start = tensors.numbers<float>("trees.start", DType::f32);
    trees.splits = tensors.numbers<int32_t>("trees.splits", DType::i32);
    trees.leaves = tensors.numbers<float>("trees.leaves", DType::f32);
  }
  Schema schema = Schema::from_json(stored, &arrays, &trees);
  refuse_unknown_keys(stored, schema.to_json(false), "schema");
  if (!schema.trees.empty()) check_tree_shapes(schema.trees, tensors);
  return schema;
}

// What encoding a schema takes must be in proportion to what was sent, however the parts of the schema multiply.
void check_costs(const Schema& schema) {
  if (schema.code_slots() > limits::slots)
    refuse(fmt::format("a row has {} codes, {} are allowed", schema.code_slots(), limits::slots));
  int64_t bits = 0;  // which codes of its fields a statistic has seen
  for (const Statistic& statistic : schema.statistics) {
    for (const KeyPart& part : {statistic.first, statistic.second}) bits += part.empty() ? 0 : schema.rows_of(part);
    if (bits / 8 > limits::encoder_bytes) refuse("its statistics have keys of more codes than is allowed");
  }
  std::set<std::pair<int64_t, int64_t>> seen;
  for (const Field& field : schema.fields) {
    if (field.kind == FieldKind::statistic && !seen.emplace(field.statistic, field.of_class).second) {
      refuse(fmt::format("field '{}' says the same as another", field.name));
    }
  }
  size_t marks = 0;  // every column keeps a copy
  for (const std::string& mark : schema.missing_marks) marks += mark.size() + sizeof mark;
  if (!schema.columns.empty() && marks > static_cast<size_t>(limits::encoder_bytes) / schema.columns.size()) {
    refuse("it has more missing marks than is allowed");
  }
}

CompactFile read(const Container& container) {
  if (container.kind() != "table") {
    refuse(
        fmt::format("it is a model of kind '{}', which needs LibTorch: `l0gm predict` serves it. This program serves 'table'; "
                    "`l0gm compact --help` says how to make look-ups of known rows",
                    container.kind()));
  }
  const json& manifest = container.manifest();
  TensorReader tensors(container.tensors());
  CompactFile result;
  result.manifest = container.manifest_text();
  CompactHeader& header = result.header;
  header.schema = read_schema(json_checks::member(manifest, "manifest", "schema"), tensors);
  check_costs(header.schema);
  ContainerFacts facts = container.facts(header.schema.classes.size(), {"schema", "net", "delimiter"});
  header.weights = json_checks::enumerator<WeightType>(manifest, "manifest", "weights");
  header.calibrator = std::move(facts.calibrator);
  header.about = std::move(facts.about);
  const std::string delimiter = json_checks::text(manifest, "manifest", "delimiter");
  if (delimiter.size() != 1 || !can_separate(delimiter[0]))
    refuse("'delimiter' must be one ASCII character, no quote and no line end");
  header.delimiter = delimiter[0];
  result.net = net_from_json(json_checks::member(manifest, "manifest", "net"), header.schema, container.tensors());
  result.net.visit([&](const std::string& name, PackedRows& rows, int64_t count, int64_t columns, ArrayKind kind) {
    rows = tensors.rows(name, count, columns, dtype_of(kind, header.weights));
  });
  tensors.refuse_others();
  return result;
}

}  // namespace

CompactFile read_compact(const Container& container) {
  return container.explain([&] { return read(container); });
}

CompactFile read_compact(std::string bytes, const std::string& name) {
  return read_compact(Container::parse(std::move(bytes), name));
}

CompactFile read_compact(const std::filesystem::path& path) { return read_compact(Container::read(path)); }

namespace {

// The reader works these out by itself, so they must be what it will find.
void check_derived(const Schema& schema, const TableNet<Matrix>& net) {
  const auto must = [](bool holds, const char* what) {
    if (!holds) throw std::logic_error(std::string("write_compact: ") + what);
  };
  const auto classes = static_cast<int64_t>(schema.classes.size());
  must(net.outputs == (classes == 2 ? 1 : classes), "outputs do not fit the classes");
  must(are_statistic_slots(net.statistic_slots, schema), "statistic slots are not those of the schema");
  const std::vector<NetColumn> derived = columns_of(schema);
  must(derived.size() == net.columns.size(), "columns are not those of the schema");
  for (size_t c = 0; c < derived.size(); ++c) {
    const NetColumn &a = derived[c], &b = net.columns[c];
    must(a.kind == b.kind && a.column == b.column && a.code_slot == b.code_slot && a.value_slot == b.value_slot &&
             a.slots == b.slots && a.codes == b.codes && a.bins == b.bins && a.known == b.known,
         "a column is not that of the schema");
  }
  must(!net.shared || net.hidden > 0, "a batch ensemble has no layer to share");
  TableNet<Matrix> arranged;
  arranged.shared = net.shared;
  arranged.columns = net.columns;
  arranged.statistic_slots = net.statistic_slots;
  arranged.arrange();
  must(arranged.units.size() == net.units.size(), "the net is not arranged");
  for (size_t u = 0; u < net.units.size(); ++u) must(arranged.units[u].dense == net.units[u].dense, "the net is not arranged");
}

void add_statistics(const Schema& schema, ContainerWriter& writer) {
  for (size_t s = 0; s < schema.statistics.size(); ++s) {
    const Statistic& statistic = schema.statistics[s];
    const std::string name = fmt::format("statistic{}", s);
    const auto keys = static_cast<int64_t>(statistic.keys.size());
    writer.add(name + ".keys", statistic.keys, {keys});
    writer.add(name + ".counts", statistic.counts, {keys});
    writer.add(name + ".class_counts", statistic.class_counts, {keys, schema.tracked_classes()});
  }
}

void add_trees(const TreeScores& trees, ContainerWriter& writer) {
  if (trees.empty()) return;
  const TreeShapes shapes = shapes_of(trees);
  const auto add = [&]<class Number>(const char* name, DType type, const std::vector<int64_t>& shape,
                                     const std::vector<Number>& values) {
    writer.add(name, type, shape, values.data(), values.size() * sizeof(Number));
  };
  add("trees.start", DType::f32, shapes.start, trees.start);
  add("trees.splits", DType::i32, shapes.splits, trees.splits);
  add("trees.leaves", DType::f32, shapes.leaves, trees.leaves);
}

void add_rounded(const std::string& name, const Matrix& matrix, DType type, const RoundedMatrix& rounded,
                 ContainerWriter& writer) {
  writer.add(name, type, {matrix.rows, matrix.columns}, rounded.elements.data(), rounded.elements.size());
  if (type != DType::i8) return;
  writer.add(name + ".scales", DType::f32, {matrix.rows}, rounded.scales.data(), rounded.scales.size() * sizeof(float));
}

}  // namespace

int64_t write_compact(const std::filesystem::path& path, const CompactHeader& header, const TableNet<Matrix>& net) {
  check_derived(header.schema, net);
  ContainerWriter writer("table");
  add_statistics(header.schema, writer);
  add_trees(header.schema.trees, writer);
  std::deque<RoundedMatrix> rounded;  // a deque: the writer keeps pointing at what is inside
  net.visit([&](const std::string& name, const Matrix& matrix, int64_t rows, int64_t columns, ArrayKind kind) {
    if (matrix.rows != rows || matrix.columns != columns) {
      throw std::logic_error(
          fmt::format("write_compact: '{}' is {} x {}, wanted {} x {}", name, matrix.rows, matrix.columns, rows, columns));
    }
    const DType type = dtype_of(kind, header.weights);
    add_rounded(name, matrix, type, rounded.emplace_back(round_matrix(matrix, type)), writer);
  });
  writer.set("schema", header.schema.to_json(false));
  writer.set("net", net_to_json(net, header.schema));
  writer.set("delimiter", std::string(1, header.delimiter));
  return writer.write(path, {std::string(name_of_enum(header.weights)), header.calibrator, header.about});
}

}  // namespace l0gm
