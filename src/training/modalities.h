#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "training/modality.h"

namespace l0gm {

// The product's modalities. A new one is a line in modalities.cpp.
const Modalities& modalities();

// A configuration of one of them.
inline Config read_config(const std::filesystem::path& path, const std::vector<std::string>& assignments) {
  return read_config(modalities(), path, assignments);
}

}  // namespace l0gm
