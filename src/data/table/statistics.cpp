#include "data/table/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "base/log.h"
#include "data/table/statistic_fields.h"
#include "data/table/statistic_groups.h"
#include "data/table/statistic_ranking.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

// A smaller spread is mostly noise of leaving out folds, which standardising would amplify.
constexpr double least_deviation = 0.2;
constexpr int64_t most_class_counts = 100'000'000;  // of all statistics together: 800 MB of schema

// Training rows with the codes of all keys that statistics have.
struct Training {
  Training(const Schema& schema, const EncodedTable& rows, const TextTable* texts);
  FoldedLabels labels;
  KeyColumns columns;
  std::map<std::pair<int64_t, int64_t>, KeyColumn> codes;  // by field and cut
  const KeyColumn* codes_of(const KeyPart& part) const { return part.empty() ? nullptr : &codes.at({part.field, part.cut}); }
  Groups group(const Statistic& statistic) const { return group_rows(*codes_of(statistic.first), codes_of(statistic.second)); }
};

Training::Training(const Schema& schema, const EncodedTable& rows, const TextTable* texts)
    : labels(rows, schema.classes.size()), columns(schema, rows, texts) {
  if (rows.code_slots != schema.code_slots()) throw std::logic_error("statistics: the rows were encoded with another schema");
  for (const Statistic& statistic : schema.statistics) {
    for (const KeyPart& part : {statistic.first, statistic.second}) {
      if (!part.empty()) codes.try_emplace({part.field, part.cut});
    }
  }
  std::vector<std::pair<const std::pair<int64_t, int64_t>, KeyColumn>*> all;
  for (auto& entry : codes) all.push_back(&entry);
  for_each_at_once(rows.rows(), std::ssize(all), [&](size_t i) {
    KeyPart part = all[i]->first.first;
    part.cut = all[i]->first.second;
    all[i]->second = columns.of(part);
  });
}

void count_statistic(const FoldedLabels& labels, const Groups& groups, bool two_classes, Statistic& statistic) {
  statistic.keys = groups.keys;
  statistic.counts.clear();
  statistic.class_counts.clear();
  statistic.counts.reserve(groups.keys.size());
  statistic.class_counts.reserve(groups.keys.size() * (two_classes ? 1 : labels.classes));
  count_keys(labels, groups, [&](size_t, const KeyCounts& counts) {
    statistic.counts.push_back(counts.all_rows);
    statistic.class_counts.insert(statistic.class_counts.end(), counts.all_of_class.begin() + (two_classes ? 1 : 0),
                                  counts.all_of_class.end());
  });
}

// The values of a statistic's fields outside the fold. All rows of one key and one fold share them: a cell.
struct FoldValues {
  std::vector<int64_t> rows;   // of each cell; by key, then fold
  std::vector<double> values;  // cells x fields
  std::vector<size_t> of_row;  // the cell of each training row
};

// Rows encoded later are counted in all folds: scales counts of nine folds up to ten, so that both have the same distribution.
int64_t as_if_all_folds(int64_t rows) {
  return std::llround(static_cast<double>(rows) * statistic_folds / (statistic_folds - 1));
}

FoldValues out_of_fold(const Schema& schema, const FoldedLabels& labels, const Groups& groups, std::span<const Field> fields) {
  std::vector<StatisticFormula> formulas;  // folds x fields
  for (const ClassRows& outside : labels.outside) {
    for (const Field& field : fields) formulas.emplace_back(schema, field, outside);
  }
  FoldValues result;
  result.of_row.resize(groups.rows.size());
  count_keys(labels, groups, [&](size_t k, const KeyCounts& counts) {
    std::array<size_t, statistic_folds> cell_of_fold{};
    for (size_t fold = 0; fold < statistic_folds; ++fold) {
      if (counts.rows[fold] == 0) continue;
      cell_of_fold[fold] = result.rows.size();
      result.rows.push_back(counts.rows[fold]);
      for (size_t f = 0; f < fields.size(); ++f) {
        const auto c = static_cast<size_t>(std::max<int64_t>(fields[f].of_class, 0));
        const int64_t others = counts.all_rows - counts.rows[fold];
        const int64_t rows = fields[f].of_class < 0 ? as_if_all_folds(others) : others;
        const int64_t of_class = counts.all_of_class[c] - counts.of_class[fold * labels.classes + c];
        result.values.push_back(formulas[fold * fields.size() + f].value(rows, of_class));
      }
    }
    for (uint32_t i = groups.starts[k]; i < groups.starts[k + 1]; ++i) {
      const uint32_t row = groups.rows[i];
      result.of_row[row] = cell_of_fold[labels.cells[row] / labels.classes];
    }
  });
  return result;
}

// Mean and root of the mean square around `centre`, or around the mean, over training rows; summed by cell: the same bits in any
// order of rows.
struct Spread {
  double mean = 0, deviation = 0;
};
Spread spread_of(const FoldValues& found, size_t field, size_t fields, std::optional<double> centre) {
  const auto rows = static_cast<double>(found.of_row.size());
  Spread spread;
  for (size_t i = 0; i < found.rows.size(); ++i)
    spread.mean += static_cast<double>(found.rows[i]) * found.values[i * fields + field] / rows;
  double squares = 0;
  for (size_t i = 0; i < found.rows.size(); ++i) {
    const double distance = found.values[i * fields + field] - centre.value_or(spread.mean);
    squares += static_cast<double>(found.rows[i]) * distance * distance;
  }
  spread.deviation = std::sqrt(squares / rows);
  return spread;
}

// Rows alone: how many there are of a key is no label's doing.
void fit_scale_of_rows(const FoldValues& found, std::span<Field> fields) {
  for (size_t f = 0; f < fields.size(); ++f) {
    if (fields[f].of_class >= 0) continue;
    const Spread spread = spread_of(found, f, fields.size(), std::nullopt);
    fields[f].mean = spread.mean;
    fields[f].deviation = std::max(least_deviation, spread.deviation);
  }
}

void write_slopes(const FoldValues& found, std::span<const Field> fields, size_t first_slot, EncodedTable& train) {
  for (size_t row = 0; row < found.of_row.size(); ++row) {
    const double* values = found.values.data() + found.of_row[row] * fields.size();
    float* slopes = train.slopes.data() + row * static_cast<size_t>(train.slope_slots) + first_slot;
    for (size_t f = 0; f < fields.size(); ++f) slopes[f] = standardised(fields[f], values[f]);
  }
}

// Appends room for further slopes to each row.
void widen_slopes(EncodedTable& table, int64_t slots) {
  if (table.slope_slots == slots) return;
  if (table.slope_slots != table.code_slots) throw std::logic_error("statistics: the rows have slopes of another schema");
  const auto rows = static_cast<size_t>(table.rows()), before = static_cast<size_t>(table.slope_slots),
             after = static_cast<size_t>(slots);
  std::vector<float> wide(rows * after);
  for (size_t row = 0; row < rows; ++row) std::copy_n(table.slopes.data() + row * before, before, wide.data() + row * after);
  table.slopes = std::move(wide);
  table.slope_slots = slots;
}

void check_size(const Schema& schema, int64_t counts) {
  if (counts <= most_class_counts) return;
  throw UserError(
      fmt::format("table.statistics: {} classes times all values make more than {} counts. "
                  "Set table.max_pairs lower or table.statistics to columns or none, or raise table.min_count.",
                  schema.classes.size(), most_class_counts));
}

// Writes the out-of-fold slopes of all statistics; `fit`: the same schema, which gets counts and the scale of rows first. Each
// statistic has fields and slopes of its own: the result does not depend on how many are computed at once.
void fill(const Schema& schema, EncodedTable& train, const TextTable* texts, Schema* fit) {
  widen_slopes(train, schema.slope_slots());
  const Training training(schema, train, texts);
  const std::vector<FieldSpan> spans = fields_of_statistics(schema);
  const std::vector<int64_t> slots = slots_of_fields(schema);
  std::atomic<int64_t> class_counts{0};
  for_each_at_once(train.rows(), std::ssize(spans), [&](size_t i) {
    const auto [begin, end] = spans[i];
    const auto index = static_cast<size_t>(schema.fields[begin].statistic);
    const std::span<const Field> fields(schema.fields.data() + begin, end - begin);
    const Groups groups = training.group(schema.statistics[index]);
    if (fit != nullptr) {
      check_size(schema, class_counts += std::ssize(groups.keys) * schema.tracked_classes());
      count_statistic(training.labels, groups, schema.classes.size() == 2, fit->statistics[index]);
    } else if (groups.keys != schema.statistics[index].keys) {
      throw std::logic_error("statistics: the rows are not those that the schema was fitted to");
    }
    const FoldValues found = out_of_fold(schema, training.labels, groups, fields);
    if (fit != nullptr) fit_scale_of_rows(found, {fit->fields.data() + begin, fields.size()});
    write_slopes(found, fields, static_cast<size_t>(slots[begin]), train);
  });
}

double nearest_power_of_two(double value) { return std::exp2(std::round(std::log2(std::clamp(value, 0.25, 4.0)))); }

// Chooses the scale of each key's inputs; `drop_even`: leaves out a number of rows that hardly differs between rows, as of a cut.
std::vector<ChosenStatistic> with_scales(Schema schema, const EncodedTable& train, const std::vector<ChosenKey>& keys,
                                         const TextTable* texts, bool drop_even) {
  std::vector<ChosenStatistic> chosen;
  for (const auto& [first, second] : keys) chosen.push_back({first, second});
  add_statistic_fields(schema, chosen);
  const Training training(schema, train, texts);
  const std::vector<FieldSpan> spans = fields_of_statistics(schema);
  for_each_at_once(train.rows(), std::ssize(spans), [&](size_t i) {
    const size_t count = spans[i].end - spans[i].begin;
    const std::span<const Field> fields(schema.fields.data() + spans[i].begin, count);
    const Groups groups = training.group(schema.statistics[i]);
    check_size(schema, std::ssize(groups.keys) * schema.tracked_classes());
    const FoldValues found = out_of_fold(schema, training.labels, groups, fields);
    double squares = 0;
    for (size_t f = 0; f + 1 < count; ++f) squares += std::pow(spread_of(found, f, count, 0.0).deviation, 2);
    chosen[i].odds_deviation = nearest_power_of_two(std::sqrt(squares / static_cast<double>(count - 1)));
    if (drop_even) chosen[i].with_rows = spread_of(found, count - 1, count, std::nullopt).deviation >= least_deviation;
  });
  return chosen;
}

void count_classes(Schema& schema, const EncodedTable& train) {
  const FoldedLabels checked(train, schema.classes.size());
  schema.class_rows.assign(schema.classes.size(), 0);
  for (const int32_t label : train.labels) ++schema.class_rows[static_cast<size_t>(label)];
  if (std::count(schema.class_rows.begin(), schema.class_rows.end(), 0) > 0)
    throw std::logic_error("fit_statistics: a class has no rows");
}

}  // namespace

void fit_statistics(Schema& schema, EncodedTable& train, const TableOptions& options, const TextTable* texts, bool with_pairs) {
  if (options.statistics == Statistics::none) return;
  if (!schema.statistics.empty()) throw std::logic_error("fit_statistics: the schema has statistics already");
  schema.smoothing = options.smoothing;
  count_classes(schema, train);
  const bool automatic = options.statistics == Statistics::automatic;
  const KeyColumns columns(schema, train, texts);
  const std::vector<ChosenKey> keys =
      automatic ? rank_keys(schema, train, columns, options, with_pairs) : choose_keys(schema, train, columns, options);
  const auto pairs = std::count_if(keys.begin(), keys.end(), [](const ChosenKey& key) { return !key.second.empty(); });
  if (automatic) log_info(fmt::format("target statistics: {} of columns, {} of pairs", std::ssize(keys) - pairs, pairs));
  if (keys.empty()) {
    if (!automatic) log_warning("table.statistics: no column has categories or exact values, so there are no statistics");
    return;
  }
  if (std::ssize(schema.classes) > most_classes_with_odds) {
    log_warning(fmt::format("table.statistics: of {} classes only the {} most frequent get log odds", schema.classes.size(),
                            most_classes_with_odds));
  }
  add_statistics(schema, train, with_scales(schema, train, keys, texts, automatic), texts);
}

void add_statistics(Schema& schema, EncodedTable& train, const std::vector<ChosenStatistic>& chosen, const TextTable* texts) {
  count_classes(schema, train);
  add_statistic_fields(schema, chosen);
  fill(schema, train, texts, &schema);
}

void fill_out_of_fold(const Schema& schema, EncodedTable& train, const TextTable* texts) {
  const int64_t rows = std::accumulate(schema.class_rows.begin(), schema.class_rows.end(), int64_t{0});
  if (schema.statistics.empty()) return;
  if (rows != train.rows()) throw std::logic_error("statistics: the rows are not those that the schema was fitted to");
  fill(schema, train, texts, nullptr);
}

}  // namespace l0gm
