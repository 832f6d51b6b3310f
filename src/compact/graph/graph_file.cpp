#include "compact/graph/graph_file.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <fstream>

#include "base/hash.h"
#include "base/json_checks.h"
#include "base/safetensors.h"
#include "base/safetensors_header.h"
#include "l0gm/error.h"
#include "runtime/compact_file.h"
#include "runtime/manifest.h"
#include "training/average.h"

namespace l0gm {

namespace {

using nlohmann::json;

const std::string& metadata_at(const SafetensorsFile& file, const char* key) {
  static const std::string none;
  const auto found = file.metadata().find(key);
  return found == file.metadata().end() ? none : found->second;
}

// What a model is made of but for its gates, which narrowing took out.
TensorMap weights_of(const Model& model) {
  TensorMap weights = named(model);
  std::erase_if(weights, [](const auto& item) { return is_gate_parameter(item.first); });
  return weights;
}

json checked_manifest(const SafetensorsFile& file) {
  const std::string& text = metadata_at(file, "l0gm");
  if (metadata_at(file, "l0gm_sha256") != sha256(text))
    throw UserError("the manifest does not match the SHA-256 beside it: it is damaged");
  json manifest = parse_manifest(text);
  const int64_t version = json_checks::count(manifest, "manifest", "format_version", 1);
  if (version > compact_format_version) {
    throw UserError(fmt::format(
        "it is of format version {}, this program reads versions up to {}: use a newer l0gm, or compact the run with this one",
        version, compact_format_version));
  }
  const std::string kind = json_checks::text(manifest, "manifest", "kind"),
                    weights = json_checks::text(manifest, "manifest", "weights");
  if (kind != "graph") throw UserError(fmt::format("it is a model of kind '{}', wanted 'graph'", kind));
  if (weights != "float32") throw UserError(fmt::format("its weights are '{}', a graph's are float32", weights));
  for (const auto& [key, value] : file.metadata()) {
    if (key != "l0gm" && key != "l0gm_sha256" && key != "sha256")
      throw UserError(fmt::format("the metadata has an unknown '{}'", key));
  }
  // SafetensorsFile compared the tensors with metadata["sha256"], where it is present.
  const std::string& digest = metadata_at(file, "sha256");
  if (digest.empty() || digest != json_checks::text(manifest, "manifest", "tensors_sha256")) {
    throw UserError("the manifest names another SHA-256 of the tensors than the metadata");
  }
  refuse_other_keys(manifest, "manifest",
                    {"format_version", "kind", "weights", "net", "inputs", "classes", "calibrator", "tensors_sha256", "about"});
  return manifest;
}

GraphHeader read_header(const json& manifest) {
  GraphHeader header;
  const json& inputs = json_checks::member(manifest, "manifest", "inputs");
  header.inputs = GraphInputs::from_json(inputs);
  refuse_unknown_keys(inputs, header.inputs.to_json(), "inputs");
  header.classes = json_checks::texts(manifest, "manifest", "classes");
  json_checks::check_unique(header.classes, "manifest", "classes");
  if (header.classes.size() < 2) throw UserError(fmt::format("it has {} classes, wanted two or more", header.classes.size()));
  const json& net = json_checks::member(manifest, "manifest", "net");
  header.net = GraphNet::from_json(net, header.inputs, static_cast<int64_t>(header.classes.size()));
  refuse_unknown_keys(net, header.net.to_json(), "net");
  const json& calibrator = json_checks::member(manifest, "manifest", "calibrator");
  header.calibrator = Calibrator::from_json(calibrator);
  refuse_unknown_keys(calibrator, header.calibrator.to_json(), "calibrator");
  const size_t curves = header.calibrator.curves.size(), wanted = header.classes.size() == 2 ? 1 : header.classes.size();
  if (header.calibrator.kind == CalibratorKind::isotonic && curves != wanted) {
    throw UserError(fmt::format("its calibrator has {} curves for {} classes", curves, header.classes.size()));
  }
  header.about = json_checks::member(manifest, "manifest", "about");
  if (!header.about.is_object()) throw UserError("'about' must be an object");
  return header;
}

// Nothing is allocated for a model whose numbers the file does not hold.
void check_tensors(const SafetensorsFile& file, const GraphNet& net) {
  int64_t elements = 0;
  for (const auto& [name, tensor] : file.tensors()) {
    if (tensor.dtype != DType::f32)
      throw UserError(fmt::format("tensor '{}' is of type {}, wanted F32", name, name_of(tensor.dtype)));
    if (!all_finite(tensor.dtype, tensor.bytes))
      throw UserError(fmt::format("tensor '{}' holds a number that is not finite", name));
    elements += tensor.elements();
  }
  if (elements != net.numbers()) throw UserError(fmt::format("it holds {} numbers, its net has {}", elements, net.numbers()));
}

GraphFile read(const SafetensorsFile& file) {
  const json manifest = checked_manifest(file);
  GraphFile result{read_header(manifest), nullptr, manifest["tensors_sha256"].get<std::string>()};
  check_tensors(file, result.header.net);
  result.model = make_model(result.header.net);
  TensorMap tensors;
  for (const auto& [name, tensor] : file.tensors()) {
    torch::Tensor& copy = tensors[name] = at::empty(tensor.shape, torch::kFloat32);
    std::copy(tensor.bytes.begin(), tensor.bytes.end(), static_cast<char*>(copy.mutable_data_ptr()));
  }
  copy_into(tensors, weights_of(*result.model), "the file");
  result.model->eval();
  return result;
}

}  // namespace

int64_t write_graph_model(const std::filesystem::path& path, const GraphHeader& header, const Model& model) {
  TensorMap kept;  // holds the memory while it is written
  std::map<std::string, TensorBytes> tensors;
  for (const auto& [name, tensor] : weights_of(model)) {
    const torch::Tensor& t = kept[name] = tensor.detach().to(torch::kCPU, torch::kFloat32).contiguous();
    tensors[name] = {DType::f32,
                     t.sizes().vec(),
                     {static_cast<const char*>(t.const_data_ptr()), static_cast<size_t>(t.nbytes())}};
    if (all_finite(DType::f32, tensors[name].bytes)) continue;
    throw UserError(fmt::format(
        "the model cannot be written: '{}' has a number that is not finite. Train it again (a smaller learning rate, or "
        "clipping)",
        name));
  }
  const std::string manifest = json{{"format_version", compact_format_version},
                                    {"kind", "graph"},
                                    {"weights", "float32"},
                                    {"net", header.net.to_json()},
                                    {"inputs", header.inputs.to_json()},
                                    {"classes", header.classes},
                                    {"calibrator", header.calibrator.to_json()},
                                    {"tensors_sha256", digest_of_tensors(tensors)},
                                    {"about", header.about.is_null() ? json::object() : header.about}}
                                   .dump();
  write_safetensors(path, tensors, {{"l0gm", manifest}, {"l0gm_sha256", sha256(manifest)}});
  return static_cast<int64_t>(std::filesystem::file_size(path));
}

GraphFile read_graph_model(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  if (metadata_at(file, "l0gm").empty()) {
    throw UserError(fmt::format("'{}' is no compact model; `l0gm compact RUN -o MODEL.l0gm` makes one of a run", path.string()));
  }
  try {
    return read(file);
  } catch (const UserError& error) {
    throw UserError(fmt::format("'{}' cannot be used as a compact model: {}", path.string(), fit_for_a_message(error.what())));
  }
}

bool is_graph_model(const std::filesystem::path& path) {
  try {
    std::ifstream file(path, std::ios::binary);
    uint64_t size = 0;
    file.read(reinterpret_cast<char*>(&size), sizeof size);
    std::error_code error;
    if (!file || size > std::filesystem::file_size(path, error) || error || size > largest_safetensors_header) return false;
    std::string text(size, '\0');
    file.read(text.data(), static_cast<std::streamsize>(size));
    const json manifest = parse_manifest(parse_safetensors_header(text, path.string()).metadata["l0gm"]);
    return manifest.contains("kind") && manifest["kind"] == "graph";
  } catch (const UserError&) {
    return false;  // whoever opens it says what is wrong with it
  }
}

}  // namespace l0gm
