#pragma once

#include <cstdlib>
#include <filesystem>

namespace l0gm {

// The folder with pretrained encoders: $L0GM_WEIGHTS, else ../shared/weights beside the source folder; empty when neither is
// there, and then tests that need one are skipped.
inline std::filesystem::path real_weights_folder() {
  std::error_code ignored;
  if (const char* variable = std::getenv("L0GM_WEIGHTS"); variable != nullptr && *variable != '\0') {
    return std::filesystem::is_directory(variable, ignored) ? std::filesystem::path(variable) : std::filesystem::path();
  }
#ifdef L0GM_SOURCE_DIR
  const std::filesystem::path beside = std::filesystem::path(L0GM_SOURCE_DIR) / ".." / "shared" / "weights";
  if (std::filesystem::is_directory(beside, ignored)) return std::filesystem::weakly_canonical(beside, ignored);
#endif
  return {};
}

}  // namespace l0gm
