#include "data/text/text_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/csv.h"
#include "base/text.h"
#include "data/table/header_hint.h"
#include "data/text/json_lines.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

class SeparatedRows : public TextRowReader {
 public:
  SeparatedRows(const std::filesystem::path& path, const TextColumns& columns, char delimiter)
      : path_(path), delimiter_(delimiter), reader_(path, options_for(delimiter)) {
    text_ = place_of(columns.text, "text");
    label_ = place_of(columns.label, "label");
    has_split_ = !columns.split.empty();
    if (has_split_) split_ = place_of(columns.split, "split.column");
  }
  bool next(TextRow& row) override {
    if (!reader_.next(cells_)) return false;
    row = {cells_[text_], trim(cells_[label_]), has_split_ ? trim(cells_[split_]) : std::string_view()};
    return true;
  }
  int64_t line() const override { return reader_.line(); }

 private:
  static CsvOptions options_for(char delimiter) {
    CsvOptions options;
    options.delimiter = delimiter;
    options.any_bytes = true;
    return options;
  }
  size_t place_of(const std::string& name, std::string_view key) const {
    const std::vector<std::string>& names = reader_.names();
    if (const auto place = std::find(names.begin(), names.end(), name); place != names.end())
      return static_cast<size_t>(place - names.begin());
    const std::string hint = header_hint(names, delimiter_, name, training_words);
    throw UserError(fmt::format("column '{}' is not in {}; it has: {}.{}{}", name, path_.string(), list_some(names),
                                did_you_mean(name, names),
                                hint.empty() ? fmt::format(" Set data.{} to one of them.", key) : hint));
  }

  std::filesystem::path path_;
  char delimiter_;
  CsvReader reader_;
  size_t text_ = 0, label_ = 0, split_ = 0;
  bool has_split_ = false;
  std::vector<std::string_view> cells_;
};

class JsonRows : public TextRowReader {
 public:
  JsonRows(const std::filesystem::path& path, const TextColumns& columns) : lines_(path, wanted(columns)) {}
  bool next(TextRow& row) override {
    if (!lines_.next()) return false;
    row.text = lines_.text(0);
    row.label = trim(lines_.scalar(1));
    row.split = lines_.count() > 2 ? trim(lines_.text(2)) : std::string_view();
    return true;
  }
  int64_t line() const override { return lines_.line(); }

 private:
  static std::vector<std::string> wanted(const TextColumns& columns) {
    std::vector<std::string> keys = {columns.text, columns.label};
    if (!columns.split.empty()) keys.push_back(columns.split);
    return keys;
  }
  JsonLines lines_;
};

}  // namespace

std::unique_ptr<TextRowReader> open_text_rows(const std::filesystem::path& path, const TextColumns& columns, TextFormat format,
                                              char delimiter) {
  if (format == TextFormat::jsonl) return std::make_unique<JsonRows>(path, columns);
  return std::make_unique<SeparatedRows>(path, columns, delimiter);
}

}  // namespace l0gm
