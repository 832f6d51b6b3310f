#include "base/csv_blocks.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "base/csv_scan.h"

namespace l0gm {
namespace {

constexpr size_t longest_character = 4;  // bytes in UTF-8: the last one of a block may be cut off

CsvOptions options_of(char delimiter, int64_t longest_line, bool any_bytes, bool header) {
  CsvOptions options;
  options.header = header;
  options.delimiter = delimiter;
  options.longest_line = longest_line;
  options.any_bytes = any_bytes;
  return options;
}

size_t after_last_line(std::string_view text) {  // 0 without a line end
  const size_t found = text.rfind('\n');
  return found == std::string_view::npos ? 0 : found + 1;
}

// The end of the last complete row; 0 if there is none. `text` begins with a row. A quote counts only where a cell begins:
// elsewhere it is an ordinary character. Text after a closing quote is checked when the row is split.
size_t last_row_end(std::string_view text, char delimiter) {
  size_t end = 0, at = 0;
  for (;;) {
    size_t open = text.find('"', at);
    while (open != std::string_view::npos && open > 0 && text[open - 1] != delimiter && text[open - 1] != '\n') {
      open = text.find('"', open + 1);
    }
    const size_t found = after_last_line(text.substr(at, open == std::string_view::npos ? open : open - at));
    if (found > 0) end = at + found;
    if (open == std::string_view::npos) return end;
    size_t close = text.find('"', open + 1);
    while (close != std::string_view::npos && close + 1 < text.size() && text[close + 1] == '"')
      close = text.find('"', close + 2);
    if (close == std::string_view::npos) return end;
    at = close + 1;
  }
}

}  // namespace

CsvBlock::CsvBlock(const CsvBlocks& blocks)
    : CsvText(blocks.path(), blocks.rows_.options().longest_line, blocks.rows_.options().any_bytes) {}

void CsvBlock::start(int64_t line) {
  begin_ = checked_ = end_ = 0;
  line_ = first_line_ = line;
  end_of_file_ = refused_ = false;
}

void CsvBlock::reserve(size_t bytes) {
  if (bytes > owned_.size()) owned_.resize(bytes);
  bytes_ = owned_.data();
}

void CsvBlock::append(std::string_view bytes) {
  if (!bytes.empty()) std::memcpy(bytes_ + end_, bytes.data(), bytes.size());
  end_ += bytes.size();
}

// `whole`: the last row is complete, so grow() is never called.
void CsvBlock::close(size_t size, bool whole) {
  end_ = size;
  end_of_file_ = whole;
}

void CsvBlock::grow() { throw std::logic_error("a block of a table file ends inside a row"); }

CsvBlocks::CsvBlocks(const std::filesystem::path& path, char delimiter, size_t block_bytes, int64_t longest_line, bool any_bytes,
                     bool header)
    : path_(path),
      rows_(path, options_of(delimiter, longest_line, any_bytes, header)),
      buffer_(path, longest_line, any_bytes),
      block_bytes_(std::max<size_t>(block_bytes, 1)) {
  std::vector<std::string_view> cells;
  if (header) {
    names_ = rows_.read_names(buffer_, cells);
  } else {  // the first row says how many columns there are, and is read again with the others
    CsvBuffer first(path, longest_line, any_bytes);
    names_ = rows_.read_names(first, cells);
  }
  rest_ = buffer_.unread();
  line_ = buffer_.line();
}

bool CsvBlocks::next(CsvBlock& block) {
  if (finished_) return false;
  const size_t longest = block.longest_line();
  block.start(line_);
  size_t target = block_bytes_, end = 0;
  for (;;) {
    finished_ = !fill(block, target);
    end = finished_ ? block.end_ : last_row_end(block.raw(), rows_.options().delimiter);
    if (end > 0 || finished_) break;
    // Longer than a row may be, even if a character at the end is cut off. split() reports it, or an earlier mistake.
    if (block.end_ > longest + longest_character) {
      finished_ = true;
      block.close(block.end_, false);
      return true;
    }
    target = std::max(std::min(2 * block.end_, longest + longest_character + 1), block.end_ + 1);
  }
  const std::string_view raw = block.raw();
  keep(raw.substr(end));
  line_ += csv_scan::count_byte(raw.substr(0, end), '\n');
  block.close(end, true);
  return end > 0;
}

// false if the file ended before `target` bytes.
bool CsvBlocks::fill(CsvBlock& block, size_t target) {
  block.reserve(target);
  const std::string_view kept = std::string_view(rest_).substr(rest_begin_, target - block.end_);
  block.append(kept);
  rest_begin_ += kept.size();
  while (block.end_ < target) {
    const size_t count = buffer_.read_further({block.bytes_ + block.end_, target - block.end_});
    if (count == 0) return false;
    block.end_ += count;
  }
  return true;
}

// Keeps the bytes after a block's last row for the next block.
void CsvBlocks::keep(std::string_view bytes) {
  if (rest_begin_ < rest_.size()) {
    rest_begin_ -= bytes.size();  // they were taken from rest_
  } else {
    rest_.assign(bytes);
    rest_begin_ = 0;
  }
}

CsvSplitter::CsvSplitter(const CsvBlocks& blocks, const std::vector<int64_t>& columns)
    : reader_(blocks.rows_),
      places_(blocks.names().size(), -1),
      columns_(columns.size()),
      delimiter_(reader_.options().delimiter) {
  for (size_t i = 0; i < columns.size(); ++i) places_.at(static_cast<size_t>(columns[i])) = static_cast<int32_t>(i);
}

void CsvSplitter::split(CsvBlock& block) {
  rows_ = 0;
  block.check();
  // The fast path does not handle empty lines of a single column, quotes, rows that may be too long and bytes that are not text.
  const bool plain =
      block.at_end() && places_.size() > 1 && block.end_ <= block.longest_line() && !csv_scan::contains(block.raw(), '"');
  if (plain)
    split_plain(block);
  else
    split_any(block);
}

std::string_view* CsvSplitter::next_row() {
  const size_t begin = static_cast<size_t>(rows_) * columns_;
  if (begin + columns_ > cells_.size()) cells_.resize(std::max(begin + columns_, 2 * cells_.size()));
  ++rows_;
  return cells_.data() + begin;
}

void CsvSplitter::split_plain(const CsvBlock& block) {
  const std::string_view text = block.text();
  const char* const bytes = text.data();
  const size_t width = places_.size();
  size_t begin = 0, column = 0, row_begin = 0;  // of the cell, in the row; of the row
  std::string_view* row = nullptr;
  const auto add = [&](size_t end) {
    if (column == 0) row = next_row();
    const int32_t place = column < width ? places_[column] : -1;
    if (place >= 0) row[place] = {bytes + begin, end - begin};
    ++column;
    begin = end + 1;
  };
  const auto finish_row = [&](size_t end) {
    const size_t stop = end > row_begin && bytes[end - 1] == '\r' ? end - 1 : end;
    if (stop > row_begin) {
      add(stop);
      if (column != width)
        reader_.refuse_ragged(column, block.first_line() + csv_scan::count_byte(text.substr(0, row_begin), '\n'));
    }
    column = 0;
    begin = row_begin = end + 1;
  };
  csv_scan::each_of(text, delimiter_, '\n', [&](size_t at) {
    if (bytes[at] == '\n')
      finish_row(at);
    else
      add(at);
  });
  if (begin < text.size() || column > 0) finish_row(text.size());
}

void CsvSplitter::split_any(CsvBlock& block) {
  while (reader_.read(block, row_)) {
    std::string_view* row = next_row();
    for (size_t i = 0; i < row_.size(); ++i) {
      if (places_[i] >= 0) row[places_[i]] = row_[i];
    }
  }
}

}  // namespace l0gm
