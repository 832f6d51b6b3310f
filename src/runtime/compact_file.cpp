#include "runtime/compact_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>
#include <utility>

#include "base/files.h"
#include "base/hash.h"
#include "base/json_checks.h"
#include "encode/table/cell_text.h"
#include "l0gm/error.h"
#include "runtime/manifest.h"

static_assert(std::endian::native == std::endian::little, "tensors are copied as they stand in the file, which is little-endian");

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
    std::vector<int64_t> values(tensor.bytes.size() / sizeof(int64_t));
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

json checked_manifest(const std::map<std::string, std::string>& metadata, const std::string& text) {
  const auto at = [&metadata](const char* key) {
    const auto found = metadata.find(key);
    return found == metadata.end() ? std::string() : found->second;
  };
  if (at("l0gm_sha256") != sha256(text)) refuse("the manifest does not match the SHA-256 beside it: it is damaged");
  json manifest = parse_manifest(text);
  const int64_t found_version = json_checks::count(manifest, "manifest", "format_version", 1);
  if (found_version > compact_format_version) {
    refuse(fmt::format(
        "it is of format version {}, this program reads versions up to {}: use a newer l0gm, or compact the run with this one",
        found_version, compact_format_version));
  }
  const std::string kind = json_checks::text(manifest, "manifest", "kind");
  if (kind == "graph") {
    refuse(
        "this is a graph model: `l0gm predict` serves it, with LibTorch. For look-ups of known nodes make a file with `l0gm "
        "compact RUN -o FILE --nodes all`");
  }
  if (kind != "table") refuse(fmt::format("it is a model of kind '{}', this program serves 'table'", kind));
  for (const auto& [key, value] : metadata) {
    if (key != "l0gm" && key != "l0gm_sha256" && key != "sha256") refuse(fmt::format("the metadata has an unknown '{}'", key));
  }
  // SafetensorsFile compared the tensors with metadata["sha256"], where it is present.
  const std::string digest = json_checks::text(manifest, "manifest", "tensors_sha256");
  if (at("sha256").empty()) refuse("the metadata has no SHA-256 of the tensors");
  if (at("sha256") != digest) refuse("the manifest names another SHA-256 of the tensors than the metadata");
  refuse_other_keys(manifest, "manifest",
                    {"format_version", "kind", "weights", "schema", "net", "calibrator", "delimiter", "tensors_sha256", "about"});
  return manifest;
}

Schema read_schema(const json& stored, TensorReader& tensors) {
  std::vector<Statistic> arrays(json_checks::array(stored, "top level", "statistics").size());
  for (size_t s = 0; s < arrays.size(); ++s) {
    const std::string name = fmt::format("statistic{}", s);
    arrays[s].keys = tensors.integers(name + ".keys", 1);
    arrays[s].counts = tensors.integers(name + ".counts", 1);
    arrays[s].class_counts = tensors.integers(name + ".class_counts", 2);
  }
  Schema schema = Schema::from_json(stored, &arrays);
  refuse_unknown_keys(stored, schema.to_json(false), "schema");
  return schema;
}

// What encoding a schema takes must be in proportion to what was sent, however the parts of the schema multiply.
void check_costs(const Schema& schema) {
  if (schema.code_slots() > limits::slots)
    refuse(fmt::format("a row has {} codes, {} are allowed", schema.code_slots(), limits::slots));
  int64_t bits = 0;  // which codes of its fields a statistic has seen
  for (const Statistic& statistic : schema.statistics) {
    for (const int64_t field : {statistic.first, statistic.second})
      bits += field < 0 ? 0 : schema.fields[static_cast<size_t>(field)].rows();
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

CompactHeader read_header(const json& manifest, Schema schema) {
  CompactHeader header;
  header.schema = std::move(schema);
  header.weights = json_checks::enumerator<WeightType>(manifest, "manifest", "weights");
  const json& calibrator = json_checks::member(manifest, "manifest", "calibrator");
  header.calibrator = Calibrator::from_json(calibrator);
  refuse_unknown_keys(calibrator, header.calibrator.to_json(), "calibrator");
  const size_t classes = header.schema.classes.size(), curves = header.calibrator.curves.size();
  if (header.calibrator.kind == CalibratorKind::isotonic && curves != (classes == 2 ? 1 : classes)) {
    refuse(fmt::format("its calibrator has {} curves for {} classes", curves, classes));
  }
  const std::string delimiter = json_checks::text(manifest, "manifest", "delimiter");
  if (delimiter.size() != 1 || !can_separate(delimiter[0]))
    refuse("'delimiter' must be one ASCII character, no quote and no line end");
  header.delimiter = delimiter[0];
  header.about = json_checks::member(manifest, "manifest", "about");
  if (!header.about.is_object()) refuse("'about' must be an object");
  return header;
}

CompactFile read(const SafetensorsFile& file, const std::string& manifest_text) {
  const json manifest = checked_manifest(file.metadata(), manifest_text);
  TensorReader tensors(file.tensors());
  CompactFile result;
  result.manifest = manifest_text;
  Schema schema = read_schema(json_checks::member(manifest, "manifest", "schema"), tensors);
  check_costs(schema);
  result.header = read_header(manifest, std::move(schema));
  result.net = net_from_json(json_checks::member(manifest, "manifest", "net"), result.header.schema, file.tensors());
  const WeightType weights = result.header.weights;
  result.net.visit([&](const std::string& name, PackedRows& rows, int64_t count, int64_t columns, ArrayKind kind) {
    rows = tensors.rows(name, count, columns, dtype_of(kind, weights));
  });
  tensors.refuse_others();
  return result;
}

}  // namespace

std::string fit_for_a_message(std::string text) {
  constexpr size_t longest = 600;
  if (text.size() > longest) {
    size_t end = longest;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    text = text.substr(0, end) + "…";
  }
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; }, '?');
  return text;
}

bool all_finite(DType type, std::span<const char> bytes) {
  const auto none_beyond = [bytes]<class Bits>(Bits exponent) {  // an exponent of ones: infinite or not a number
    bool sound = true;
    for (size_t at = 0; at + sizeof(Bits) <= bytes.size(); at += sizeof(Bits)) {
      Bits bits = 0;
      std::memcpy(&bits, bytes.data() + at, sizeof bits);
      sound = sound && (bits & exponent) != exponent;
    }
    return sound;
  };
  if (type == DType::f64) return none_beyond(uint64_t{0x7FF0000000000000});
  if (type == DType::f32) return none_beyond(uint32_t{0x7F800000});
  if (type == DType::bf16) return none_beyond(uint16_t{0x7F80});
  return true;
}

CompactFile read_compact(std::string bytes, const std::string& name) {
  const SafetensorsFile file = SafetensorsFile::from_bytes(std::move(bytes), name);
  const auto manifest = file.metadata().find("l0gm");
  if (manifest == file.metadata().end()) {
    throw UserError(fmt::format("'{}' is no compact model; `l0gm compact RUN -o MODEL.l0gm` makes one of a run", name));
  }
  try {
    return read(file, manifest->second);
  } catch (const UserError& error) {
    throw UserError(fmt::format("'{}' cannot be used as a compact model: {}", name, fit_for_a_message(error.what())));
  }
}

// Read and not mapped: a file that shrinks under a map would end the process.
CompactFile read_compact(const std::filesystem::path& path) { return read_compact(read_file(path), path.string()); }

}  // namespace l0gm
