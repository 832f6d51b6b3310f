#include "model/tensor_file.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include "base/safetensors.h"
#include "l0gm/error.h"

namespace l0gm {

namespace {

const std::map<DType, torch::Dtype>& dtypes() {
  static const std::map<DType, torch::Dtype> table = {{DType::f64, torch::kFloat64}, {DType::f32, torch::kFloat32},
                                                      {DType::f16, torch::kFloat16}, {DType::bf16, torch::kBFloat16},
                                                      {DType::i64, torch::kInt64},   {DType::i32, torch::kInt32},
                                                      {DType::i16, torch::kInt16},   {DType::i8, torch::kInt8},
                                                      {DType::u8, torch::kUInt8},    {DType::boolean, torch::kBool}};
  return table;
}

DType dtype_of(const torch::Tensor& tensor) {
  for (const auto& [ours, theirs] : dtypes()) {
    if (theirs == tensor.scalar_type()) return ours;
  }
  throw std::logic_error(fmt::format("a tensor of type {} cannot be saved", c10::toString(tensor.scalar_type())));
}

}  // namespace

void save_tensors(const std::filesystem::path& path, const TensorMap& tensors,
                  const std::map<std::string, std::string>& metadata) {
  TensorMap kept;  // holds the memory while it is written
  std::map<std::string, TensorBytes> views;
  for (const auto& [name, tensor] : tensors) {
    const torch::Tensor& t = kept[name] = tensor.detach().cpu().contiguous();
    views[name] = {dtype_of(t), t.sizes().vec(), {static_cast<const char*>(t.const_data_ptr()), static_cast<size_t>(t.nbytes())}};
  }
  write_safetensors(path, views, metadata);
}

TensorFile load_tensors(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  TensorFile result;
  result.metadata = file.metadata();
  for (const auto& [name, view] : file.tensors()) {
    torch::Tensor tensor = at::empty(view.shape, dtypes().at(view.dtype));
    if (!view.bytes.empty()) std::memcpy(tensor.mutable_data_ptr(), view.bytes.data(), view.bytes.size());
    result.tensors[name] = tensor;
  }
  return result;
}

void copy_into(const TensorMap& from, const TensorMap& to, const std::string& source) {
  torch::NoGradGuard no_grad;
  for (const auto& [name, target] : to) {
    const auto found = from.find(name);
    if (found == from.end()) throw UserError(fmt::format("{} lacks '{}': it belongs to another model", source, name));
    if (found->second.sizes() != target.sizes()) {
      throw UserError(fmt::format("{}: '{}' has another shape than this model's: it belongs to another model", source, name));
    }
    torch::Tensor destination = target;
    destination.copy_(found->second);
  }
  for (const auto& [name, unused] : from) {
    if (!to.contains(name)) throw UserError(fmt::format("{} holds '{}', which this model does not have", source, name));
  }
}

TensorMap with_prefix(const TensorMap& tensors, const std::string& prefix) {
  TensorMap result;
  for (const auto& [name, tensor] : tensors) {
    if (name.starts_with(prefix)) result[name.substr(prefix.size())] = tensor;
  }
  return result;
}

void add_with_prefix(TensorMap& to, const std::string& prefix, const TensorMap& tensors) {
  for (const auto& [name, tensor] : tensors) to[prefix + name] = tensor;
}

TensorMap cloned(const TensorMap& tensors) {
  TensorMap copies;
  for (const auto& [name, tensor] : tensors) copies[name] = tensor.detach().clone();
  return copies;
}

}  // namespace l0gm
