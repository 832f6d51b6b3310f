#include "data/locate.h"

#include <fmt/format.h>

#include <cstdlib>

#include "l0gm/error.h"

namespace l0gm {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace

std::filesystem::path user_cache_folder() {
  // The XDG specification: a relative path in the variable is to be ignored.
  if (const std::filesystem::path cache = environment("XDG_CACHE_HOME"); cache.is_absolute()) return cache / "l0gm";
  if (const std::string home = environment("HOME"); !home.empty()) return std::filesystem::path(home) / ".cache" / "l0gm";
  return {};
}

std::vector<std::filesystem::path> data_folders(const std::string& folder) {
  std::vector<std::filesystem::path> folders;
  std::error_code ignored;
  if (!folder.empty()) {
    if (!std::filesystem::is_directory(folder, ignored)) {
      throw UserError(
          fmt::format("the data folder '{}' does not exist or is not a folder. Set data.dir (--data-dir) to the folder "
                      "that holds the datasets, or leave it out.",
                      folder));
    }
    folders.emplace_back(folder);
  }
  if (const std::string variable = environment("L0GM_DATA"); !variable.empty()) folders.emplace_back(variable);
  if (const std::filesystem::path cache = user_cache_folder(); !cache.empty()) folders.push_back(cache);
  return folders;
}

std::filesystem::path fetch_folder(const std::string& folder) {
  if (!folder.empty()) return folder;
  const std::filesystem::path cache = user_cache_folder();
  if (cache.empty()) {
    throw UserError(
        "there is no place for fetched data: neither XDG_CACHE_HOME nor HOME is set. Name a folder with data.dir (--data-dir).");
  }
  return cache;
}

std::optional<std::filesystem::path> find_data_file(const std::vector<std::filesystem::path>& folders,
                                                    const std::vector<std::string>& spellings) {
  std::error_code ignored;
  for (const std::filesystem::path& folder : folders) {
    for (const std::string& spelling : spellings) {
      if (std::filesystem::is_regular_file(folder / spelling, ignored)) return folder / spelling;
    }
  }
  return std::nullopt;
}

}  // namespace l0gm
