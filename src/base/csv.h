#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_table.h"

namespace l0gm {

struct CsvOptions {
  char delimiter = ',';
  bool header = true;
  std::vector<std::string> names;   // used when there is no header
  bool trim_cells = false;          // drop blanks around unquoted cells
  char comment = 0;                 // skip lines that start with it (0: none)
  int64_t longest_line = 64 << 20;  // bytes; a longer line is an error before memory is spent on it
  bool any_bytes = false;           // cells may hold NUL and what is not UTF-8; UTF-16 with a byte-order mark is still refused
};

// Reads rows one after the other, in bounded memory, from plain or compressed files (base/input_stream.h).
// RFC 4180 quoting ("" inside quotes, line breaks inside quotes), LF or CRLF, UTF-8 with or without a byte-order mark.
// Strict: a ragged row, a NUL byte, invalid UTF-8 (UTF-16 is recognised and reported as such), text after a closing quote, an
// unterminated quote, an over-long line, an empty or duplicate header name are UserErrors that give file, line and column and say
// what to do. Empty lines are skipped (unless the table has a single column).
class CsvReader {
 public:
  CsvReader(const std::filesystem::path& path, CsvOptions options);
  ~CsvReader();
  CsvReader(CsvReader&&) noexcept;

  const std::vector<std::string>& names() const;
  bool next(std::vector<std::string_view>& cells);  // views are valid until the next call
  int64_t line() const;                             // 1-based line where the current row starts

 private:
  struct State;
  std::unique_ptr<State> state_;
};

TextTable read_csv(const std::filesystem::path& path, const CsvOptions& options);

// A cell as CSV, quoted only where needed.
void append_csv_cell(std::string& out, std::string_view cell, char delimiter = ',');
// All rows of a table, or those listed, as a CSV file with a header; written atomically.
void write_csv(const std::filesystem::path& path, const TextTable& table, const std::vector<int64_t>* rows = nullptr,
               char delimiter = ',');

}  // namespace l0gm
