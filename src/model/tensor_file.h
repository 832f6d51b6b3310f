#pragma once

#include <torch/types.h>

#include <filesystem>
#include <map>
#include <string>

namespace l0gm {

using TensorMap = std::map<std::string, torch::Tensor>;

struct TensorFile {
  TensorMap tensors;  // on the CPU, owning their memory
  std::map<std::string, std::string> metadata;
};

// Tensors in a safetensors file (base/safetensors.h): checked, atomically written.
void save_tensors(const std::filesystem::path& path, const TensorMap& tensors,
                  const std::map<std::string, std::string>& metadata);
TensorFile load_tensors(const std::filesystem::path& path);

// Copies into tensors of the same names and shapes; anything absent, surplus or of another shape is a UserError naming `source`.
void copy_into(const TensorMap& from, const TensorMap& to, const std::string& source);
// Those whose name begins with the prefix, without it.
TensorMap with_prefix(const TensorMap& tensors, const std::string& prefix);
void add_with_prefix(TensorMap& to, const std::string& prefix, const TensorMap& tensors);

// The same numbers in memory of their own.
TensorMap cloned(const TensorMap& tensors);

}  // namespace l0gm
