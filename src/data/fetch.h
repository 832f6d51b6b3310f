#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "data/catalogue.h"

namespace l0gm {

struct FetchOptions {
  std::string mirror;  // base address in place of the public one; its files are called MIRROR/path
  long connect_timeout_s = 20;
  long stall_timeout_s = 60;               // fails after this time with less than 10 bytes per second
  static FetchOptions from_environment();  // mirror = $L0GM_MIRROR
};

bool can_fetch();  // false when built without libcurl

// Downloads one file to folder/file.path and returns that path. The file appears there complete and checked, or not at all.
// A listed hash (or, where the catalogue has none, the one recorded in `NAME.sha256` by an earlier fetch) must match: else the
// content is stored as NAME.refused and a UserError gives both hashes. Without any hash the first fetch records and logs it.
std::filesystem::path fetch_file(const CatalogueFile& file, const std::filesystem::path& folder, const FetchOptions& options);

// Finds a file in the folders of data/locate.h and checks it, else fetches it; nullopt for an optional file that is not found.
std::optional<std::filesystem::path> obtain_file(const CatalogueFile& file, const std::string& folder,
                                                 const FetchOptions& options);

// Whether a file is not needed, because all those that it lists in `unless` were found.
bool is_replaced(const CatalogueEntry& entry, const CatalogueFile& file, const std::string& folder);

struct ObtainedFile {
  std::filesystem::path path;
  bool fetched = false;  // false: it was found, with the right content
};
// `l0gm data get`: every file of a dataset. A file with wrong content in the fetch folder is renamed and fetched again.
std::vector<ObtainedFile> get_dataset(const CatalogueEntry& entry, const std::string& folder, const FetchOptions& options);

}  // namespace l0gm
