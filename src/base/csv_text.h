#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>

namespace l0gm {

// A window on the bytes of a text file that exposes only bytes checked to be UTF-8 without NUL (unless any_bytes). Any other byte
// is reported when the reader gets to its line, so that an earlier mistake is reported first. Subclasses supply the bytes.
class CsvText {
 public:
  virtual ~CsvText() = default;
  CsvText(const CsvText&) = delete;
  CsvText& operator=(const CsvText&) = delete;

  std::string_view text() const { return {bytes_ + begin_, checked_ - begin_}; }  // from the start of the current row
  char* data() { return bytes_ + begin_; }
  bool at_end() const { return end_of_file_ && checked_ == end_; }  // text() is all that is left
  // Makes text() at least twice as long or complete, so that a scan that starts again after each call stays linear.
  // false at the end. Throws when the row is too long or the next byte is not text. Invalidates text().
  bool more();
  void check_length(size_t row_bytes) const {
    if (row_bytes > longest_line_) refuse_length();
  }
  size_t longest_line() const { return longest_line_; }
  void consume(size_t bytes, int64_t lines) {
    begin_ += bytes;
    line_ += lines;
  }
  int64_t line() const { return line_; }  // 1-based, of the first byte of text()

 protected:
  CsvText(std::filesystem::path path, int64_t longest_line, bool any_bytes = false);
  virtual void grow() = 0;  // appends bytes or sets end_of_file_; may move what is there
  void check();             // the bytes from checked_ to end_

  std::filesystem::path path_;
  char* bytes_ = nullptr;
  size_t begin_ = 0, checked_ = 0, end_ = 0;
  size_t longest_line_;
  int64_t line_ = 1;
  bool end_of_file_ = false;
  bool refused_ = false;  // the byte at checked_ is not text
  bool any_bytes_;

 private:
  [[noreturn]] void refuse_byte() const;
  [[noreturn]] void refuse_length() const;
};

}  // namespace l0gm
