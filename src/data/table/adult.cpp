#include "data/table/adult.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "base/csv.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"
#include "data/catalogue.h"
#include "data/fetch.h"
#include "data/splits.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

namespace fs = std::filesystem;
constexpr int64_t data_rows = 32561, test_rows = 16281, all_rows = data_rows + test_rows;

void read_part(TableDataset& dataset, const CatalogueFile& file, const std::string& folder) {
  const fs::path path = obtain_file(file, folder, FetchOptions::from_environment()).value();
  append_adult_rows(path, dataset.table);
  dataset.files.push_back({path, sha256_file(path)});
}

// Row numbers, one a line, from 0; each below `limit` and not `taken` before. `offset` moves them to the joint table.
std::vector<int64_t> read_rows(const fs::path& path, int64_t limit, int64_t offset, std::vector<bool>& taken) {
  CsvReader reader(path, {.delimiter = ',', .header = false, .names = {"row"}});
  std::vector<int64_t> rows;
  std::vector<std::string_view> cells;
  while (reader.next(cells)) {
    const std::optional<int64_t> row = parse_integer(cells[0]);
    if (!row || *row < 0 || *row >= limit || taken[static_cast<size_t>(*row + offset)]) {
      throw UserError(
          fmt::format("{} line {}: found '{}', wanted a row number from 0 to {} that is in one part of the split only. "
                      "Restore the file, or remove adult/split to have a split drawn.",
                      path.string(), reader.line(), cells[0], limit - 1));
    }
    taken[static_cast<size_t>(*row + offset)] = true;
    rows.push_back(*row + offset);
  }
  return rows;
}

// False when none of the three files exists.
bool read_fixed_split(TableDataset& dataset, const std::string& folder, const std::string& protocol, int64_t split) {
  const CatalogueEntry& entry = catalogue_entry("adult");
  const std::array<std::string, 3> names = {"train", "valid", "test"};
  std::array<std::optional<fs::path>, 3> paths;
  for (size_t i = 0; i < 3; ++i) {
    const CatalogueFile& file = catalogue_file(entry, fmt::format("adult/split/{}/{}/{}.csv.gz", protocol, split, names[i]));
    paths[i] = obtain_file(file, folder, {});
  }
  const auto present = std::count_if(paths.begin(), paths.end(), [](const auto& path) { return path.has_value(); });
  if (present == 0) return false;
  if (present < 3) {
    throw UserError(
        fmt::format("adult/split/{}/{} holds {} of the files train.csv.gz, valid.csv.gz, test.csv.gz. Add the missing ones, or "
                    "remove the folder to have a split drawn.",
                    protocol, split, present));
  }
  std::vector<bool> taken(static_cast<size_t>(all_rows), false);
  const bool uci = protocol == "uci";
  dataset.train = read_rows(*paths[0], uci ? data_rows : all_rows, 0, taken);
  dataset.valid = read_rows(*paths[1], uci ? data_rows : all_rows, 0, taken);
  dataset.test = read_rows(*paths[2], uci ? test_rows : all_rows, uci ? data_rows : 0, taken);
  for (const auto& path : paths) dataset.files.push_back({*path, sha256_file(*path)});
  return true;
}

void draw_split(TableDataset& dataset, const std::string& protocol, int64_t split) {
  const bool uci = protocol == "uci";
  std::vector<int64_t> rows(static_cast<size_t>(uci ? data_rows : all_rows));
  std::iota(rows.begin(), rows.end(), 0);
  std::vector<double> shares = {3908.0 / all_rows, 9769.0 / all_rows};
  if (uci) shares = {6513.0 / data_rows};
  auto parts = stratified_rows(dataset.table, dataset.label, rows, shares, static_cast<uint64_t>(split));
  dataset.train = std::move(parts[0]);
  dataset.valid = std::move(parts[1]);
  if (!uci) {
    dataset.test = std::move(parts[2]);
    return;
  }
  dataset.test.resize(test_rows);
  std::iota(dataset.test.begin(), dataset.test.end(), data_rows);
}

}  // namespace

const std::vector<std::string>& adult_columns() {
  static const std::vector<std::string> names = {
      "age",  "workclass", "fnlwgt",       "education",    "education-num",  "marital-status", "occupation", "relationship",
      "race", "sex",       "capital-gain", "capital-loss", "hours-per-week", "native-country", "income"};
  return names;
}

void append_adult_rows(const fs::path& path, TextTable& table) {
  CsvReader reader(path, {.delimiter = ',', .header = false, .names = adult_columns(), .trim_cells = true, .comment = '|'});
  std::vector<std::string_view> cells;
  while (reader.next(cells)) {
    std::string_view& label = cells.back();
    const std::string_view found = label;
    if (label.ends_with('.')) label.remove_suffix(1);
    if (label != "<=50K" && label != ">50K") {
      throw UserError(
          fmt::format("{} line {}: the label is '{}', wanted '<=50K' or '>50K'. Is this one of adult's files? `l0gm data get "
                      "adult` fetches them.",
                      path.string(), reader.line(), found));
    }
    table.add_row(cells);
  }
}

TableDataset load_adult(const std::string& folder, const std::string& protocol, int64_t seed) {
  const CatalogueEntry& entry = catalogue_entry("adult");
  const std::string chosen = protocol_of(entry, protocol);
  const int64_t split = ((seed % 3) + 3) % 3;
  TableDataset dataset;
  dataset.table = TextTable(adult_columns());
  dataset.label = dataset.table.columns() - 1;
  read_part(dataset, catalogue_file(entry, "adult/adult.data"), folder);
  read_part(dataset, catalogue_file(entry, "adult/adult.test"), folder);
  dataset.name = fmt::format("adult/{}/{}", chosen, split);
  if (!read_fixed_split(dataset, folder, chosen, split)) {
    draw_split(dataset, chosen, split);
    dataset.name = fmt::format("adult/{}/drawn-{}", chosen, split);
    log_info(
        fmt::format("adult: the files of split {} (adult/split/{}/{}) are not there; drew {} / {} / {} rows, stratified. Figures "
                    "are not comparable row by row with those of the fixed split.",
                    split, chosen, split, dataset.train.size(), dataset.valid.size(), dataset.test.size()));
  }
  return dataset;
}

}  // namespace l0gm
