#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "base/input_stream.h"

namespace l0gm {

// Lines of a file, plain or compressed, whatever their bytes: for files that are too large to go through a table of text, or that
// are not csv.
//   LineReader reader(path);
//   for (std::string_view line; reader.next(line);) …
class LineReader {
 public:
  explicit LineReader(const std::filesystem::path& path);
  bool next(std::string_view& line);      // without its end (LF or CRLF); valid until the next call
  int64_t line() const { return line_; }  // 1-based, of the line that next() gave
  const std::filesystem::path& path() const { return path_; }

 private:
  bool fill();
  std::filesystem::path path_;
  std::unique_ptr<InputStream> input_;
  std::vector<char> buffer_;
  size_t begin_ = 0, searched_ = 0, end_ = 0;
  int64_t line_ = 0;
  bool ended_ = false;
};

}  // namespace l0gm
