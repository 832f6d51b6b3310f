#include "metrics/predictions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/files.h"
#include "base/text.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

constexpr double sum_tolerance = 1e-4;     // allowed in files of other programs: float32, or few printed digits
constexpr double exact_tolerance = 1e-12;  // float64 rounding only

// Records of a small CSV dialect: commas, fields in double quotes with "" for a quote, LF or CRLF, line breaks inside quotes.
class RecordReader {
 public:
  RecordReader(std::string_view text, std::string name) : text_(text), name_(std::move(name)) {
    if (text_.starts_with("\xEF\xBB\xBF")) position_ = 3;
  }

  // Fields stay valid until the next call. False at the end of the file.
  bool next(std::vector<std::string_view>& fields) {
    fields.clear();
    if (position_ >= text_.size()) return false;
    line_ = next_line_;
    unquoted_used_ = 0;
    while (true) {
      fields.push_back(at_quote() ? quoted() : plain());
      if (position_ >= text_.size()) break;
      if (text_[position_++] == ',') {
        if (position_ >= text_.size()) {  // a comma as the file's last byte: an empty last field
          fields.emplace_back();
          break;
        }
        continue;
      }
      ++next_line_;
      break;
    }
    return true;
  }

  int64_t line() const { return line_; }  // where the record began
  bool rest_is_blank() const { return text_.substr(position_).find_first_not_of("\r\n") == std::string_view::npos; }

  [[noreturn]] void fail(const std::string& what) const { throw UserError(fmt::format("{}, line {}: {}", name_, line_, what)); }

 private:
  bool at_quote() const { return position_ < text_.size() && text_[position_] == '"'; }

  // Leaves position_ at the comma or line feed that ends the field, or at the end of the file.
  std::string_view plain() {
    const size_t begin = position_;
    while (position_ < text_.size() && text_[position_] != ',' && text_[position_] != '\n') ++position_;
    std::string_view field = text_.substr(begin, position_ - begin);
    const bool ends_record = position_ >= text_.size() || text_[position_] == '\n';
    if (ends_record && field.ends_with('\r')) field.remove_suffix(1);
    return field;
  }

  std::string_view quoted() {
    std::string& value = unquoted_slot();
    ++position_;
    while (true) {
      const size_t quote = text_.find('"', position_);
      if (quote == std::string_view::npos) fail("a quoted field is not closed before the end of the file");
      const std::string_view piece = text_.substr(position_, quote - position_);
      next_line_ += std::count(piece.begin(), piece.end(), '\n');
      value += piece;
      position_ = quote + 1;
      if (!at_quote()) break;
      value += '"';
      ++position_;
    }
    if (!plain().empty()) fail("text follows the closing quote of a field; a quote inside a field is written twice");
    return value;
  }

  // Views handed out must survive later quoted fields of the same record, hence a pointer-stable pool.
  std::string& unquoted_slot() {
    if (unquoted_used_ == unquoted_.size()) unquoted_.push_back(std::make_unique<std::string>());
    std::string& slot = *unquoted_[unquoted_used_++];
    slot.clear();
    return slot;
  }

  std::string_view text_;
  std::string name_;
  size_t position_ = 0;
  int64_t line_ = 1, next_line_ = 1;
  std::vector<std::unique_ptr<std::string>> unquoted_;
  size_t unquoted_used_ = 0;
};

std::vector<std::string> read_class_names(RecordReader& reader, std::vector<std::string_view>& fields) {
  if (!reader.next(fields)) reader.fail("the file is empty; wanted a header 'row,label,p_<class>,…'");
  if (fields.size() < 3 || fields[0] != "row" || fields[1] != "label") {
    reader.fail("the header is not 'row,label,p_<class>,…' with a column for each class");
  }
  std::vector<std::string> classes;
  std::unordered_set<std::string> seen;
  for (size_t j = 2; j < fields.size(); ++j) {
    const std::string_view field = fields[j];
    if (const auto offset = first_invalid_utf8(field)) {
      reader.fail(fmt::format("the name of column {} is not valid UTF-8 (byte {})", j + 1, *offset));
    }
    if (!field.starts_with("p_") || field.size() == 2) {
      reader.fail(fmt::format("column {} is named '{}'; wanted 'p_' followed by the name of a class", j + 1, field));
    }
    const std::string name(field.substr(2));
    if (!seen.insert(name).second) {
      reader.fail(fmt::format("the class '{}' has two columns; each class needs exactly one", name));
    }
    classes.push_back(name);
  }
  return classes;
}

void read_probabilities(const RecordReader& reader, const std::vector<std::string_view>& fields, Predictions& out) {
  const size_t begin = out.probabilities.size();
  double sum = 0;
  for (size_t j = 2; j < fields.size(); ++j) {
    const auto value = parse_double(fields[j]);
    if (!value || !(*value >= 0 && *value <= 1)) {  // also refuses NaN
      reader.fail(
          fmt::format("the probability of class '{}' is '{}'; wanted a number from 0 to 1", out.classes[j - 2], fields[j]));
    }
    out.probabilities.push_back(*value + 0.0);  // "-0" becomes 0
    sum += *value;
  }
  const double off = std::abs(sum - 1);
  if (off > sum_tolerance) {
    reader.fail(fmt::format("the probabilities sum to {}; wanted 1 (within {})", shortest(sum), shortest(sum_tolerance)));
  }
  if (off <= exact_tolerance) return;
  for (size_t k = begin; k < out.probabilities.size(); ++k) out.probabilities[k] /= sum;
}

void refuse_repeated_rows(const std::string& name, const std::vector<int64_t>& rows, const std::vector<int64_t>& lines) {
  const auto not_rising = [](int64_t a, int64_t b) { return a >= b; };
  if (std::adjacent_find(rows.begin(), rows.end(), not_rising) == rows.end()) return;
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return rows[a] != rows[b] ? rows[a] < rows[b] : a < b; });
  for (size_t k = 1; k < order.size(); ++k) {
    if (rows[order[k]] != rows[order[k - 1]]) continue;
    throw UserError(fmt::format("{}, line {}: row {} was already given on line {}; each row may appear once", name,
                                lines[order[k]], rows[order[k]], lines[order[k - 1]]));
  }
}

std::string quoted_if_needed(std::string_view field) {
  // A leading blank is quoted too: some readers strip it.
  const bool plain = field.find_first_of(",\"\r\n") == std::string_view::npos && trim(field) == field;
  if (plain) return std::string(field);
  std::string out = "\"";
  for (const char c : field) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

void check_writable(const std::filesystem::path& path, const Predictions& predictions) {
  check_predictions(predictions);
  std::vector<std::string> names = predictions.classes;
  std::sort(names.begin(), names.end());
  const bool repeated = std::adjacent_find(names.begin(), names.end()) != names.end();
  if (names.empty() || repeated || names.front().empty()) {
    throw UserError(fmt::format("cannot write {}: class names must be distinct and not empty; found: {}", path.string(),
                                list_some(predictions.classes)));
  }
}

}  // namespace

Predictions read_predictions(const std::filesystem::path& path) {
  const MappedFile file(path);
  RecordReader reader(file.bytes(), path.string());
  std::vector<std::string_view> fields;
  Predictions out;
  out.classes = read_class_names(reader, fields);
  std::unordered_map<std::string_view, int32_t> index_of;
  for (size_t c = 0; c < out.classes.size(); ++c) index_of.emplace(out.classes[c], static_cast<int32_t>(c));

  std::vector<int64_t> lines;
  while (!reader.rest_is_blank() && reader.next(fields)) {
    if (fields.size() != out.classes.size() + 2) {
      reader.fail(fmt::format("found {} fields; the header has {}", fields.size(), out.classes.size() + 2));
    }
    const auto row = parse_integer(fields[0]);
    if (!row) reader.fail(fmt::format("the row number is '{}'; wanted an integer", fields[0]));
    int32_t label = -1;
    if (!fields[1].empty()) {
      const auto found = index_of.find(fields[1]);
      if (found == index_of.end()) {
        reader.fail(
            fmt::format("the label '{}' is not one of the classes {}; write it as in the header, or leave it empty if unknown",
                        fields[1], list_some(out.classes)));
      }
      label = found->second;
    }
    out.rows.push_back(*row);
    out.labels.push_back(label);
    lines.push_back(reader.line());
    read_probabilities(reader, fields, out);
  }
  refuse_repeated_rows(path.string(), out.rows, lines);
  return out;
}

void write_predictions(const std::filesystem::path& path, const Predictions& predictions) {
  check_writable(path, predictions);
  AtomicFile file(path);
  std::string text = "row,label";
  std::vector<std::string> labels;
  for (const std::string& name : predictions.classes) {
    text += ',' + quoted_if_needed("p_" + name);
    labels.push_back(quoted_if_needed(name));
  }
  text += '\n';
  for (int64_t i = 0; i < predictions.size(); ++i) {
    fmt::format_to(std::back_inserter(text), "{},", predictions.rows[i]);
    if (predictions.labels[i] >= 0) text += labels[predictions.labels[i]];
    for (const double p : predictions.row(i)) {
      text += ',';
      text += shortest(p);
    }
    text += '\n';
    if (text.size() > (size_t{1} << 20)) {
      file.write(text);
      text.clear();
    }
  }
  file.write(text);
  file.commit();
}

void check_predictions(const Predictions& predictions) {
  const auto fail = [](const std::string& what) { throw std::invalid_argument("predictions: " + what); };
  const size_t rows = predictions.labels.size(), classes = predictions.classes.size();
  if (predictions.rows.size() != rows) fail(fmt::format("{} row numbers for {} labels", predictions.rows.size(), rows));
  if (predictions.probabilities.size() != rows * classes) {
    fail(fmt::format("{} probabilities for {} rows and {} classes", predictions.probabilities.size(), rows, classes));
  }
  for (size_t i = 0; i < rows; ++i) {
    const int32_t label = predictions.labels[i];
    if (label < -1 || label >= static_cast<int64_t>(classes))
      fail(fmt::format("label {} of {} classes at position {}", label, classes, i));
  }
  for (size_t k = 0; k < predictions.probabilities.size(); ++k) {
    const double p = predictions.probabilities[k];
    if (!(p >= 0 && p <= 1)) fail(fmt::format("probability {} at position {}", p, k / classes));
  }
}

}  // namespace l0gm
