#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/safetensors.h"
#include "base/shared_array.h"
#include "l0gm/error.h"

// Arrays in a safetensors file: what caches of converted data are written and mapped with.
//   write_safetensors(path, {{"ids", tensor_of<int32_t>(ids)}}, {{"kind", "l0gm tokens"}});
//   const ArrayFile file(path, "tokens");  SharedArray<int32_t> ids = file.array<int32_t>("ids");
namespace l0gm {

template <class T>
constexpr DType stored_dtype() {
  if constexpr (std::is_same_v<T, int64_t>) return DType::i64;
  if constexpr (std::is_same_v<T, int32_t>) return DType::i32;
  if constexpr (std::is_same_v<T, float>) return DType::f32;
  if constexpr (std::is_same_v<T, char> || std::is_same_v<T, uint8_t>) return DType::u8;
}

template <class T>
TensorBytes tensor_of(std::span<const T> values) {
  return {stored_dtype<T>(),
          {static_cast<int64_t>(values.size())},
          {reinterpret_cast<const char*>(values.data()), values.size_bytes()}};
}

// Arrays out of a file that stays mapped as long as one of them is used.
class ArrayFile {
 public:
  // `what` is for messages: "converted graph".
  ArrayFile(const std::filesystem::path& path, std::string what)
      : path_(path.string()), what_(std::move(what)), file_(std::make_shared<const SafetensorsFile>(path)) {}

  template <class T>
  SharedArray<T> array(const std::string& name) const {
    const TensorBytes& tensor = file_->tensor(name);
    const bool aligned = reinterpret_cast<uintptr_t>(tensor.bytes.data()) % alignof(T) == 0;
    if (tensor.dtype != stored_dtype<T>() || tensor.shape.size() != 1 || !aligned)
      fail(fmt::format("tensor '{}' has another type or shape", name));
    return {file_, {reinterpret_cast<const T*>(tensor.bytes.data()), static_cast<size_t>(tensor.shape[0])}};
  }
  template <class T>
  std::vector<T> vector(const std::string& name) const {
    const SharedArray<T> values = array<T>(name);
    return {values.begin(), values.end()};
  }
  bool has(const std::string& name) const { return file_->has(name); }
  [[noreturn]] void fail(const std::string& reason) const {
    throw UserError(fmt::format("'{}' cannot be read as {}: {}. Remove it; it will be made again.", path_, what_, reason));
  }

 private:
  std::string path_, what_;
  std::shared_ptr<const SafetensorsFile> file_;
};

// A damaged file of a cache: renamed to *.damaged with a warning; `what` ("The graph") is made again.
void set_damaged_aside(const std::filesystem::path& path, const std::string& why, const std::string& what);

}  // namespace l0gm
