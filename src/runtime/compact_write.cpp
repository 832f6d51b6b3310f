#include <fmt/format.h>

#include <deque>
#include <stdexcept>
#include <string>

#include "base/hash.h"
#include "l0gm/error.h"
#include "runtime/compact_file.h"
#include "runtime/manifest.h"

namespace l0gm {
namespace {

// Tensors and the memory that they point to.
class TensorWriter {
 public:
  void add(const std::string& name, DType type, std::vector<int64_t> shape, const void* bytes, size_t size) {
    tensors_.emplace(name, TensorBytes{type, std::move(shape), {static_cast<const char*>(bytes), size}});
  }

  void add(const std::string& name, const std::vector<int64_t>& integers, std::vector<int64_t> shape) {
    add(name, DType::i64, std::move(shape), integers.data(), integers.size() * sizeof(int64_t));
  }

  void add_rounded(const std::string& name, const Matrix& matrix, DType type) {
    const RoundedMatrix& rounded = rounded_.emplace_back(round_matrix(matrix, type));
    add(name, type, {matrix.rows, matrix.columns}, rounded.elements.data(), rounded.elements.size());
    check_finite(name, tensors_.at(name));
    if (type != DType::i8) return;
    add(name + ".scales", DType::f32, {matrix.rows}, rounded.scales.data(), rounded.scales.size() * sizeof(float));
    check_finite(name + ".scales", tensors_.at(name + ".scales"));
  }

  const std::map<std::string, TensorBytes>& tensors() const { return tensors_; }

 private:
  static void check_finite(const std::string& name, const TensorBytes& tensor) {
    if (all_finite(tensor.dtype, tensor.bytes)) return;
    throw UserError(
        fmt::format("the model cannot be written: '{}' has a number that is not finite as {}. Train it again (a smaller "
                    "learning rate, or clipping), or choose other weights",
                    name, name_of(tensor.dtype)));
  }

  std::deque<RoundedMatrix> rounded_;  // a deque: tensors keep pointing at what is inside
  std::map<std::string, TensorBytes> tensors_;
};

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
  TableNet<Matrix> arranged;
  arranged.columns = net.columns;
  arranged.statistic_slots = net.statistic_slots;
  arranged.arrange();
  must(arranged.units.size() == net.units.size(), "the net is not arranged");
  for (size_t u = 0; u < net.units.size(); ++u) must(arranged.units[u].dense == net.units[u].dense, "the net is not arranged");
}

void add_statistics(const Schema& schema, TensorWriter& writer) {
  for (size_t s = 0; s < schema.statistics.size(); ++s) {
    const Statistic& statistic = schema.statistics[s];
    const std::string name = fmt::format("statistic{}", s);
    const auto keys = static_cast<int64_t>(statistic.keys.size());
    writer.add(name + ".keys", statistic.keys, {keys});
    writer.add(name + ".counts", statistic.counts, {keys});
    writer.add(name + ".class_counts", statistic.class_counts, {keys, schema.tracked_classes()});
  }
}

nlohmann::json manifest_of(const CompactHeader& header, const TableNet<Matrix>& net, const std::string& digest) {
  return {{"format_version", compact_format_version},
          {"kind", "table"},
          {"weights", name_of_enum(header.weights)},
          {"schema", header.schema.to_json(false)},
          {"net", net_to_json(net, header.schema)},
          {"calibrator", header.calibrator.to_json()},
          {"delimiter", std::string(1, header.delimiter)},
          {"tensors_sha256", digest},
          {"about", header.about.is_null() ? nlohmann::json::object() : header.about}};
}

}  // namespace

int64_t write_compact(const std::filesystem::path& path, const CompactHeader& header, const TableNet<Matrix>& net) {
  check_derived(header.schema, net);
  TensorWriter writer;
  add_statistics(header.schema, writer);
  net.visit([&](const std::string& name, const Matrix& matrix, int64_t rows, int64_t columns, ArrayKind kind) {
    if (matrix.rows != rows || matrix.columns != columns) {
      throw std::logic_error(
          fmt::format("write_compact: '{}' is {} x {}, wanted {} x {}", name, matrix.rows, matrix.columns, rows, columns));
    }
    writer.add_rounded(name, matrix, dtype_of(kind, header.weights));
  });
  const std::string manifest = manifest_of(header, net, digest_of_tensors(writer.tensors())).dump();
  write_safetensors(path, writer.tensors(), {{"l0gm", manifest}, {"l0gm_sha256", sha256(manifest)}});
  return static_cast<int64_t>(std::filesystem::file_size(path));
}

}  // namespace l0gm
