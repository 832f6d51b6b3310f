#include "data/splits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <unordered_map>

#include "base/random.h"
#include "base/text.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

void check_shares(std::span<const double> shares) {
  double sum = 0;
  for (const double share : shares) {
    if (!(share >= 0 && share < 1)) {
      throw UserError(fmt::format("a split share is {}, wanted 0 or more and below 1; change data.split", shortest(share)));
    }
    sum += share;
  }
  if (sum >= 1) {
    throw UserError(
        fmt::format("the held-out shares add up to {}, which leaves no row for training; change data.split.valid or "
                    "data.split.test",
                    shortest(sum)));
  }
}

void check_parts(const std::vector<std::vector<int64_t>>& parts, std::span<const double> shares, size_t rows) {
  for (size_t k = 0; k < shares.size(); ++k) {
    if (shares[k] > 0 && parts[k + 1].empty()) {
      throw UserError(
          fmt::format("a held-out share of {} of {} rows holds no row (every class keeps at least one row in "
                      "training); give more rows, a larger share or files of their own",
                      shortest(shares[k]), rows));
    }
  }
}

}  // namespace

std::vector<std::vector<int64_t>> stratified(std::span<const int32_t> labels, std::span<const double> shares, uint64_t seed) {
  check_shares(shares);
  std::map<int32_t, std::vector<int64_t>> by_class;
  for (size_t i = 0; i < labels.size(); ++i) by_class[labels[i]].push_back(static_cast<int64_t>(i));

  std::vector<std::vector<int64_t>> parts(shares.size() + 1);
  std::vector<double> carry(shares.size(), 0.0);  // rounding error of each part, passed on to the next class: totals are right
  for (const auto& [label, rows] : by_class) {
    RandomStream random(seed, mix_key(0x73706c6974, static_cast<uint64_t>(static_cast<uint32_t>(label))));
    const std::vector<int64_t> order = random.permutation(static_cast<int64_t>(rows.size()));
    int64_t left = static_cast<int64_t>(rows.size());
    const auto give = [&](size_t part) { parts[part].push_back(rows[static_cast<size_t>(order[static_cast<size_t>(--left)])]); };
    for (size_t k = 0; k < shares.size(); ++k) {
      const double exact = shares[k] * static_cast<double>(rows.size()) + carry[k];
      const int64_t taken = std::clamp<int64_t>(std::llround(exact), 0, left - 1);
      carry[k] = exact - static_cast<double>(taken);
      for (int64_t i = 0; i < taken; ++i) give(k + 1);
    }
    while (left > 0) give(0);
  }
  for (auto& part : parts) std::sort(part.begin(), part.end());
  check_parts(parts, shares, labels.size());
  return parts;
}

// By their text, so that the numbering does not depend on which comes first.
std::vector<int32_t> class_numbers(const TextTable& table, int64_t label_column, std::span<const int64_t> rows) {
  std::map<std::string_view, int32_t> number;
  for (const int64_t row : rows) number.emplace(trim(table.cell(row, label_column)), 0);
  int32_t next = 0;
  for (auto& [text, index] : number) index = next++;
  const std::unordered_map<std::string_view, int32_t> lookup(number.begin(), number.end());
  std::vector<int32_t> labels;
  labels.reserve(rows.size());
  for (const int64_t row : rows) labels.push_back(lookup.at(trim(table.cell(row, label_column))));
  return labels;
}

std::vector<std::vector<int64_t>> stratified_rows(const TextTable& table, int64_t label_column, std::span<const int64_t> rows,
                                                  std::span<const double> shares, uint64_t seed) {
  auto parts = stratified(class_numbers(table, label_column, rows), shares, seed);
  for (auto& part : parts) {
    for (int64_t& index : part) index = rows[static_cast<size_t>(index)];
  }
  return parts;
}

SplitRows fold_rows(std::span<const int64_t> rows, std::span<const int32_t> labels, const SplitOptions& options) {
  const int64_t folds = options.folds.value_or(0), fold = options.fold.value_or(0);
  if (folds < 2 || fold < 0 || fold >= folds) {
    throw UserError(
        fmt::format("data.split.folds is {} and data.split.fold {}: wanted two folds at least, and a fold from 0 to {}.", folds,
                    fold, std::max<int64_t>(folds, 2) - 1));
  }
  std::map<int32_t, std::vector<size_t>> by_class;
  for (size_t i = 0; i < labels.size(); ++i) by_class[labels[i]].push_back(i);
  const auto seed = static_cast<uint64_t>(options.fold_seed.value_or(0));
  std::vector<bool> held_out(rows.size(), false);
  uint64_t next = 0;  // goes on from class to class: folds are equal in size, too
  for (const auto& [label, places] : by_class) {
    if (places.size() < 2) continue;
    RandomStream random(seed, mix_key(0x666f6c64, static_cast<uint64_t>(static_cast<uint32_t>(label))));
    for (const int64_t place : random.permutation(static_cast<int64_t>(places.size()))) {
      held_out[places[static_cast<size_t>(place)]] = static_cast<int64_t>(next++ % static_cast<uint64_t>(folds)) == fold;
    }
  }
  SplitRows split;
  std::vector<int64_t> rest;
  std::vector<int32_t> rest_labels;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (held_out[i]) {
      split.test.push_back(rows[i]);
      continue;
    }
    rest.push_back(rows[i]);
    rest_labels.push_back(labels[i]);
  }
  if (split.test.empty()) {
    throw UserError(fmt::format("data.split.folds is {}, and there are {} rows: fold {} has none. Ask for fewer folds.", folds,
                                rows.size(), fold));
  }
  const double shares[] = {options.valid};
  const auto parts = stratified(rest_labels, shares, mix_key(seed, 0x76616c6964));
  for (const int64_t place : parts[0]) split.train.push_back(rest[static_cast<size_t>(place)]);
  for (const int64_t place : parts[1]) split.valid.push_back(rest[static_cast<size_t>(place)]);
  return split;
}

void apply_folds(const SplitOptions& options, std::vector<int64_t>& train, std::vector<int64_t>& valid,
                 std::vector<int64_t>& test,
                 const std::function<std::vector<int32_t>(const std::vector<int64_t>& rows)>& labels_of) {
  if (!options.folds) return;
  std::vector<int64_t> rows = train;
  rows.insert(rows.end(), valid.begin(), valid.end());
  std::sort(rows.begin(), rows.end());
  SplitRows split = fold_rows(rows, labels_of(rows), options);
  train = std::move(split.train);
  valid = std::move(split.valid);
  test = std::move(split.test);
}

std::string fold_suffix(const SplitOptions& options) {
  if (!options.folds) return "";
  const std::string dealt = options.fold_seed.value_or(0) == 0 ? "" : fmt::format(", deal {}", *options.fold_seed);
  return fmt::format(" (fold {} of {}{})", options.fold.value_or(0), *options.folds, dealt);
}

std::optional<Split> split_named(std::string_view name) {
  const std::string word = lower(trim(name));
  if (word == "train" || word == "training") return Split::train;
  if (word == "valid" || word == "validation" || word == "val" || word == "dev") return Split::valid;
  if (word == "test") return Split::test;
  return std::nullopt;
}

SplitRows split_by_column(const TextTable& table, int64_t column) {
  SplitRows split;
  const std::string& column_name = table.names()[static_cast<size_t>(column)];
  for (int64_t row = 0; row < table.rows(); ++row) {
    const std::optional<Split> part = split_named(table.cell(row, column));
    if (part == Split::train) {
      split.train.push_back(row);
    } else if (part == Split::valid) {
      split.valid.push_back(row);
    } else if (part == Split::test) {
      split.test.push_back(row);
    } else {
      throw UserError(fmt::format("{}: split column '{}' says '{}', wanted train, valid or test", table.places.of(row),
                                  column_name, trim(table.cell(row, column))));
    }
  }
  if (split.train.empty()) {
    throw UserError(fmt::format("split column '{}' marks no row as train; at least one is needed", column_name));
  }
  return split;
}

}  // namespace l0gm
