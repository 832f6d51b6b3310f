#include "data/table/perturb.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/csv.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/text.h"
#include "data/table/encoded.h"
#include "encode/table/number_text.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view row_column = "row";

double noisy(const Column& column, double value, double amount, RandomStream draws) {
  const double moved = value + amount * column.deviation * draws.normal();
  if (column.integral) return std::clamp(std::nearbyint(moved), column.low, column.high);
  constexpr double most = std::numeric_limits<double>::max();  // huge values must not become infinite
  return std::clamp(moved, -most, most);
}

double quantised(const Column& column, double value, double bits) {
  const double level = nearest_level(column.low, column.high, value, bits);
  return column.integral ? std::nearbyint(level) : level;
}

void append_line(std::string& line, const std::vector<std::string>& cells) {
  for (const std::string& cell : cells) append_csv_cell(line += ',', cell);
  line += '\n';
}

}  // namespace

Perturber::Perturber(const Schema& schema, const std::vector<std::string>& names, Perturbation perturbation, uint64_t seed)
    : perturbation_(std::move(perturbation)), seed_(seed), condition_key_(perturbation_key(perturbation_.name)) {
  const std::vector<int64_t> where = match_columns(names, schema);
  for (size_t i = 0; i < where.size(); ++i) {
    const Column& column = schema.columns[i];
    places_.push_back({static_cast<size_t>(where[i]), column, MissingMarks(schema.missing_marks, column.missing_marks),
                       perturbation_key(column.name)});
  }
}

uint64_t Perturber::key(int64_t row, uint64_t of_column) const {
  return mix_key(seed_, condition_key_, static_cast<uint64_t>(row), of_column);
}

void Perturber::empty_some(int64_t row, std::vector<std::string>& cells) const {
  for (const Place& place : places_) {
    if (RandomStream(key(row, place.key)).uniform() < perturbation_.amount) cells[place.cell].clear();
  }
}

void Perturber::empty_block(int64_t row, std::vector<std::string>& cells) const {
  // No column has an empty name.
  const auto [begin, length] = draw_block(places_.size(), perturbation_.amount, RandomStream(key(row, perturbation_key(""))));
  for (size_t i = begin; i < begin + length; ++i) cells[places_[i].cell].clear();
}

void Perturber::change_number(int64_t row, const Place& place, std::string& cell) const {
  const Column& column = place.column;
  const std::string_view text = trim(cell);
  if (column.type != ColumnType::numeric || place.marks.contains(text)) return;
  const auto value = parse_number(text, column.notation);
  if (!value || !std::isfinite(*value)) return;
  const double changed = perturbation_.damage == Damage::noise
                             ? noisy(column, *value, perturbation_.amount, RandomStream(key(row, place.key)))
                             : quantised(column, *value, perturbation_.amount);
  cell = number_text(changed + 0.0, column.notation);  // -0 becomes 0
}

void Perturber::apply(int64_t row, std::vector<std::string>& cells) const {
  switch (perturbation_.damage) {
    case Damage::missing:
      return empty_some(row, cells);
    case Damage::occlude:
      return empty_block(row, cells);
    case Damage::noise:
    case Damage::quantise:
      break;
  }
  for (const Place& place : places_) change_number(row, place, cells[place.cell]);
}

std::string write_numbered_rows(const TextTable& table, const std::vector<int64_t>& rows, const fs::path& path,
                                const Perturber* perturber) {
  if (table.column(row_column) >= 0) {
    throw UserError(fmt::format(
        "the table to be written to {} has a column called '{}', the name that exported and perturbed files use for the "
        "row's number. Rename the column.",
        path.string(), row_column));
  }
  if (const fs::path folder = path.parent_path(); !folder.empty()) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) throw UserError(fmt::format("cannot create the folder {}: {}.", folder.string(), error.message()));
  }
  AtomicFile file(path);
  Sha256 hash;
  const auto write = [&](const std::string& line) {
    file.write(line);
    hash.update(line.data(), line.size());
  };
  std::string line(row_column);
  append_line(line, table.names());
  write(line);
  std::vector<std::string> cells(static_cast<size_t>(table.columns()));
  for (const int64_t row : rows) {
    for (size_t i = 0; i < cells.size(); ++i) cells[i] = table.cell(row, static_cast<int64_t>(i));
    if (perturber != nullptr) perturber->apply(row, cells);
    line = std::to_string(row);
    append_line(line, cells);
    write(line);
  }
  file.commit();
  return hash.hex();
}

nlohmann::json export_perturbed(const TableDataset& dataset, const Schema& schema, uint64_t seed, const fs::path& folder) {
  nlohmann::json result = {{"seed", seed}, {"conditions", nlohmann::json::object()}};
  for (const Perturbation& perturbation : perturbations()) {
    const std::string file = fmt::format("perturbed/test-{}.csv", perturbation.name);
    const Perturber perturber(schema, dataset.table.names(), perturbation, seed);
    const std::string sha256 = write_numbered_rows(dataset.table, dataset.test, folder / file, &perturber);
    result["conditions"][perturbation.name] = {{"file", file}, {"sha256", sha256}};
  }
  write_file_atomically(folder / "perturbed.json", result.dump(2) + "\n");
  return result;
}

}  // namespace l0gm
