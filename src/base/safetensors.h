#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace l0gm {

enum class DType { f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean };
size_t size_of(DType dtype);
std::string_view name_of(DType dtype);  // as safetensors spells it: "F32", …

struct TensorBytes {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::span<const char> bytes;  // points into the file's memory or into the caller's
  int64_t elements() const;
};

// A safetensors file, strictly checked before anything is used: header length and JSON, dtype names, shapes against byte
// counts (no overflow), offsets contiguous from 0, no overlap, no gap, no trailing bytes, unique names. The header may list the
// tensors in any order, as other writers do. Bytes are aligned to their type in files written by l0gm, not necessarily in others.
// If the metadata holds "sha256" (as in all files written by l0gm), the tensor region is checked against it.
// Any violation is a UserError that names the file and what is wrong with it.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);             // memory-mapped
  static SafetensorsFile from_bytes(std::string bytes, std::string name);  // `name` for messages
  SafetensorsFile(SafetensorsFile&&) noexcept;
  ~SafetensorsFile();

  const std::map<std::string, std::string>& metadata() const;
  const std::map<std::string, TensorBytes>& tensors() const;
  const TensorBytes& tensor(const std::string& name) const;  // UserError with the nearest name if absent
  bool has(const std::string& name) const;

 private:
  SafetensorsFile();
  struct State;
  std::unique_ptr<State> state_;
};

// Writes atomically; the widest types first and then in the map's order, so that each tensor is aligned to its type; header
// padded with blanks to 8 bytes (and so readable by the `safetensors` wheel); metadata gains "sha256", the digest of the tensor
// region.
void write_safetensors(const std::filesystem::path& path, const std::map<std::string, TensorBytes>& tensors,
                       std::map<std::string, std::string> metadata);

// The same digest before writing, for metadata that must contain it.
std::string digest_of_tensors(const std::map<std::string, TensorBytes>& tensors);

}  // namespace l0gm
