#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/files.h"

namespace l0gm {

// A zip archive, mapped; entries stored or deflated, also those of more than 4 GiB. Everything is checked before it is used:
// positions against the file's size, sizes against the best ratio of deflate, content against its CRC. A cut-off or damaged
// archive is a UserError, and so is one beyond the limits below, before anything of it is unpacked: work and memory stay in
// proportion to the file.
class ZipArchive {
 public:
  static constexpr uint64_t most_entries = 4096;
  // All entries together may unpack to this many bytes, or to so many times the file's size where that is more.
  static constexpr uint64_t always_unpacked = uint64_t{1} << 26, most_ratio = 100;

  explicit ZipArchive(const std::filesystem::path& path);

  std::vector<std::string> names() const;
  bool has(const std::string& name) const;
  std::string read(const std::string& name) const;       // decompressed; UserError when there is no such entry
  uint64_t unpacked_bytes() const { return unpacked_; }  // of all entries together

 private:
  struct Entry {
    std::string name;
    uint32_t flags = 0, method = 0, crc = 0;
    uint64_t packed = 0, size = 0, place = 0;
  };
  void read_directory();
  uint64_t read_entry(uint64_t place, uint64_t end);  // returns where the next one begins
  std::string_view packed_bytes(const Entry& entry) const;
  std::string unpack(const Entry& entry) const;
  [[noreturn]] void fail(const std::string& what) const;

  std::filesystem::path path_;
  MappedFile file_;
  std::vector<Entry> entries_;
  std::map<std::string, size_t> places_;  // in entries_, by name
  uint64_t unpacked_ = 0;
};

}  // namespace l0gm
