#include "encoders/text/load_encoder.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "base/files.h"
#include "base/safetensors.h"
#include "base/text.h"
#include "encoders/text/encoder_shape.h"
#include "l0gm/error.h"

namespace l0gm {

namespace {

namespace fs = std::filesystem;

constexpr uintmax_t largest_json = 16 << 20;
constexpr size_t most_shards = 1000;

nlohmann::json read_json(const fs::path& path, const char* what) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) {
    throw UserError(fmt::format("'{}' is not there: a folder with an encoder holds {}", path.string(), what));
  }
  if (fs::file_size(path, ignored) > largest_json) {
    throw UserError(fmt::format("'{}' is larger than {} MB, which no {} is", path.string(), largest_json >> 20, what));
  }
  nlohmann::json json = nlohmann::json::parse(read_file(path), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) throw UserError(fmt::format("'{}' is not valid JSON", path.string()));
  return json;
}

// The files of an index; names only, never a path that leads out of the folder.
std::vector<fs::path> files_of_index(const fs::path& folder, const fs::path& index) {
  const nlohmann::json json = read_json(index, "model.safetensors.index.json");
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  if (!json.is_object() || map == json.end() || !map->is_object())
    throw UserError(fmt::format("'{}' has no 'weight_map'", index.string()));
  std::set<std::string> names;
  for (const auto& item : map->items()) {
    const std::string name = item.value().is_string() ? item.value().get<std::string>() : "";
    if (name.empty() || fs::path(name).filename() != name || !name.ends_with(".safetensors")) {
      throw UserError(fmt::format("'{}' names a file that is not a *.safetensors beside it", index.string()));
    }
    names.insert(name);
    if (names.size() > most_shards) throw UserError(fmt::format("'{}' names more than {} files", index.string(), most_shards));
  }
  std::vector<fs::path> files;
  for (const std::string& name : names) files.push_back(folder / name);
  return files;
}

std::vector<fs::path> weight_files(const fs::path& folder) {
  std::error_code ignored;
  if (fs::is_regular_file(folder / "model.safetensors", ignored)) return {folder / "model.safetensors"};
  const fs::path index = folder / "model.safetensors.index.json";
  if (fs::is_regular_file(index, ignored)) return files_of_index(folder, index);
  std::vector<fs::path> found;
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().extension() != ".safetensors") continue;
    found.push_back(entry.path());
    names.push_back(entry.path().filename().string());
  }
  if (found.size() == 1) return found;
  std::sort(names.begin(), names.end());
  throw UserError(
      fmt::format("'{}' holds {}; wanted model.safetensors or a single *.safetensors. Weights in other formats "
                  "(pytorch_model.bin) are not read: save them with safe_serialization",
                  folder.string(), names.empty() ? "no *.safetensors" : "several: " + list_some(names)));
}

// All tensors of the files, each with the file it lies in.
class Weights {
 public:
  explicit Weights(const fs::path& folder) {
    for (const fs::path& path : weight_files(folder)) {
      files_.emplace_back(path);
      paths_.push_back(path.string());
      for (const auto& [name, tensor] : files_.back().tensors()) {
        if (!tensors_.emplace(name, std::pair(paths_.size() - 1, tensor)).second)
          throw UserError(fmt::format("'{}' holds the tensor '{}' a second time", path.string(), name));
        elements_ += tensor.elements();
      }
    }
  }
  int64_t elements() const { return elements_; }
  const std::string& first_path() const { return paths_.front(); }
  const std::map<std::string, std::pair<size_t, TensorBytes>>& tensors() const { return tensors_; }
  const std::string& path_of(const std::string& name) const { return paths_[tensors_.at(name).first]; }

 private:
  std::vector<SafetensorsFile> files_;
  std::vector<std::string> paths_;
  std::map<std::string, std::pair<size_t, TensorBytes>> tensors_;
  int64_t elements_ = 0;
};

const char* prefix_of(TransformerFamily family) {
  switch (family) {
    case TransformerFamily::bert:
      return "bert.";
    case TransformerFamily::distilbert:
      return "distilbert.";
    case TransformerFamily::roberta:
      return "roberta.";
    case TransformerFamily::deberta:
      return "deberta.";
  }
  return "";
}

// Older files call the weight and bias of a norm gamma and beta.
std::string older_name(const std::string& name) {
  const auto dot = name.rfind('.');
  if (name.find("LayerNorm.") == std::string::npos) return name;
  return name.substr(0, dot) + (name.ends_with(".weight") ? ".gamma" : ".beta");
}

// The name that a file uses for a tensor; "" if it has none.
std::string name_in_file(const Weights& weights, const std::string& name, const std::string& prefix) {
  for (const std::string& candidate : {name, prefix + name, older_name(name), prefix + older_name(name)}) {
    if (weights.tensors().contains(candidate)) return candidate;
  }
  return "";
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::vector<std::string> extents;
  for (const int64_t extent : shape) extents.push_back(std::to_string(extent));
  return "[" + join(extents, ", ") + "]";
}

torch::Dtype type_of(DType dtype, const std::string& path, const std::string& name) {
  if (dtype == DType::f32) return torch::kFloat32;
  if (dtype == DType::f16) return torch::kFloat16;
  if (dtype == DType::bf16) return torch::kBFloat16;
  if (dtype == DType::f64) return torch::kFloat64;
  throw UserError(fmt::format("'{}': '{}' is of type {}; weights are F32, F16 or BF16", path, name, name_of(dtype)));
}

// The bytes may be unaligned in files of others, so they are copied before they are read as numbers.
void copy_tensor(const TensorBytes& from, torch::Dtype type, torch::Tensor to) {
  torch::Tensor read = at::empty(from.shape, type);
  if (!from.bytes.empty()) std::memcpy(read.mutable_data_ptr(), from.bytes.data(), from.bytes.size());
  to.copy_(read);
}

void check_finite(const torch::Tensor& tensor, const std::string& path, const std::string& name) {
  if (!at::isfinite(tensor.sum()).item<bool>() && !at::isfinite(tensor).all().item<bool>())
    throw UserError(fmt::format("'{}': '{}' holds numbers that are not finite", path, name));
}

std::vector<std::string> fill_encoder(const Weights& weights, Transformer& encoder) {
  torch::NoGradGuard no_grad;
  const std::string prefix = prefix_of(encoder.config().family);
  std::set<std::string> read;
  for (const auto& [name, target] : encoder.named_tensors()) {
    const std::string found = name_in_file(weights, name, prefix);
    if (found.empty()) {
      throw UserError(fmt::format("'{}' lacks the tensor '{}' of shape {}: its config.json describes another encoder",
                                  weights.first_path(), name, shape_text(target.sizes().vec())));
    }
    const TensorBytes& tensor = weights.tensors().at(found).second;
    const std::string& path = weights.path_of(found);
    if (tensor.shape != target.sizes().vec()) {
      throw UserError(fmt::format("'{}': '{}' has the shape {}, and its config.json asks for {}", path, found,
                                  shape_text(tensor.shape), shape_text(target.sizes().vec())));
    }
    copy_tensor(tensor, type_of(tensor.dtype, path, found), target);
    check_finite(target, path, found);
    read.insert(found);
  }
  std::vector<std::string> unread;
  for (const auto& [name, unused] : weights.tensors()) {
    if (!read.contains(name)) unread.push_back(name);
  }
  return unread;
}

}  // namespace

TransformerConfig read_transformer_config(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored))
    throw UserError(fmt::format("encoder.path is '{}', which is not a folder", folder.string()));
  const fs::path path = folder / "config.json";
  return parse_transformer_config(read_json(path, "config.json"), path.string());
}

LoadedEncoder load_encoder(const fs::path& folder, const EncoderOptions& options) {
  const TransformerConfig config = with_options(read_transformer_config(folder), options);
  const Weights weights(folder);
  // Sizes out of a config.json are believed only as far as the weights bear them out: memory is asked for afterwards.
  if (config.parameters() / 2 > weights.elements()) {
    throw UserError(fmt::format("'{}' describes an encoder of {} parameters, and '{}' holds {}: they do not belong together",
                                (folder / "config.json").string(), with_thousands(config.parameters()), weights.first_path(),
                                with_thousands(weights.elements())));
  }
  LoadedEncoder loaded;
  loaded.encoder = std::make_shared<Transformer>(config);
  loaded.unread = fill_encoder(weights, *loaded.encoder);
  return loaded;
}

std::vector<std::string> load_weights(const fs::path& folder, Transformer& encoder) {
  return fill_encoder(Weights(folder), encoder);
}

void save_encoder(const Transformer& encoder, const fs::path& folder) {
  fs::create_directories(folder);
  std::vector<torch::Tensor> held;  // the memory while it is written
  std::map<std::string, TensorBytes> views;
  for (const auto& [name, tensor] : encoder.named_tensors()) {
    held.push_back(tensor.cpu().to(torch::kFloat32).contiguous());
    const torch::Tensor& t = held.back();
    views[name] = {DType::f32, t.sizes().vec(), {static_cast<const char*>(t.const_data_ptr()), static_cast<size_t>(t.nbytes())}};
  }
  write_file_atomically(folder / "config.json", to_json(encoder.config()).dump(2) + "\n");
  write_safetensors(folder / "model.safetensors", views, {{"format", "pt"}});
}

}  // namespace l0gm
