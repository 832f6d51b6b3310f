#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/csv.h"
#include "base/csv_text.h"

namespace l0gm {

// Splits text into rows of cells and reports mistakes in them; shared by CsvReader and CsvBlocks.
class CsvRows {
 public:
  CsvRows(std::filesystem::path path, CsvOptions options);  // UserError if the delimiter is not usable
  const CsvOptions& options() const { return options_; }

  // Names from the header line, or options().names, or else numbered names for the `cells` of the first row, which has been read
  // then. Checks the names; from here on read() requires that many cells in every row.
  std::vector<std::string> read_names(CsvText& text, std::vector<std::string_view>& cells);
  // One row; false at the end. Its bytes stay where they are until text.more() is called.
  bool read(CsvText& text, std::vector<std::string_view>& cells);
  int64_t line() const { return line_; }  // where the last row read starts
  [[noreturn]] void refuse_ragged(size_t found, int64_t line) const;

 private:
  bool read_any(CsvText& text, std::vector<std::string_view>& cells);
  void split(std::string_view row, std::vector<std::string_view>& cells) const;
  size_t split_quoted(CsvText& source, std::vector<std::string_view>& cells);
  size_t quoted_cell(const CsvText& source, size_t open, std::vector<std::string_view>& cells);
  void check_names(const std::vector<std::string>& names) const;
  [[noreturn]] void refuse(const CsvText& source, size_t at, std::string_view what) const;

  std::filesystem::path path_;
  CsvOptions options_;
  size_t columns_ = 0;  // 0: not known yet
  int64_t line_ = 0;
  std::vector<size_t> escaped_;  // cells of the current row with "" inside
};

}  // namespace l0gm
