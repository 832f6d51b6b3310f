#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace l0gm {

// The folder with real datasets, for tests that use them where they lie: $L0GM_DATA, else ../shared/data beside the source
// folder (L0GM_SOURCE_DIR); empty when neither is there, and then such tests are skipped.
inline std::filesystem::path real_data_folder() {
  std::error_code ignored;
  if (const char* variable = std::getenv("L0GM_DATA"); variable != nullptr && *variable != '\0') {
    return std::filesystem::is_directory(variable, ignored) ? std::filesystem::path(variable) : std::filesystem::path();
  }
#ifdef L0GM_SOURCE_DIR
  const std::filesystem::path beside = std::filesystem::path(L0GM_SOURCE_DIR) / ".." / "shared" / "data";
  if (std::filesystem::is_directory(beside, ignored)) return std::filesystem::weakly_canonical(beside, ignored);
#endif
  return {};
}

}  // namespace l0gm
