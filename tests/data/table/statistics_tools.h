#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "data/table/statistics.h"

// Small encoded tables with target statistics, for tests.
namespace l0gm::statistics_tools {

struct Table {
  Schema schema;
  EncodedTable rows;
};

// A `multi` field of two slots, then a categorical field per column, whose codes are from 0 to below `codes`.
inline Table make(const std::vector<std::vector<int32_t>>& columns, std::vector<int32_t> labels, size_t classes = 2) {
  Table made;
  made.schema.columns.resize(columns.size() + 1);
  made.schema.fields.resize(columns.size() + 1);
  made.schema.columns[0].name = made.schema.fields[0].name = "tags";
  made.schema.columns[0].type = ColumnType::multi;
  made.schema.fields[0].kind = FieldKind::multi;
  made.schema.fields[0].slots = 2;
  for (size_t c = 0; c < columns.size(); ++c) {
    Field& field = made.schema.fields[c + 1];
    made.schema.columns[c + 1].name = field.name =
        std::string(1, static_cast<char>('a' + c % 26)) + (c < 26 ? "" : std::to_string(c / 26));
    field.column = static_cast<int64_t>(c + 1);
    const int32_t most = *std::max_element(columns[c].begin(), columns[c].end());
    for (int32_t v = 2; v <= std::max(most, 2); ++v) field.vocabulary.push_back(std::to_string(v));
  }
  for (size_t c = 0; c < classes; ++c) made.schema.classes.push_back("class" + std::to_string(c));
  made.rows.code_slots = made.rows.slope_slots = static_cast<int64_t>(columns.size() + 2);
  for (size_t row = 0; row < labels.size(); ++row) {
    made.rows.codes.insert(made.rows.codes.end(), {0, 1});
    for (const auto& column : columns) made.rows.codes.push_back(column[row]);
    for (int64_t s = 0; s < made.rows.slope_slots; ++s)
      made.rows.slopes.push_back(static_cast<float>(row) + 0.125F * static_cast<float>(s));
    made.rows.row_numbers.push_back(static_cast<int64_t>(3 * row + 1));
  }
  made.rows.labels = std::move(labels);
  return made;
}

inline std::vector<int32_t> random_codes(RandomStream& random, size_t rows, uint64_t codes) {
  std::vector<int32_t> result(rows);
  for (int32_t& code : result) code = static_cast<int32_t>(random.below(codes));
  return result;
}

inline TableOptions options_for(Statistics statistics, int64_t max_pairs = 100, double smoothing = 10) {
  TableOptions options;
  options.statistics = statistics;
  options.max_pairs = max_pairs;
  options.smoothing = smoothing;
  return options;
}

inline Table fitted(Table table, const TableOptions& options) {
  fit_statistics(table.schema, table.rows, options);
  return table;
}

// Three columns of which the first is informative about the label.
inline Table example(size_t rows, size_t classes, uint64_t seed) {
  RandomStream random(seed);
  std::vector<std::vector<int32_t>> columns = {random_codes(random, rows, 6), random_codes(random, rows, 9),
                                               random_codes(random, rows, 40)};
  std::vector<int32_t> labels;
  for (size_t row = 0; row < rows; ++row) {
    const auto other = static_cast<int32_t>(random.below(classes));
    labels.push_back(random.uniform() < 0.4 ? static_cast<int32_t>(static_cast<size_t>(columns[0][row]) % classes) : other);
  }
  return make(columns, labels, classes);
}

// The chance that a row of class 1 has the larger score.
inline double area(const std::vector<double>& scores, const std::vector<int32_t>& labels) {
  std::vector<std::pair<double, int32_t>> sorted;
  for (size_t i = 0; i < scores.size(); ++i) sorted.emplace_back(scores[i], labels[i]);
  std::sort(sorted.begin(), sorted.end());
  double below = 0, positives = 0, won = 0;
  for (size_t i = 0, end = 0; i < sorted.size(); i = end) {
    double ones = 0, zeros = 0;
    for (end = i; end < sorted.size() && sorted[end].first == sorted[i].first; ++end)
      (sorted[end].second == 1 ? ones : zeros) += 1;
    won += ones * (below + zeros / 2);
    below += zeros;
    positives += ones;
  }
  return won / (below * positives);
}

}  // namespace l0gm::statistics_tools
