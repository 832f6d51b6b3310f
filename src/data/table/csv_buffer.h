#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>

#include "base/input_stream.h"

namespace l0gm {

// A window on the bytes of a text file that grows on demand and shows only bytes known to be UTF-8 without NUL.
// A byte that is neither is reported when the reader gets to its line, so that an earlier mistake is reported first.
class CsvBuffer {
 public:
  CsvBuffer(const std::filesystem::path& path, int64_t longest_line);

  std::string_view text() const { return {bytes_.get() + begin_, checked_ - begin_}; }  // from the start of the current row
  char* data() { return bytes_.get() + begin_; }
  bool at_end() const { return end_of_file_ && checked_ == end_; }  // text() is all that is left
  // Makes text() at least twice as long or complete, so that a scan that starts again after each call stays linear.
  // false: there is no more. Throws when the row is too long or the next byte is not text. Invalidates text().
  bool more();
  void check_length(size_t row_bytes) const {
    if (row_bytes > longest_line_) refuse_length();
  }
  void consume(size_t bytes, int64_t lines);
  int64_t line() const { return line_; }  // 1-based, of the first byte of text()

 private:
  struct Free {
    void operator()(char* bytes) const { std::free(bytes); }
  };
  void reserve(size_t bytes);
  void check();
  [[noreturn]] void refuse_byte() const;
  [[noreturn]] void refuse_length() const;
  void skip_byte_order_mark();

  std::filesystem::path path_;
  std::unique_ptr<InputStream> stream_;
  std::unique_ptr<char, Free> bytes_;
  size_t capacity_ = 0, begin_ = 0, checked_ = 0, end_ = 0;
  size_t longest_line_;
  int64_t line_ = 1;
  bool end_of_file_ = false;
  bool refused_ = false;  // the byte at checked_ is not text
};

}  // namespace l0gm
