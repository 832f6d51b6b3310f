#include "base/csv.h"

#include <utility>

#include "base/csv_buffer.h"
#include "base/csv_rows.h"
#include "base/files.h"
#include "base/progress.h"

namespace l0gm {

struct CsvReader::State {
  State(const std::filesystem::path& path, CsvOptions options)
      : rows(path, std::move(options)), buffer(path, rows.options().longest_line, rows.options().any_bytes) {
    names = rows.read_names(buffer, first_row);
    first_row_pending = !rows.options().header;
  }

  CsvRows rows;
  CsvBuffer buffer;
  std::vector<std::string> names;
  bool first_row_pending = false;  // read ahead for the number of columns; next() returns it
  std::vector<std::string_view> first_row;
};

CsvReader::CsvReader(const std::filesystem::path& path, CsvOptions options)
    : state_(std::make_unique<State>(path, std::move(options))) {}

CsvReader::~CsvReader() = default;
CsvReader::CsvReader(CsvReader&&) noexcept = default;

const std::vector<std::string>& CsvReader::names() const { return state_->names; }
int64_t CsvReader::line() const { return state_->rows.line(); }

bool CsvReader::next(std::vector<std::string_view>& cells) {
  if (!state_->first_row_pending) return state_->rows.read(state_->buffer, cells);
  state_->first_row_pending = false;
  cells = state_->first_row;
  if (cells.size() != state_->names.size()) state_->rows.refuse_ragged(cells.size(), state_->rows.line());
  return true;
}

TextTable read_csv(const std::filesystem::path& path, const CsvOptions& options) {
  CsvReader reader(path, options);
  TextTable table(reader.names());
  table.places.begin_file(path.string());
  std::vector<std::string_view> cells;
  while (reader.next(cells)) {
    table.places.add(table.rows(), reader.line());
    table.add_row(cells);
  }
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
  Progress progress("writing " + path.filename().string(), count, {"rows"});
  for (int64_t i = 0; i < count; ++i) {
    progress.update(i);
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
