#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace l0gm {

// $XDG_CACHE_HOME/l0gm, else ~/.cache/l0gm; empty when neither variable is set.
std::filesystem::path user_cache_folder();

// Where datasets are looked for, in this order: `folder` (data.dir, --data-dir; "": none), $L0GM_DATA, the user cache.
// A `folder` that was named but does not exist is a UserError.
std::vector<std::filesystem::path> data_folders(const std::string& folder);

// Where a fetched dataset is put: `folder` when named, else the user cache.
std::filesystem::path fetch_folder(const std::string& folder);

// The first of the spellings ("adult/adult.data", "adult/adult.data.xz") that exists as a file, folder by folder.
std::optional<std::filesystem::path> find_data_file(const std::vector<std::filesystem::path>& folders,
                                                    const std::vector<std::string>& spellings);

}  // namespace l0gm
