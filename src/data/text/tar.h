#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "base/input_stream.h"

namespace l0gm {

// The files of a tar archive (ustar, GNU), plain or compressed, one after the other. Nothing is written anywhere: names are only
// compared. Directories, links and other members that are not files are passed over. UserError naming the archive and the place
// when a header's checksum is wrong, a number is none, or the archive ends early.
//   TarReader tar(path);
//   while (tar.next()) if (tar.name() == "a/b.txt") text = tar.content(1 << 20);
class TarReader {
 public:
  explicit TarReader(const std::filesystem::path& path);
  bool next();  // the next file; what is left of the current one is passed over
  const std::string& name() const { return name_; }
  int64_t size() const { return size_; }
  // All of the current file, once. UserError when it has more than `most` bytes; nothing is allocated then.
  const std::string& content(int64_t most);

 private:
  using Block = std::array<char, 512>;
  size_t fill(char* to, size_t wanted);  // less than wanted at the end of the archive only
  void need(char* to, size_t wanted);
  void pass_over(int64_t bytes);
  bool read_header(Block& block);
  std::string long_name();
  [[noreturn]] void refuse(const std::string& what) const;

  std::filesystem::path path_;
  std::unique_ptr<InputStream> input_;
  std::string name_, content_;
  int64_t size_ = 0;
  int64_t left_ = 0;      // bytes of the current member that were not read, padding included
  int64_t position_ = 0;  // bytes of the archive that were read
};

}  // namespace l0gm
