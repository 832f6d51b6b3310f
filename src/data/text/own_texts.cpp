#include "data/text/own_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>

#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"
#include "data/class_names.h"
#include "data/splits.h"
#include "data/table/source.h"
#include "data/text/text_rows.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

namespace fs = std::filesystem;

// While files are read, labels are numbered in the order in which they come; classes get their own order at the end.
class OwnTexts {
 public:
  explicit OwnTexts(const DataOptions& options)
      : options_(options),
        columns_{options.text, options.label, options.split.column},
        format_(options.source == "jsonl" ? TextFormat::jsonl : TextFormat::separated),
        delimiter_(format_ == TextFormat::jsonl ? '\0' : delimiter_of(options)) {}

  TextData load() {
    data_.name = fs::path(options_.train).filename().string();
    data_.label = options_.label;
    std::vector<int64_t> train = append(options_.train, Split::train);
    if (!options_.valid.empty()) data_.rows(Split::valid) = append(options_.valid, Split::valid);
    if (!options_.test.empty()) data_.rows(Split::test) = append(options_.test, Split::test);
    if (options_.split.column.empty()) {
      draw(std::move(train));
    } else {
      take_column();
    }
    name_classes();
    if (data_.rows(Split::test).empty()) log_info(fmt::format("{}: there are no test rows.", data_.name));
    finish(data_);
    return std::move(data_);
  }

 private:
  std::vector<int64_t> append(const fs::path& path, Split part) {
    const auto reader = open_text_rows(path, columns_, format_, delimiter_);
    const int64_t begin = data_.texts.size();
    for (TextRow row; reader->next(row);) {
      if (row.label.empty()) {
        throw UserError(fmt::format("{} line {}: the label '{}' is missing. Fill it in or remove the row.", path.string(),
                                    reader->line(), columns_.label));
      }
      if (!columns_.split.empty()) part = part_of(row, path, reader->line());
      data_.texts.add(row.text);
      parts_.push_back(part);
      data_.labels.push_back(number_of(row.label));
    }
    std::vector<int64_t> rows(static_cast<size_t>(data_.texts.size() - begin));
    if (rows.empty()) throw UserError(fmt::format("{} has no rows. Give a file with at least one.", path.string()));
    std::iota(rows.begin(), rows.end(), begin);
    data_.files.push_back({path, sha256_file(path)});
    return rows;
  }

  Split part_of(const TextRow& row, const fs::path& path, int64_t line) const {
    if (const std::optional<Split> part = split_named(row.split)) return *part;
    throw UserError(fmt::format("{} line {}: split column '{}' says '{}', wanted train, valid or test", path.string(), line,
                                columns_.split, row.split.substr(0, 40)));
  }

  int32_t number_of(std::string_view label) {
    if (const auto known = numbers_.find(label); known != numbers_.end()) return known->second;
    const auto number = static_cast<int32_t>(numbers_.size());
    numbers_.emplace(label, number);
    return number;
  }

  void take_column() {
    for (int64_t row = 0; row < data_.texts.size(); ++row) data_.rows(parts_[static_cast<size_t>(row)]).push_back(row);
    for (const Split part : {Split::train, Split::valid}) {
      if (!data_.rows(part).empty()) continue;
      throw UserError(
          fmt::format("column '{}' of {} says '{}' in no row; there must be training rows, and the best checkpoint is picked on "
                      "validation rows. Mark some rows, or remove data.split.column to have them drawn.",
                      columns_.split, options_.train, name_of_enum(part)));
    }
  }

  // Validation and test rows come from their own files where given; otherwise they are drawn from the training file's rows.
  void draw(std::vector<int64_t> train) {
    std::vector<double> shares;
    if (options_.valid.empty()) shares.push_back(options_.split.valid);
    if (options_.test.empty()) shares.push_back(options_.split.test);
    if (shares.empty()) {
      data_.rows(Split::train) = std::move(train);
      return;
    }
    // The training file comes first: its rows begin at 0. Classes are numbered by name, so that the parts do not depend on which
    // label comes first.
    std::vector<int32_t> by_name(numbers_.size()), classes;
    int32_t next = 0;
    for (const auto& [name, number] : numbers_) by_name[static_cast<size_t>(number)] = next++;
    for (const int64_t row : train) classes.push_back(by_name[static_cast<size_t>(data_.labels[static_cast<size_t>(row)])]);
    auto parts = stratified(classes, shares, static_cast<uint64_t>(options_.split.seed));
    data_.rows(Split::train) = std::move(parts[0]);
    if (options_.valid.empty()) data_.rows(Split::valid) = std::move(parts[1]);
    if (options_.test.empty()) data_.rows(Split::test) = std::move(parts.back());
  }

  // Classes are those of the training rows; a label of another part that is not among them is refused.
  void name_classes() {
    std::vector<std::string_view> names(numbers_.size());
    for (const auto& [name, number] : numbers_) names[static_cast<size_t>(number)] = name;
    std::vector<bool> trained(names.size(), false);
    for (const int64_t row : data_.rows(Split::train))
      trained[static_cast<size_t>(data_.labels[static_cast<size_t>(row)])] = true;
    for (size_t i = 0; i < names.size(); ++i) {
      if (trained[i]) data_.class_names.emplace_back(names[i]);
    }
    sort_class_names(data_.class_names);
    if (data_.class_names.size() < 2) {
      throw UserError(fmt::format("every training row of {} has the label '{}'. A classifier needs rows of two classes at least.",
                                  data_.name, data_.class_names.front()));
    }
    std::vector<int32_t> final_number(names.size(), -1);
    for (size_t i = 0; i < names.size(); ++i) {
      const auto place = std::find(data_.class_names.begin(), data_.class_names.end(), names[i]);
      if (place != data_.class_names.end()) final_number[i] = static_cast<int32_t>(place - data_.class_names.begin());
    }
    refuse_unseen(names, trained);
    for (int32_t& label : data_.labels) label = final_number[static_cast<size_t>(label)];
  }

  void refuse_unseen(const std::vector<std::string_view>& names, const std::vector<bool>& trained) const {
    for (const Split part : {Split::valid, Split::test}) {
      for (const int64_t row : data_.rows(part)) {
        const auto label = static_cast<size_t>(data_.labels[static_cast<size_t>(row)]);
        if (trained[label]) continue;
        throw UserError(
            fmt::format("data row {} ({}): the label '{}' is '{}', a class that the training rows do not have; they have: {}.{} "
                        "Correct it, or add rows of that class to the training rows.",
                        row + 1, part == Split::valid ? "validation" : "test", data_.label, names[label],
                        list_some(data_.class_names), did_you_mean(names[label], data_.class_names)));
      }
    }
  }

  const DataOptions& options_;
  TextColumns columns_;
  TextFormat format_;
  char delimiter_;
  TextData data_;
  std::map<std::string, int32_t, std::less<>> numbers_;
  std::vector<Split> parts_;  // of each row, as its column or file says
};

void check_own_options(const DataOptions& options) {
  const auto need = [&](std::string_view key, const std::string& value, std::string_view what) {
    if (value.empty())
      throw UserError(
          fmt::format("data.source is '{}', but data.{} is not set. Set data.{} to {}.", options.source, key, key, what));
  };
  need("train", options.train, "your file");
  need("text", options.text, "the column (or key) that holds the text");
  need("label", options.label, "the column (or key) that holds the label");
  for (const auto& [key, value, other, its] : {std::tuple("text", &options.text, "label", &options.label),
                                               std::tuple("split.column", &options.split.column, "label", &options.label),
                                               std::tuple("split.column", &options.split.column, "text", &options.text)}) {
    if (*value == *its)
      throw UserError(fmt::format("data.{} and data.{} are both '{}'. Set one of them to another column.", key, other, *its));
  }
  if (!options.split.column.empty() && (!options.valid.empty() || !options.test.empty())) {
    throw UserError(
        "data.split.column is set together with data.valid or data.test: the split comes from a column or from files. Remove "
        "one.");
  }
  if (options.source == "jsonl" && !options.delimiter.empty()) {
    throw UserError(
        fmt::format("data.delimiter is '{}', but jsonl has no cells to separate. Remove data.delimiter.", options.delimiter));
  }
}

}  // namespace

TextData load_own_texts(const DataOptions& options) {
  check_own_options(options);
  return OwnTexts(options).load();
}

}  // namespace l0gm
