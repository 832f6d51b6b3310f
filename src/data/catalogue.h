#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace l0gm {

struct CatalogueFile {
  std::string path;                      // below a data folder, e.g. "adult/adult.data"
  std::vector<std::string> compressed;   // other spellings of the same content, e.g. "adult/adult.data.xz"
  std::string address;                   // public; empty: nowhere to fetch it from
  std::string sha256;                    // of the file as it is called in `path`; empty: not computed yet
  bool optional = false;                 // the dataset works without it
  std::vector<std::string> unless = {};  // not needed where all of these (paths of the same entry) are

  std::vector<std::string> spellings() const;  // path, then compressed
};

struct CatalogueEntry {
  std::string name;
  std::string modality;                // "table", "graph", "text"
  std::vector<std::string> protocols;  // the first is the default
  std::string description;
  std::string origin;                // source and licence
  std::vector<CatalogueFile> files;  // empty: made, or the user's own
  bool own = false;                  // the user brings the files
};

const std::vector<CatalogueEntry>& catalogue();
const CatalogueEntry& catalogue_entry(std::string_view name);                             // UserError with the nearest name
const CatalogueFile& catalogue_file(const CatalogueEntry& entry, std::string_view path);  // the entry must have it

// `wanted` checked against the entry's protocols; "" becomes the default. UserError with the nearest name.
std::string protocol_of(const CatalogueEntry& entry, const std::string& wanted);

// The file's SHA-256 where it is called as in `file.path`; of its decompressed content where it has another spelling.
std::string content_sha256(const CatalogueFile& file, const std::filesystem::path& path);
// UserError when the catalogue lists a hash and this file has another one.
void check_content(const CatalogueFile& file, const std::filesystem::path& path);

}  // namespace l0gm
