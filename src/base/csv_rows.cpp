#include "base/csv_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <unordered_set>
#include <utility>

#include "base/csv_scan.h"
#include "base/text.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::string_view strip_carriage_return(std::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

// "" becomes " in place; the view shrinks.
std::string_view unescape(char* begin, size_t size) {
  char* out = begin;
  for (size_t i = 0; i < size; ++i) {
    *out++ = begin[i];
    if (begin[i] == '"') ++i;
  }
  return {begin, static_cast<size_t>(out - begin)};
}

void check_options(const CsvOptions& options) {
  const char c = options.delimiter;
  if (c == '"' || c == '\n' || c == '\r' || c == 0 || static_cast<unsigned char>(c) >= 0x80) {
    throw UserError(
        "the delimiter must be one ASCII character other than a quote, a line end or NUL; "
        "set data.delimiter, e.g. \";\"");
  }
}

}  // namespace

CsvRows::CsvRows(std::filesystem::path path, CsvOptions options) : path_(std::move(path)), options_(std::move(options)) {
  check_options(options_);
}

std::vector<std::string> CsvRows::read_names(CsvText& text, std::vector<std::string_view>& cells) {
  std::vector<std::string> names;
  if (!options_.header) names = options_.names;
  columns_ = names.size();
  if (!read_any(text, cells)) {
    throw UserError(fmt::format("{}: the file is empty; wanted {}.", path_.string(),
                                options_.header ? "a header line with the column names and rows below it" : "rows"));
  }
  if (options_.header) {
    names.assign(cells.begin(), cells.end());
  } else if (names.empty()) {
    for (size_t i = 0; i < cells.size(); ++i) names.push_back(fmt::format("column_{}", i + 1));
  }
  check_names(names);
  columns_ = names.size();
  return names;
}

bool CsvRows::read(CsvText& text, std::vector<std::string_view>& cells) {
  if (!read_any(text, cells)) return false;
  if (cells.size() != columns_) refuse_ragged(cells.size(), line_);
  return true;
}

// One row of any width.
bool CsvRows::read_any(CsvText& source, std::vector<std::string_view>& cells) {
  for (;;) {
    const std::string_view text = source.text();
    const void* found = text.empty() ? nullptr : std::memchr(text.data(), '\n', text.size());
    if (found == nullptr && source.more()) continue;
    if (found == nullptr && text.empty()) return false;
    const size_t length = found == nullptr ? text.size() : static_cast<size_t>(static_cast<const char*>(found) - text.data());
    const size_t used = length + (found == nullptr ? 0 : 1);
    const std::string_view content = strip_carriage_return(text.substr(0, length));
    const bool comment = options_.comment != 0 && !content.empty() && content.front() == options_.comment;
    const bool empty = content.empty() || (options_.trim_cells && trim(content).empty());
    if (comment || (empty && columns_ != 1)) {
      source.consume(used, 1);
      continue;
    }
    line_ = source.line();
    source.check_length(content.size());
    if (csv_scan::contains(content, '"')) {
      const size_t bytes = split_quoted(source, cells);
      source.check_length(bytes - 1);
      const int64_t lines = csv_scan::count_byte(source.text().substr(0, bytes), '\n');
      for (const size_t i : escaped_) cells[i] = unescape(const_cast<char*>(cells[i].data()), cells[i].size());
      source.consume(bytes, lines);
    } else {
      split(content, cells);
      source.consume(used, 1);
    }
    return true;
  }
}

void CsvRows::split(std::string_view row, std::vector<std::string_view>& cells) const {
  cells.clear();
  size_t begin = 0;
  const auto add = [&](size_t end) {
    const std::string_view cell = row.substr(begin, end - begin);
    cells.push_back(options_.trim_cells ? trim(cell) : cell);
    begin = end + 1;
  };
  csv_scan::each_of(row, options_.delimiter, options_.delimiter, add);
  add(row.size());
}

// A row in which a quote occurs. Returns the bytes it takes with its line end.
size_t CsvRows::split_quoted(CsvText& source, std::vector<std::string_view>& cells) {
  for (;;) {
    const std::string_view text = source.text();
    cells.clear();
    escaped_.clear();
    size_t at = 0;
    while (at != std::string_view::npos) {
      size_t start = at;
      while (options_.trim_cells && start < text.size() && is_blank(text[start]) && text[start] != options_.delimiter) ++start;
      if (start < text.size() && text[start] == '"') {
        at = quoted_cell(source, start, cells);
      } else {
        while (start < text.size() && text[start] != options_.delimiter && text[start] != '\n') ++start;
        std::string_view cell = text.substr(at, start - at);
        if (start == text.size() ? source.at_end() : text[start] == '\n') cell = strip_carriage_return(cell);
        cells.push_back(options_.trim_cells ? trim(cell) : cell);
        at = start;
      }
      if (at >= text.size()) break;  // npos: cut off by the end of what has been read
      if (text[at] == '\n') return at + 1;
      ++at;
    }
    if (at == text.size() && source.at_end()) return text.size();
    source.more();
  }
}

// The position after the cell (of a delimiter, a line feed or the text's end); npos if more bytes are needed to decide.
size_t CsvRows::quoted_cell(const CsvText& source, size_t open, std::vector<std::string_view>& cells) {
  const std::string_view text = source.text();
  bool doubled = false;
  size_t close = text.find('"', open + 1);
  while (close != std::string_view::npos && close + 1 < text.size() && text[close + 1] == '"') {
    doubled = true;
    close = text.find('"', close + 2);
  }
  if (close == std::string_view::npos) {
    if (source.at_end()) refuse(source, open, "a quote is opened here and not closed before the end of the file");
    return close;
  }
  size_t after = close + 1;
  while (options_.trim_cells && after < text.size() && is_blank(text[after]) && text[after] != options_.delimiter) ++after;
  const bool undecided = after >= text.size() || (text[after] == '\r' && after + 1 == text.size());
  if (undecided && !source.at_end()) return std::string_view::npos;
  if (after < text.size() && text[after] == '\r' && (after + 1 == text.size() || text[after + 1] == '\n')) ++after;
  if (after < text.size() && text[after] != options_.delimiter && text[after] != '\n') {
    refuse(source, after,
           "text after a closing quote; a quote inside a quoted cell is written twice (\"\"). Texts with quotes of their own are "
           "easier as jsonl");
  }
  if (doubled) escaped_.push_back(cells.size());
  cells.push_back(text.substr(open + 1, close - open - 1));
  return after;
}

void CsvRows::check_names(const std::vector<std::string>& names) const {
  constexpr std::string_view or_no_header =
      "; if the first line is a row and not a header, set data.header = false (predict: --no-header)";
  std::unordered_set<std::string_view> seen;
  for (size_t i = 0; i < names.size(); ++i) {
    if (trim(names[i]).empty()) {
      throw UserError(fmt::format("{}: line {}: column {} has an empty name. Give every column a name{}.", path_.string(), line_,
                                  i + 1, or_no_header));
    }
    if (names[i].find('\r') != std::string::npos) {
      throw UserError(
          fmt::format("{}: line {}: carriage return inside a column name: lines seem to end in CR alone. "
                      "Convert with tr '\\r' '\\n'.",
                      path_.string(), line_));
    }
    if (!seen.insert(names[i]).second) {
      throw UserError(fmt::format("{}: line {}: two columns are named '{}'. Rename one of them{}.", path_.string(), line_,
                                  names[i], or_no_header));
    }
  }
}

void CsvRows::refuse(const CsvText& source, size_t at, std::string_view what) const {
  const std::string_view before = source.text().substr(0, at);
  const int64_t mistake_line = source.line() + csv_scan::count_byte(before, '\n');
  const size_t start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  const auto column = 1 + std::count_if(before.begin() + static_cast<std::ptrdiff_t>(start), before.end(),
                                        [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
  throw UserError(fmt::format("{}: line {}, column {}: {}.", path_.string(), mistake_line, column, what));
}

void CsvRows::refuse_ragged(size_t found, int64_t line) const {
  throw UserError(
      fmt::format("{}: line {}: found {} cells, {} has {}. Check the line and the delimiter ('{}'); "
                  "a cell that contains the delimiter must be quoted.",
                  path_.string(), line, found, options_.header ? "the header" : "the table", columns_,
                  options_.delimiter == '\t' ? std::string("\\t") : std::string(1, options_.delimiter)));
}

}  // namespace l0gm
