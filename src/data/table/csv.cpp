#include "data/table/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <unordered_set>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "data/table/csv_buffer.h"
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
    throw UserError("the delimiter must be one ASCII character other than a quote, a line end or NUL; "
                    "set data.delimiter, e.g. \";\"");
  }
}

}  // namespace

struct CsvReader::State {
  State(const std::filesystem::path& file, CsvOptions given)
      : path(file), options(std::move(given)), buffer(file, options.longest_line) {}

  std::filesystem::path path;
  CsvOptions options;
  CsvBuffer buffer;
  std::vector<std::string> names;
  int64_t line = 0;
  bool first_row_kept = false;  // read to learn the number of columns; next() delivers it
  std::vector<std::string_view> first_row;
  std::vector<size_t> escaped;  // cells of the current row with "" inside

  bool read(std::vector<std::string_view>& cells);
  void split(std::string_view text, std::vector<std::string_view>& cells) const;
  size_t split_quoted(std::vector<std::string_view>& cells);
  size_t quoted_cell(std::string_view text, size_t open, std::vector<std::string_view>& cells);
  void read_header();
  void check_names() const;
  [[noreturn]] void refuse(std::string_view text, size_t at, std::string_view what) const;
  [[noreturn]] void refuse_ragged(size_t found) const;
};

// One row of any width; false at the end. The row's bytes stay in the buffer until more() is called.
bool CsvReader::State::read(std::vector<std::string_view>& cells) {
  for (;;) {
    const std::string_view text = buffer.text();
    const void* found = text.empty() ? nullptr : std::memchr(text.data(), '\n', text.size());
    if (found == nullptr && buffer.more()) continue;
    if (found == nullptr && text.empty()) return false;
    const size_t length = found == nullptr ? text.size() : static_cast<size_t>(static_cast<const char*>(found) - text.data());
    const size_t used = length + (found == nullptr ? 0 : 1);
    const std::string_view content = strip_carriage_return(text.substr(0, length));
    const bool comment = options.comment != 0 && !content.empty() && content.front() == options.comment;
    const bool empty = content.empty() || (options.trim_cells && trim(content).empty());
    if (comment || (empty && names.size() != 1)) {
      buffer.consume(used, 1);
      continue;
    }
    line = buffer.line();
    buffer.check_length(content.size());
    if (!content.empty() && std::memchr(content.data(), '"', content.size()) != nullptr) {
      const size_t bytes = split_quoted(cells);
      buffer.check_length(bytes - 1);
      const std::string_view row = buffer.text().substr(0, bytes);
      const int64_t lines = std::count(row.begin(), row.end(), '\n');
      for (const size_t i : escaped) cells[i] = unescape(const_cast<char*>(cells[i].data()), cells[i].size());
      buffer.consume(bytes, lines);
    } else {
      split(content, cells);
      buffer.consume(used, 1);
    }
    return true;
  }
}

void CsvReader::State::split(std::string_view text, std::vector<std::string_view>& cells) const {
  cells.clear();
  const char* at = text.data();
  const char* const end = at + text.size();
  for (;;) {
    const void* found = at == end ? nullptr : std::memchr(at, options.delimiter, static_cast<size_t>(end - at));
    const char* const stop = found == nullptr ? end : static_cast<const char*>(found);
    const std::string_view cell(at, static_cast<size_t>(stop - at));
    cells.push_back(options.trim_cells ? trim(cell) : cell);
    if (found == nullptr) return;
    at = stop + 1;
  }
}

// A row in which a quote occurs. Returns the bytes it takes with its line end.
size_t CsvReader::State::split_quoted(std::vector<std::string_view>& cells) {
  for (;;) {
    const std::string_view text = buffer.text();
    cells.clear();
    escaped.clear();
    size_t at = 0;
    while (at != std::string_view::npos) {
      size_t start = at;
      while (options.trim_cells && start < text.size() && is_blank(text[start]) && text[start] != options.delimiter) ++start;
      if (start < text.size() && text[start] == '"') {
        at = quoted_cell(text, start, cells);
      } else {
        while (start < text.size() && text[start] != options.delimiter && text[start] != '\n') ++start;
        std::string_view cell = text.substr(at, start - at);
        if (start == text.size() ? buffer.at_end() : text[start] == '\n') cell = strip_carriage_return(cell);
        cells.push_back(options.trim_cells ? trim(cell) : cell);
        at = start;
      }
      if (at >= text.size()) break;  // npos: cut off by the end of what has been read
      if (text[at] == '\n') return at + 1;
      ++at;
    }
    if (at == text.size() && buffer.at_end()) return text.size();
    buffer.more();
  }
}

// The position after the cell (of a delimiter, a line feed or the text's end); npos when more bytes are needed to tell.
size_t CsvReader::State::quoted_cell(std::string_view text, size_t open, std::vector<std::string_view>& cells) {
  bool doubled = false;
  size_t close = text.find('"', open + 1);
  while (close != std::string_view::npos && close + 1 < text.size() && text[close + 1] == '"') {
    doubled = true;
    close = text.find('"', close + 2);
  }
  if (close == std::string_view::npos) {
    if (buffer.at_end()) refuse(text, open, "a quote is opened here and not closed before the end of the file");
    return close;
  }
  size_t after = close + 1;
  while (options.trim_cells && after < text.size() && is_blank(text[after]) && text[after] != options.delimiter) ++after;
  if (after + 1 >= text.size() && !buffer.at_end()) return std::string_view::npos;
  if (after < text.size() && text[after] == '\r' && (after + 1 == text.size() || text[after + 1] == '\n')) ++after;
  if (after < text.size() && text[after] != options.delimiter && text[after] != '\n') {
    refuse(text, after, "text after a closing quote; a quote inside a quoted cell is written twice (\"\")");
  }
  if (doubled) escaped.push_back(cells.size());
  cells.push_back(text.substr(open + 1, close - open - 1));
  return after;
}

void CsvReader::State::read_header() {
  if (!options.header) names = options.names;
  std::vector<std::string_view> cells;
  if (!read(cells)) {
    throw UserError(fmt::format("{}: the file is empty; wanted {}.", path.string(),
                                options.header ? "a header line with the column names and rows below it" : "rows"));
  }
  if (options.header) {
    names.assign(cells.begin(), cells.end());
    check_names();
    return;
  }
  for (size_t i = 0; options.names.empty() && i < cells.size(); ++i) names.push_back(fmt::format("column_{}", i + 1));
  check_names();
  first_row = std::move(cells);
  first_row_kept = true;
}

void CsvReader::State::check_names() const {
  std::unordered_set<std::string_view> seen;
  for (size_t i = 0; i < names.size(); ++i) {
    if (trim(names[i]).empty()) {
      throw UserError(
          fmt::format("{}: line {}: column {} has an empty name. Give every column a name.", path.string(), line, i + 1));
    }
    if (names[i].find('\r') != std::string::npos) {
      throw UserError(fmt::format("{}: line {}: carriage return inside a column name: lines seem to end in CR alone. "
                                  "Convert with tr '\\r' '\\n'.",
                                  path.string(), line));
    }
    if (!seen.insert(names[i]).second) {
      throw UserError(fmt::format("{}: line {}: two columns are named '{}'. Rename one of them.", path.string(), line, names[i]));
    }
  }
}

void CsvReader::State::refuse(std::string_view text, size_t at, std::string_view what) const {
  const std::string_view before = text.substr(0, at);
  const int64_t mistake_line = buffer.line() + std::count(before.begin(), before.end(), '\n');
  const size_t start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  const auto column = 1 + std::count_if(before.begin() + static_cast<std::ptrdiff_t>(start), before.end(),
                                        [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
  throw UserError(fmt::format("{}: line {}, column {}: {}.", path.string(), mistake_line, column, what));
}

void CsvReader::State::refuse_ragged(size_t found) const {
  throw UserError(fmt::format("{}: line {}: found {} cells, {} has {}. Check the line and the delimiter ('{}'); "
                              "a cell that contains the delimiter must be quoted.",
                              path.string(), line, found, options.header ? "the header" : "the table", names.size(),
                              options.delimiter == '\t' ? std::string("\\t") : std::string(1, options.delimiter)));
}

CsvReader::CsvReader(const std::filesystem::path& path, CsvOptions options) {
  check_options(options);
  state_ = std::make_unique<State>(path, std::move(options));
  state_->read_header();
}

CsvReader::~CsvReader() = default;
CsvReader::CsvReader(CsvReader&&) noexcept = default;

const std::vector<std::string>& CsvReader::names() const { return state_->names; }
int64_t CsvReader::line() const { return state_->line; }

bool CsvReader::next(std::vector<std::string_view>& cells) {
  if (state_->first_row_kept) {
    state_->first_row_kept = false;
    cells = state_->first_row;
  } else if (!state_->read(cells)) {
    return false;
  }
  if (cells.size() != state_->names.size()) state_->refuse_ragged(cells.size());
  return true;
}

TextTable read_csv(const std::filesystem::path& path, const CsvOptions& options) {
  CsvReader reader(path, options);
  TextTable table(reader.names());
  std::vector<std::string_view> cells;
  while (reader.next(cells)) table.add_row(cells);
  return table;
}

void append_csv_cell(std::string& out, std::string_view cell, char delimiter) {
  const char special[] = {delimiter, '"', '\n', '\r'};
  if (cell.find_first_of(std::string_view(special, sizeof special)) == std::string_view::npos) {
    out += cell;
    return;
  }
  out += '"';
  for (const char c : cell) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

void write_csv(const std::filesystem::path& path, const TextTable& table, const std::vector<int64_t>* rows, char delimiter) {
  AtomicFile file(path);
  std::string line;
  const auto add = [&](int64_t column, std::string_view cell) {
    if (column > 0) line += delimiter;
    append_csv_cell(line, cell, delimiter);
  };
  for (int64_t column = 0; column < table.columns(); ++column) add(column, table.names()[static_cast<size_t>(column)]);
  line += '\n';
  const int64_t count = rows != nullptr ? static_cast<int64_t>(rows->size()) : table.rows();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = rows != nullptr ? (*rows)[static_cast<size_t>(i)] : i;
    for (int64_t column = 0; column < table.columns(); ++column) add(column, table.cell(row, column));
    line += '\n';
    file.write(line);
    line.clear();
  }
  file.write(line);
  file.commit();
}

}  // namespace l0gm
