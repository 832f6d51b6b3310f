#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/safetensors.h"

namespace l0gm {

constexpr size_t largest_safetensors_header = 100'000'000;

struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0;  // in the tensor region; not yet checked against anything
};

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  std::vector<SafetensorsEntry> entries;
};

// Throws "'file' is not a valid safetensors file: what". `what` may quote the file, so it is shortened and made safe to print.
[[noreturn]] void fail_safetensors(const std::string& file, std::string what);

// The JSON header alone: its form, types, unique keys. A violation is a UserError that names `file`.
// Nothing nests deeper than the format allows, so a hostile header costs neither stack nor more memory than its own size.
SafetensorsHeader parse_safetensors_header(std::string_view json, const std::string& file);

}  // namespace l0gm
