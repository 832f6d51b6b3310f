#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace l0gm {

// A file that a dataset was read from, with its hash, so that a run can detect later whether the file has changed.
struct FileStamp {
  std::filesystem::path path;
  std::string sha256;
};

nlohmann::json to_json(const std::vector<FileStamp>& files);
std::vector<FileStamp> stamps_from_json(const nlohmann::json& json);

}  // namespace l0gm
