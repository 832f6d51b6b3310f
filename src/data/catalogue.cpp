#include "data/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/hash.h"
#include "base/input_stream.h"
#include "base/text.h"
#include "l0gm/error.h"

namespace l0gm {

extern const std::string_view catalogue_json;  // the text of catalogue.json, put into the program by cmake/Embed.cmake

namespace {

using Json = nlohmann::json;

void check_keys(const Json& object, const std::vector<std::string>& known) {
  if (!object.is_object()) throw std::invalid_argument(fmt::format("found {}, wanted an object", object.type_name()));
  for (const auto& item : object.items()) {
    const bool found = std::find(known.begin(), known.end(), item.key()) != known.end();
    if (!found) throw std::invalid_argument(fmt::format("unknown key '{}'", item.key()));
  }
}

// What is absent is empty or false; path, name, modality, description and origin must be there.
template <class Value>
Value optional_value(const Json& object, const char* key) {
  return object.contains(key) ? object.at(key).get<Value>() : Value{};
}

CatalogueFile file_of(const Json& json) {
  check_keys(json, {"path", "compressed", "address", "sha256", "optional", "unless"});
  return {.path = json.at("path").get<std::string>(),
          .compressed = optional_value<std::vector<std::string>>(json, "compressed"),
          .address = optional_value<std::string>(json, "address"),
          .sha256 = optional_value<std::string>(json, "sha256"),
          .optional = optional_value<bool>(json, "optional"),
          .unless = optional_value<std::vector<std::string>>(json, "unless")};
}

CatalogueEntry entry_of(const Json& json) {
  check_keys(json, {"name", "modality", "protocols", "description", "origin", "own", "files"});
  CatalogueEntry entry{.name = json.at("name").get<std::string>(),
                       .modality = json.at("modality").get<std::string>(),
                       .protocols = optional_value<std::vector<std::string>>(json, "protocols"),
                       .description = json.at("description").get<std::string>(),
                       .origin = json.at("origin").get<std::string>(),
                       .files = {},
                       .own = optional_value<bool>(json, "own")};
  for (const Json& file : optional_value<std::vector<Json>>(json, "files")) entry.files.push_back(file_of(file));
  return entry;
}

// For messages: which entry it is, with its name where it has one.
std::string place_of(const Json& all, size_t index) {
  const Json& entry = all[index];
  const bool named = entry.is_object() && entry.contains("name") && entry.at("name").is_string();
  return fmt::format("src/data/catalogue.json, entry {}{}", index + 1,
                     named ? fmt::format(" ('{}')", entry.at("name").get<std::string>()) : "");
}

std::vector<CatalogueEntry> parse_catalogue(std::string_view text) {
  std::string place = "src/data/catalogue.json";
  try {
    const Json all = Json::parse(text);
    if (!all.is_array()) throw std::invalid_argument(fmt::format("found {}, wanted an array", all.type_name()));
    std::vector<CatalogueEntry> entries;
    for (size_t i = 0; i < all.size(); ++i) {
      place = place_of(all, i);
      entries.push_back(entry_of(all[i]));
    }
    return entries;
  } catch (const std::exception& error) {
    throw std::logic_error(fmt::format("{}: {}", place, error.what()));
  }
}

}  // namespace

std::vector<std::string> CatalogueFile::spellings() const {
  std::vector<std::string> all = {path};
  all.insert(all.end(), compressed.begin(), compressed.end());
  return all;
}

const std::vector<CatalogueEntry>& catalogue() {
  static const std::vector<CatalogueEntry> entries = parse_catalogue(catalogue_json);
  return entries;
}

const CatalogueEntry& catalogue_entry(std::string_view name) {
  std::vector<std::string> names;
  for (const CatalogueEntry& entry : catalogue()) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  throw UserError(fmt::format("there is no dataset '{}'; known are: {}.{} `l0gm data list` says what each of them is.", name,
                              join(names, ", "), did_you_mean(name, names)));
}

const CatalogueFile& catalogue_file(const CatalogueEntry& entry, std::string_view path) {
  for (const CatalogueFile& file : entry.files) {
    if (file.path == path) return file;
  }
  throw std::logic_error(fmt::format("the catalogue's {} has no file {}", entry.name, path));
}

std::string protocol_of(const CatalogueEntry& entry, const std::string& wanted) {
  if (entry.protocols.empty()) {
    if (wanted.empty()) return wanted;
    throw UserError(
        fmt::format("data.protocol is '{}', but {} has no protocols: {}. Remove data.protocol.", wanted, entry.name,
                    entry.own ? "its split comes from data.split or from data.valid and data.test" : "it has one split only"));
  }
  if (wanted.empty()) return entry.protocols.front();
  if (std::find(entry.protocols.begin(), entry.protocols.end(), wanted) != entry.protocols.end()) return wanted;
  throw UserError(fmt::format("{} has no protocol '{}'; it has: {}.{} Set data.protocol to one of them.", entry.name, wanted,
                              join(entry.protocols, ", "), did_you_mean(wanted, entry.protocols)));
}

std::string content_sha256(const CatalogueFile& file, const std::filesystem::path& path) {
  if (path.filename() == std::filesystem::path(file.path).filename()) return sha256_file(path);
  Sha256 digest;
  const auto input = InputStream::open(path);
  std::vector<char> buffer(1 << 16);
  while (const size_t size = input->read(buffer)) digest.update(buffer.data(), size);
  return digest.hex();
}

void check_content(const CatalogueFile& file, const std::filesystem::path& path) {
  if (file.sha256.empty()) return;
  const std::string found = content_sha256(file, path);
  if (found == file.sha256) return;
  throw UserError(
      fmt::format("{} is not the file the catalogue knows as {}: its SHA-256 is {}, wanted is {}. It may be cut off or "
                  "changed; move it away{}.",
                  path.string(), file.path, found, file.sha256,
                  file.address.empty() ? "" : " and fetch it again with `l0gm data get`"));
}

}  // namespace l0gm
