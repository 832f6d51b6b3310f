#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/csv_buffer.h"
#include "base/csv_rows.h"

// Reads a table file with several threads: one cuts it into blocks of whole rows, the only step that must be done in order, and
// any number of others check and split the blocks. Rows, line numbers and messages are those of CsvReader.
namespace l0gm {

class CsvBlocks;

// Some whole rows as they are in the file, not yet checked. Made once per thread and refilled for each block.
class CsvBlock : public CsvText {
 public:
  explicit CsvBlock(const CsvBlocks& blocks);
  std::string_view raw() const { return {bytes_, end_}; }
  int64_t first_line() const { return first_line_; }

 private:
  friend class CsvBlocks;
  friend class CsvSplitter;
  void start(int64_t line);
  void reserve(size_t bytes);
  void append(std::string_view bytes);
  void close(size_t size, bool whole);
  void grow() override;

  std::vector<char> owned_;
  int64_t first_line_ = 1;
};

class CsvBlocks {
 public:
  // Cells are not trimmed, comment lines are not supported. any_bytes, header: as in CsvOptions; a file without a header is
  // opened twice.
  CsvBlocks(const std::filesystem::path& path, char delimiter, size_t block_bytes,
            int64_t longest_line = CsvOptions{}.longest_line, bool any_bytes = false, bool header = true);
  const std::filesystem::path& path() const { return path_; }
  const std::vector<std::string>& names() const { return names_; }
  // About block_bytes of whole rows, one row at least; false at the end. Not thread-safe.
  bool next(CsvBlock& block);

 private:
  friend class CsvBlock;
  friend class CsvSplitter;
  bool fill(CsvBlock& block, size_t target);
  void keep(std::string_view bytes);

  std::filesystem::path path_;
  CsvRows rows_;
  CsvBuffer buffer_;
  size_t block_bytes_;
  std::vector<std::string> names_;
  std::string rest_;  // from rest_begin_ on: bytes read but not yet in a block
  size_t rest_begin_ = 0;
  int64_t line_ = 1;  // of its first byte
  bool finished_ = false;
};

// Splits blocks into the requested cells; one splitter per thread.
class CsvSplitter {
 public:
  // Cell i of a row is the file's column columns[i]; no column twice. Cells of other columns are counted and skipped.
  CsvSplitter(const CsvBlocks& blocks, const std::vector<int64_t>& columns);
  // Throws what CsvReader would throw here. Cells are valid until the block is filled again.
  void split(CsvBlock& block);
  int64_t rows() const { return rows_; }
  const std::string_view* cells() const { return cells_.data(); }  // rows x columns

 private:
  void split_plain(const CsvBlock& block);
  void split_any(CsvBlock& block);
  std::string_view* next_row();

  CsvRows reader_;
  std::vector<int32_t> places_;  // per column of the file: where its cell goes in a row; -1: nowhere
  size_t columns_;
  char delimiter_;
  int64_t rows_ = 0;
  std::vector<std::string_view> cells_, row_;
};

}  // namespace l0gm
