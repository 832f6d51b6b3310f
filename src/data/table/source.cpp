#include "data/table/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/csv.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"
#include "data/catalogue.h"
#include "data/made/ctr_like.h"
#include "data/made/messy_table.h"
#include "data/made/planted_table.h"
#include "data/made/varied_table.h"
#include "data/splits.h"
#include "data/table/adult.h"
#include "data/table/fit.h"
#include "data/table/header_hint.h"
#include "data/table/perturb.h"
#include "data/unused_options.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

namespace fs = std::filesystem;

// The position of each of the table's columns in a further file.
std::vector<size_t> match_columns(const std::vector<std::string>& wanted, const std::vector<std::string>& found,
                                  const fs::path& first, const fs::path& path) {
  std::vector<size_t> order;
  for (const std::string& name : wanted) {
    const auto place = std::find(found.begin(), found.end(), name);
    if (place == found.end()) {
      throw UserError(
          fmt::format("{} has no column '{}', which {} has; it has: {}.{} Files of one dataset need the same columns.",
                      path.string(), name, first.string(), list_some(found), did_you_mean(name, found)));
    }
    order.push_back(static_cast<size_t>(place - found.begin()));
  }
  for (const std::string& name : found) {
    if (std::find(wanted.begin(), wanted.end(), name) != wanted.end()) continue;
    throw UserError(fmt::format(
        "{} has a column '{}', which {} does not have; that one has: {}.{} Files of one dataset need the same columns.",
        path.string(), name, first.string(), list_some(wanted), did_you_mean(name, wanted)));
  }
  return order;
}

// A file that has one column by this delimiter; before its rows are read, which would be refused by the number of their cells
// where they have decimal commas.
void refuse_another_delimiter(const std::vector<std::string>& names, const fs::path& path, const DataOptions& options) {
  if (!options.header || names.size() != 1 || names.front() == options.label) return;
  const std::string hint = header_hint(names, delimiter_of(options), options.label, training_words);
  if (hint.empty()) return;
  throw UserError(fmt::format("column '{}' is not in {}; it has: {}.{}", options.label, path.string(), names.front(), hint));
}

// Appends the rows of a file to the table; the first file defines the columns.
std::vector<int64_t> append_file(TableDataset& dataset, const fs::path& path, const DataOptions& options) {
  CsvOptions csv;
  csv.delimiter = delimiter_of(options);
  csv.header = options.header;
  CsvReader reader(path, csv);
  refuse_another_delimiter(reader.names(), path, options);
  if (dataset.files.empty()) dataset.table = TextTable(reader.names());
  const fs::path first = dataset.files.empty() ? path : dataset.files.front().path;
  const std::vector<size_t> order = match_columns(dataset.table.names(), reader.names(), first, path);
  const int64_t begin = dataset.table.rows();
  dataset.table.places.begin_file(path.string());
  std::vector<std::string_view> cells, ordered(order.size());
  while (reader.next(cells)) {
    dataset.table.places.add(dataset.table.rows(), reader.line());
    for (size_t i = 0; i < order.size(); ++i) ordered[i] = cells[order[i]];
    dataset.table.add_row(ordered);
  }
  std::vector<int64_t> rows(static_cast<size_t>(dataset.table.rows() - begin));
  if (rows.empty())
    throw UserError(fmt::format("{} has a header but no rows. Give a file with at least one row.", path.string()));
  std::iota(rows.begin(), rows.end(), begin);
  dataset.files.push_back({path, sha256_file(path)});
  return rows;
}

int64_t column_named(const TextTable& table, const std::string& name, std::string_view key, const fs::path& path,
                     const DataOptions& options) {
  const std::string listed = list_some(table.names());
  if (name.empty())
    throw UserError(fmt::format("data.{} is not set. Set it to one of the columns of {}: {}.", key, path.string(), listed));
  const int64_t column = table.column(name);
  if (column >= 0) return column;
  const std::string hint = options.header ? header_hint(table.names(), delimiter_of(options), name, training_words) : "";
  throw UserError(fmt::format("column '{}' is not in {}; it has: {}.{}{}", name, path.string(), listed,
                              did_you_mean(name, table.names()),
                              hint.empty() ? fmt::format(" Set data.{} to one of them.", key) : hint));
}

TextTable without_column(const TextTable& table, int64_t column) {
  std::vector<std::string> names = table.names();
  names.erase(names.begin() + column);
  TextTable rest(std::move(names));
  rest.places = table.places;
  std::vector<std::string_view> cells;
  for (int64_t row = 0; row < table.rows(); ++row) {
    cells.clear();
    for (int64_t i = 0; i < table.columns(); ++i) {
      if (i != column) cells.push_back(table.cell(row, i));
    }
    rest.add_row(cells);
  }
  return rest;
}

// The split column is not a feature, since it would reveal the part of a row: it is removed from the table.
void apply_split_column(TableDataset& dataset, const DataOptions& options) {
  if (!options.valid.empty() || !options.test.empty()) {
    throw UserError(
        "data.split.column is set together with data.valid or data.test: the split comes from a column or from files. Remove "
        "one.");
  }
  const int64_t column = column_named(dataset.table, options.split.column, "split.column", options.train, options);
  if (column == dataset.label) {
    throw UserError(
        fmt::format("data.split.column and data.label are both '{}'. Set one of them to another column.", options.label));
  }
  SplitRows rows = split_by_column(dataset.table, column);
  if (rows.valid.empty()) {
    throw UserError(
        fmt::format("column '{}' of {} says 'valid' in no row; the best checkpoint is picked on validation rows. Mark some rows "
                    "valid, or remove data.split.column to have them drawn.",
                    options.split.column, options.train));
  }
  dataset.train = std::move(rows.train);
  dataset.valid = std::move(rows.valid);
  dataset.test = std::move(rows.test);
  dataset.table = without_column(dataset.table, column);
  dataset.label -= column < dataset.label ? 1 : 0;
}

// Validation and test rows come from their own files where given; otherwise they are drawn from the training file's rows.
void split_by_files(TableDataset& dataset, const DataOptions& options, std::vector<int64_t> train) {
  if (!options.valid.empty()) dataset.valid = append_file(dataset, options.valid, options);
  if (!options.test.empty()) dataset.test = append_file(dataset, options.test, options);
  std::vector<double> shares;
  if (options.valid.empty()) shares.push_back(options.split.valid);
  if (options.test.empty()) shares.push_back(options.split.test);
  if (shares.empty()) {
    dataset.train = std::move(train);
    return;
  }
  auto parts = stratified_rows(dataset.table, dataset.label, train, shares, static_cast<uint64_t>(options.split.seed));
  dataset.train = std::move(parts[0]);
  if (options.valid.empty()) dataset.valid = std::move(parts[1]);
  if (options.test.empty()) dataset.test = std::move(parts.back());
}

// The column of weights is not a feature either.
void take_weights(TableDataset& dataset, const DataOptions& options) {
  const int64_t column = column_named(dataset.table, options.weight, "weight", options.train, options);
  if (column == dataset.label) {
    throw UserError(fmt::format("data.weight and data.label are both '{}'. Set one of them to another column.", options.label));
  }
  double sum = 0;
  for (int64_t row = 0; row < dataset.table.rows(); ++row) {
    const std::string_view cell = dataset.table.cell(row, column);
    const auto weight = parse_double(cell);
    if (!weight || !(*weight >= 0) || std::isinf(*weight)) {
      throw UserError(fmt::format("{}: the weight '{}' is '{}', wanted a number, 0 or more. Correct it, or remove data.weight.",
                                  dataset.table.places.of(row), options.weight, cell));
    }
    dataset.weights.push_back(*weight);
  }
  for (const int64_t row : dataset.train) sum += dataset.weights[static_cast<size_t>(row)];
  if (!(sum > 0)) throw UserError(fmt::format("data.weight = \"{}\" is 0 in every training row.", options.weight));
  dataset.table = without_column(dataset.table, column);
  dataset.label -= column < dataset.label ? 1 : 0;
}

TableDataset load_own(const DataOptions& options) {
  if (options.train.empty()) {
    throw UserError(fmt::format("data.source is '{}', but data.train is not set. Set data.train to your file.", options.source));
  }
  TableDataset dataset;
  std::vector<int64_t> train = append_file(dataset, options.train, options);
  dataset.name = fs::path(options.train).filename().string();
  dataset.label = column_named(dataset.table, options.label, "label", options.train, options);
  if (!options.split.column.empty()) {
    apply_split_column(dataset, options);
  } else {
    split_by_files(dataset, options, std::move(train));
  }
  if (dataset.train.empty()) throw UserError(fmt::format("no row of {} is left for training. Change data.split.", options.train));
  if (!options.weight.empty()) take_weights(dataset, options);
  if (dataset.test.empty()) log_info(fmt::format("{}: there are no test rows.", dataset.name));
  return dataset;
}

void write_split_json(const Schema& schema, const fs::path& folder) {
  std::vector<std::string> categorical, numeric;
  for (const Column& column : schema.columns) (column.type == ColumnType::numeric ? numeric : categorical).push_back(column.name);
  const nlohmann::json json = {{"label", schema.label},
                               {"classes", schema.classes},
                               {"categorical", categorical},
                               {"numeric", numeric},
                               {"missing", schema.missing_marks}};
  write_file_atomically(folder / "split.json", json.dump(2) + "\n");
}

TableDataset load_as_split(const DataOptions& options, int64_t seed) {
  if (options.source.empty()) {
    throw UserError(
        "data.source is not set. Set it to a dataset's name (`l0gm data list`), or to csv or tsv for your own table.");
  }
  const CatalogueEntry& entry = catalogue_entry(options.source);
  if (entry.modality != "table")
    throw UserError(fmt::format("data.source = \"{}\" is a {}, wanted a table", entry.name, entry.modality));
  if (!options.text.empty()) {
    throw UserError(fmt::format("data.text is '{}', which makes {} a dataset of texts, and wanted is a table. Remove data.text.",
                                options.text, entry.name));
  }
  const std::string protocol = protocol_of(entry, options.protocol);
  if (entry.own) {
    refuse_unused_with_files(options);
    return load_own(options);
  }
  const bool made = entry.files.empty();
  const std::string_view label = entry.name == "adult" ? "income" : entry.name == "ctr-like" ? "click" : "label";
  refuse_unused_with_catalogue(options, made, label, "csv or tsv for your own table");
  // Folds are dealt from one split, whatever seed each of them is trained with.
  if (!made) return load_adult(options.dir, protocol, options.split.folds ? 0 : seed);
  const auto row_seed = static_cast<uint64_t>(options.split.seed);
  if (entry.name == "messy-table") return make_messy_table(options.rows, row_seed);
  if (entry.name == "ctr-like") return make_ctr_table(options.rows, row_seed);
  if (entry.name == "varied-table") return make_varied_table(row_seed, protocol == "sized" ? options.rows : 0);
  const PlantedVariant variant = protocol == "instance" ? PlantedVariant::instance : PlantedVariant::global;
  return make_planted_table(options.rows, row_seed, variant);
}

}  // namespace

TableDataset load_table(const DataOptions& options, int64_t seed) {
  TableDataset dataset = load_as_split(options, seed);
  dataset.name += fold_suffix(options.split);
  apply_folds(options.split, dataset.train, dataset.valid, dataset.test,
              [&](const std::vector<int64_t>& rows) { return class_numbers(dataset.table, dataset.label, rows); });
  return dataset;
}

char delimiter_of(const DataOptions& options) {
  if (options.delimiter.empty()) return options.source == "tsv" ? '\t' : ',';
  if (options.delimiter == "\\t") return '\t';  // what --set data.delimiter='\t' arrives as
  const char delimiter = options.delimiter[0];
  const bool unusable = delimiter == '"' || delimiter == '\n' || delimiter == '\r' ||
                        static_cast<unsigned char>(delimiter) >= 0x80 || delimiter == 0;
  if (options.delimiter.size() != 1 || unusable) {
    throw UserError(
        fmt::format("data.delimiter is '{}', wanted one ASCII character other than a quote or line break, such as , ; | or \\t.",
                    options.delimiter));
  }
  return delimiter;
}

void export_split(const TableDataset& dataset, const fs::path& folder) {
  write_numbered_rows(dataset.table, dataset.train, folder / "train.csv");
  write_numbered_rows(dataset.table, dataset.valid, folder / "valid.csv");
  write_numbered_rows(dataset.table, dataset.test, folder / "test.csv");
}

Schema export_table(const TableDataset& dataset, const TableOptions& options,
                    const std::map<std::string, ColumnOptions>& column_options, const std::map<std::string, std::string>& types,
                    const fs::path& folder) {
  Schema schema = fit_schema(dataset.table, dataset.label, dataset.train, options, column_options, types);
  std::error_code ignored;
  fs::remove(folder / "perturbed.json", ignored);  // perturbed copies of an earlier export are not of these rows
  export_split(dataset, folder);
  write_split_json(schema, folder);
  return schema;
}

}  // namespace l0gm
