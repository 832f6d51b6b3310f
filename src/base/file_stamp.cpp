#include "base/file_stamp.h"

#include <nlohmann/json.hpp>

namespace l0gm {

nlohmann::json to_json(const std::vector<FileStamp>& files) {
  nlohmann::json stamps = nlohmann::json::array();
  for (const FileStamp& file : files) stamps.push_back({{"path", file.path.string()}, {"sha256", file.sha256}});
  return stamps;
}

std::vector<FileStamp> stamps_from_json(const nlohmann::json& json) {
  std::vector<FileStamp> files;
  for (const auto& file : json) files.push_back({file.at("path").get<std::string>(), file.at("sha256").get<std::string>()});
  return files;
}

}  // namespace l0gm
