#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "base/input_stream.h"

namespace l0gm {

// Lines of a text file, plain or compressed, in blocks: for files of numbers that are too large to go through a table of text.
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

// A line of numbers separated by commas, blanks around them allowed. False if a cell is not a finite number; `column` (from 0) is
// then that cell.
bool parse_numbers(std::string_view line, std::vector<float>& numbers, size_t& column);
bool parse_pair(std::string_view line, int64_t& first, int64_t& second);

}  // namespace l0gm
