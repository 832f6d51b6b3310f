#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace l0gm {

// One file a dataset was read from, so that a run can tell later whether it has changed.
struct FileStamp {
  std::filesystem::path path;
  std::string sha256;
};

nlohmann::json to_json(const std::vector<FileStamp>& files);
std::vector<FileStamp> stamps_from_json(const nlohmann::json& json);

}  // namespace l0gm
