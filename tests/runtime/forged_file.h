#pragma once

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "base/hash.h"

// A compact file taken apart, changed, and put together again with hashes that fit.
namespace l0gm::testing_tools {

class ForgedFile {
 public:
  explicit ForgedFile(const std::string& bytes) {
    uint64_t size = 0;
    std::memcpy(&size, bytes.data(), sizeof size);
    header = nlohmann::ordered_json::parse(bytes.substr(8, size));
    const std::string region = bytes.substr(8 + size);
    for (const auto& item : header.items()) {
      if (item.key() == "__metadata__") continue;
      const size_t begin = item.value()["data_offsets"][0], end = item.value()["data_offsets"][1];
      tensors[item.key()] = region.substr(begin, end - begin);
    }
    manifest = nlohmann::json::parse(header["__metadata__"]["l0gm"].get<std::string>());
  }

  // Offsets anew, in the order of the header; hashes too, unless they are to stay wrong.
  std::string bytes(bool repaired = true) const { return bytes_with(manifest, repaired); }

  std::string bytes_with(nlohmann::json changed, bool repaired = true) const {
    nlohmann::ordered_json head = header;
    std::string region;
    for (auto& item : head.items()) {
      if (item.key() == "__metadata__") continue;
      const size_t begin = region.size();
      region += tensors.at(item.key());
      item.value()["data_offsets"] = {begin, region.size()};
    }
    if (repaired && changed.is_object() && changed.contains("tensors_sha256")) changed["tensors_sha256"] = sha256(region);
    const std::string text = changed.dump();
    nlohmann::ordered_json& metadata = head["__metadata__"];
    if (repaired) {
      metadata["sha256"] = sha256(region);
      metadata["l0gm_sha256"] = sha256(text);
    }
    metadata["l0gm"] = text;
    return assembled(head.dump(), region);
  }

  static std::string assembled(const std::string& head, const std::string& region) {
    std::string result(8, '\0');
    const uint64_t size = head.size();
    std::memcpy(result.data(), &size, sizeof size);
    return result + head + region;
  }

  nlohmann::ordered_json header;               // "__metadata__" and the tensors' types and shapes
  std::map<std::string, std::string> tensors;  // their bytes
  nlohmann::json manifest;
};

}  // namespace l0gm::testing_tools
