#include "server/request_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "encode/table/number_text.h"
#include "server/json_cursor.h"
#include "server/request_error.h"

namespace l0gm {
namespace {

constexpr size_t most_told = 32;  // keys that are remembered for a message

class JsonRows {
 public:
  JsonRows(std::string& body, const ColumnNames& columns, int64_t most_rows, RequestRows& rows)
      : cursor_(body), columns_(columns), texts_(columns.predictor().reads_texts()), most_rows_(most_rows), rows_(rows) {}
  void read();

 private:
  void read_member(std::string_view key);
  void read_columns();
  void read_rows();
  void read_texts();
  void read_object();
  void read_array();
  int32_t next_column(size_t place);
  std::string_view cell(int32_t column);
  std::string_view number(int32_t column);
  void start_row();
  void refuse_absent() const;

  JsonCursor cursor_;
  const ColumnNames& columns_;
  bool texts_;
  int64_t most_rows_;
  RequestRows& rows_;
  std::vector<int32_t> layout_;  // rows that are arrays: of each value its column; -1: not read
  bool has_columns_ = false, has_rows_ = false, has_texts_ = false;
  char* put_off_ = nullptr;               // rows that are arrays before their columns were named
  std::vector<int32_t> key_order_;        // columns of the keys of the last object, which the next one is likely to have as well
  std::vector<std::string> unread_keys_;  // some, for messages
  std::vector<int64_t> last_row_;         // per column: the last row that has it, counted from 1
};

void JsonRows::read() {
  cursor_.open('{');
  while (cursor_.next('}')) {
    const std::string_view key = cursor_.key();
    read_member(key);
  }
  cursor_.end();
  if (put_off_ != nullptr) {
    // Not in the model's own order, which may be another one after a reload.
    if (!has_columns_) cursor_.refuse("rows that are arrays want the key 'columns', which names their values");
    cursor_.go_to(put_off_);
    read_rows();
  }
  if (has_rows_ == has_texts_) {
    cursor_.refuse(texts_ ? "wanted one of the keys 'texts' and 'rows'" : "wanted the key 'rows'");
  }
  if (has_columns_ && has_texts_) cursor_.refuse("'columns' goes with 'rows', not with 'texts'");
  if (rows_.rows == 0) throw RequestError(400, "there are no rows");
}

void JsonRows::read_member(std::string_view key) {
  const auto once = [&](bool& there) {
    if (there) cursor_.refuse(fmt::format("the key '{}' is there twice", key));
    there = true;
  };
  if (key == "rows") {
    once(has_rows_);
    char* const start = cursor_.place();
    cursor_.open('[');
    const bool arrays = cursor_.peek() == '[';
    cursor_.go_to(start);
    if (arrays && !has_columns_) {
      put_off_ = start;
      cursor_.skip();
    } else {
      read_rows();
    }
  } else if (key == "columns") {
    once(has_columns_);
    read_columns();
  } else if (key == "texts" && texts_) {
    once(has_texts_);
    read_texts();
  } else if (key == "calibrated") {
    if (rows_.calibrated) cursor_.refuse("the key 'calibrated' is there twice");
    const char first = cursor_.peek();
    if (first != 't' && first != 'f') cursor_.refuse("'calibrated' is true or false");
    rows_.calibrated = cursor_.boolean();
  } else {
    cursor_.refuse(
        fmt::format("the key '{}' is not known; known are {}'rows', 'columns' and 'calibrated'", key, texts_ ? "'texts', " : ""));
  }
}

void JsonRows::read_columns() {
  std::vector<std::string> names;
  std::vector<bool> seen(columns_.size(), false);
  cursor_.open('[');
  while (cursor_.next(']')) {
    const std::string_view name = cursor_.text();
    names.emplace_back(name);
    layout_.push_back(columns_.find(name));
    if (layout_.back() < 0) continue;
    if (seen[static_cast<size_t>(layout_.back())]) cursor_.refuse(fmt::format("column '{}' is there twice", name));
    seen[static_cast<size_t>(layout_.back())] = true;
  }
  for (size_t c = 0; c < seen.size(); ++c) {
    if (seen[c]) continue;
    const std::string& name = columns_.predictor().columns()[c];
    cursor_.refuse(fmt::format("'columns' has no '{}', which the model reads.{}", name, did_you_mean(name, names)));
  }
}

void JsonRows::start_row() {
  if (++rows_.rows > most_rows_)
    throw RequestError(413, fmt::format("there are more than {} rows; send fewer at a time", most_rows_));
  rows_.cells.resize(static_cast<size_t>(rows_.rows) * columns_.size());
}

void JsonRows::read_rows() {
  last_row_.assign(columns_.size(), 0);
  cursor_.open('[');
  while (cursor_.next(']')) {
    const char first = cursor_.peek();
    if (first != '{' && (first != '[' || !has_columns_)) {
      cursor_.refuse("a row is an object {\"column\": value, …}, or, where 'columns' names them, an array of values");
    }
    start_row();
    first == '{' ? read_object() : read_array();
  }
}

// The column of the next key; -1: one that the model does not read.
int32_t JsonRows::next_column(size_t place) {
  const int32_t likely = place < key_order_.size() ? key_order_[place] : -1;
  if (likely >= 0 && cursor_.take(columns_.key(static_cast<size_t>(likely)))) return likely;
  const std::string_view key = cursor_.key();
  const int32_t column = columns_.find(key);
  constexpr size_t most_remembered = 4096;
  if (place < most_remembered) {
    key_order_.resize(std::max(key_order_.size(), place + 1), -1);
    key_order_[place] = column;
  }
  if (column < 0 && unread_keys_.size() < most_told) unread_keys_.emplace_back(key);
  return column;
}

void JsonRows::read_object() {
  std::string_view* const row = rows_.cells.data() + rows_.cells.size() - columns_.size();
  size_t place = 0, found = 0;
  cursor_.open('{');
  while (cursor_.next('}')) {
    const int32_t column = next_column(place++);
    if (column < 0) {
      cursor_.skip();
      continue;
    }
    int64_t& last = last_row_[static_cast<size_t>(column)];
    if (last == rows_.rows) {
      const std::string& key = columns_.predictor().columns()[static_cast<size_t>(column)];
      cursor_.refuse(fmt::format("row {}, counted from 0, has the key '{}' twice", rows_.rows - 1, key));
    }
    last = rows_.rows;
    ++found;
    row[column] = cell(column);
  }
  if (found < columns_.size()) refuse_absent();
}

void JsonRows::refuse_absent() const {
  for (size_t c = 0; c < last_row_.size(); ++c) {
    if (last_row_[c] == rows_.rows) continue;
    const std::string& name = columns_.predictor().columns()[c];
    cursor_.refuse(fmt::format("row {}, counted from 0, has no '{}', which the model reads; null where the value is missing.{}",
                               rows_.rows - 1, name, did_you_mean(name, unread_keys_)));
  }
}

void JsonRows::read_array() {
  std::string_view* const row = rows_.cells.data() + rows_.cells.size() - columns_.size();
  size_t place = 0;
  cursor_.open('[');
  for (; cursor_.next(']'); ++place) {
    if (place >= layout_.size()) break;
    layout_[place] < 0 ? cursor_.skip() : void(row[layout_[place]] = cell(layout_[place]));
  }
  if (place != layout_.size() || (place > 0 && cursor_.place()[-1] != ']')) {
    cursor_.refuse(fmt::format("row {}, counted from 0, has {} values than there are columns, {}", rows_.rows - 1,
                               place < layout_.size() ? "fewer" : "more", layout_.size()));
  }
}

void JsonRows::read_texts() {
  cursor_.open('[');
  while (cursor_.next(']')) {
    start_row();
    rows_.cells.back() = cursor_.text();
  }
}

std::string_view JsonRows::cell(int32_t column) {
  const char first = cursor_.peek();
  if (first == '"') return cursor_.text();
  const std::string& name = columns_.predictor().columns()[static_cast<size_t>(column)];
  if (texts_) cursor_.refuse(fmt::format("'{}' is a text", name));
  if (first == 'n') {
    cursor_.null();
    return {};  // without an address: missing
  }
  if (first == 't' || first == 'f') return cursor_.boolean() ? "true" : "false";
  if (first == '{' || first == '[') {
    cursor_.refuse(
        fmt::format("'{}' is {}, wanted a text, a number, a boolean or null", name, first == '{' ? "an object" : "an array"));
  }
  return number(column);
}

// A number of JSON has a point whatever the column's own files have.
std::string_view JsonRows::number(int32_t column) {
  const char notation = columns_.notation(static_cast<size_t>(column));
  const std::string_view spelled = cursor_.number();
  if (notation == date_notation) {
    cursor_.refuse(
        fmt::format("'{}' holds dates, as texts: \"2024-01-31\"", columns_.predictor().columns()[static_cast<size_t>(column)]));
  }
  if (notation == ',') {
    char* const start = cursor_.place() - spelled.size();
    if (void* const point = std::memchr(start, '.', spelled.size())) *static_cast<char*>(point) = ',';
  }
  return spelled;
}

}  // namespace

void read_json_rows(std::string& body, const ColumnNames& columns, int64_t most_rows, RequestRows& rows) {
  if (const auto at = first_invalid_utf8(body)) {
    throw RequestError(400, fmt::format("the body is not UTF-8 from byte {} on", *at));
  }
  JsonRows(body, columns, most_rows, rows).read();
}

}  // namespace l0gm
