#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"

namespace l0gm {

inline std::string little(uint64_t value, int size) {
  std::string bytes;
  for (int i = 0; i < size; ++i) bytes += i < 8 ? static_cast<char>(value >> (8 * i) & 0xFF) : '\0';
  return bytes;
}

inline uint32_t crc_of(const std::string& bytes) {
  uint32_t crc = 0xFFFFFFFF;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int i = 0; i < 8; ++i) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xEDB88320 : 0);
  }
  return ~crc;
}

// A zip archive of stored entries.
inline std::string zip_of(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string bytes, directory;
  for (const auto& [name, content] : entries) {
    const std::string facts =
        little(crc_of(content), 4) + little(content.size(), 4) + little(content.size(), 4) + little(name.size(), 2);
    directory += "PK\1\2" + little(20, 2) + little(20, 2) + little(0, 8) + facts + little(0, 12) + little(bytes.size(), 4) + name;
    bytes += "PK\3\4" + little(20, 2) + little(0, 8) + facts + little(0, 2) + name + content;
  }
  const std::string end = "PK\5\6" + little(0, 4) + little(entries.size(), 2) + little(entries.size(), 2) +
                          little(directory.size(), 4) + little(bytes.size(), 4) + little(0, 2);
  return bytes + directory + end;
}

// A .npy file: `type` such as "<i4", `shape` such as "(2, 3)".
inline std::string npy_of(const std::string& type, const std::string& shape, const std::string& content, bool fortran = false) {
  std::string header =
      "{'descr': '" + type + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }";
  header += std::string(63 - (10 + header.size()) % 64, ' ') + '\n';
  return std::string("\x93NUMPY\1\0", 8) + little(header.size(), 2) + header + content;
}

template <class Number>
std::string bytes_of(const std::vector<Number>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)};
}

inline std::filesystem::path graph_test_file(const std::string& name) {
  return std::filesystem::path(L0GM_SOURCE_DIR) / "tests" / "data" / "graph" / "files" / name;
}

// Writes the bytes to a new file for as long as `use` runs: overwriting an existing one would make the file system flush it.
template <class Use>
void with_file(const std::filesystem::path& folder, const std::string& bytes, const Use& use) {
  static int count = 0;
  const std::filesystem::path path = folder / ("damaged-" + std::to_string(count++));
  std::ofstream(path, std::ios::binary) << bytes;
  use(path);
  std::filesystem::remove(path);
}

// Every byte of a file changed, and the file cut off; in more ways where that costs no writing of files.
template <class Action>
void each_damage(const std::string& bytes, bool thorough, const Action& action) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    const std::vector<size_t> changes = thorough ? std::vector<size_t>{0x01, 0x80, 0xFF} : std::vector<size_t>{i * 37 % 255 + 1};
    for (const size_t change : changes) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(static_cast<unsigned char>(damaged[i]) ^ change);
      action(damaged);
    }
    if (thorough || i % 5 == 0) action(bytes.substr(0, i));
  }
}

}  // namespace l0gm
