#include "data/table/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/log.h"
#include "base/random.h"
#include "base/threads.h"
#include "encode/table/statistics.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

constexpr size_t folds = statistic_folds;
// A smaller spread is mostly noise of leaving out folds, which standardising would amplify.
constexpr double least_deviation = 0.2;
constexpr uint64_t fold_seed = 0x666F6C64;
constexpr int64_t scratch_bytes_of_a_row = 48, most_scratch_bytes = int64_t{4} << 30;
constexpr int64_t most_class_counts = 100'000'000;  // of all statistics together: 800 MB of schema

struct Training {
  Training(const Schema& schema, const EncodedTable& rows);
  const EncodedTable& table;
  size_t classes;
  std::vector<int64_t> slots;  // of fields
  std::vector<uint8_t> fold;   // of rows
};

Training::Training(const Schema& schema, const EncodedTable& rows)
    : table(rows), classes(schema.classes.size()), slots(slots_of_fields(schema)) {
  if (rows.rows() == 0 || rows.labels.size() != rows.row_numbers.size())
    throw std::logic_error("statistics: rows with labels are needed");
  if (rows.code_slots != schema.code_slots()) throw std::logic_error("statistics: the rows were encoded with another schema");
  for (const int32_t label : rows.labels) {
    if (label < 0 || static_cast<size_t>(label) >= classes)
      throw std::logic_error("statistics: a label is not a class of the schema");
  }
  fold.reserve(rows.row_numbers.size());
  for (const int64_t number : rows.row_numbers) fold.push_back(static_cast<uint8_t>(statistic_fold(number)));
}

// Calls work(i) for i = 0 … count - 1, in as many threads as their copies of the rows' numbers leave memory for.
void for_each_at_once(const Training& training, int64_t count, const std::function<void(size_t)>& work) {
  const int64_t most = std::max<int64_t>(1, most_scratch_bytes / (scratch_bytes_of_a_row * training.table.rows()));
  std::atomic<int64_t> next{0};
  parallel_for(std::min({count, most, thread_limit()}), 1, [&](int64_t, int64_t) {
    for (int64_t i = next++; i < count; i = next++) work(static_cast<size_t>(i));
  });
}

Groups group_by(const Schema& schema, const Training& training, const Statistic& statistic) {
  const StatisticKey key(schema, statistic, training.slots);
  return group_rows(training.table.codes.data(), training.table.rows(), training.table.code_slots, key);
}

// How many training rows of one key there are by fold, and by fold and class.
struct KeyCounts {
  std::array<int64_t, folds> rows{};
  int64_t all_rows = 0;
  std::vector<int64_t> of_class;      // folds x classes
  std::vector<int64_t> all_of_class;  // classes
};

// Calls visit(k, counts) for each key, ascending.
template <class Visit>
void count_keys(const Training& training, const Groups& groups, Visit visit) {
  KeyCounts counts;
  for (size_t k = 0; k < groups.keys.size(); ++k) {
    counts.rows.fill(0);
    counts.of_class.assign(folds * training.classes, 0);
    counts.all_of_class.assign(training.classes, 0);
    counts.all_rows = static_cast<int64_t>(groups.starts[k + 1] - groups.starts[k]);
    for (size_t i = groups.starts[k]; i < groups.starts[k + 1]; ++i) {
      const auto label = static_cast<size_t>(training.table.labels[groups.rows[i]]);
      const size_t fold = training.fold[groups.rows[i]];
      ++counts.rows[fold];
      ++counts.of_class[fold * training.classes + label];
      ++counts.all_of_class[label];
    }
    visit(k, counts);
  }
}

// Estimated mutual information of a field's key with the label, in nats (statistics.h). Summed by key, fold and class: the
// same bits in any order of rows.
double information(const Schema& schema, const Training& training, int64_t field) {
  std::vector<double> prior;
  for (size_t c = 0; c < training.classes; ++c) prior.push_back(prior_of_class(schema, static_cast<int64_t>(c)));
  const Groups groups = group_by(schema, training, {field, -1, {}, {}, {}});
  double sum = 0;
  count_keys(training, groups, [&](size_t, const KeyCounts& counts) {
    for (size_t fold = 0; fold < folds; ++fold) {
      if (counts.rows[fold] == 0) continue;
      const double others = static_cast<double>(counts.all_rows - counts.rows[fold]) + schema.smoothing;
      for (size_t c = 0; c < training.classes; ++c) {
        const int64_t here = counts.of_class[fold * training.classes + c];
        if (here == 0) continue;
        const double of_class = static_cast<double>(counts.all_of_class[c] - here) + schema.smoothing * prior[c];
        sum += static_cast<double>(here) * std::log(of_class / others / prior[c]);
      }
    }
  });
  return sum / static_cast<double>(training.table.rows());
}

// The values of a field by row, each replaced by the order of its first occurrence: equal for two columns exactly when their
// values map one to one.
std::vector<int32_t> partition(const Training& training, int64_t field) {
  const auto slot = static_cast<size_t>(training.slots[static_cast<size_t>(field)]);
  const auto width = static_cast<size_t>(training.table.code_slots);
  std::vector<int32_t> parts(static_cast<size_t>(training.table.rows()));
  KeyIndex places;
  for (size_t row = 0; row < parts.size(); ++row) parts[row] = places.insert(training.table.codes[row * width + slot]);
  return parts;
}

// The fields that are keys, by column.
std::vector<int64_t> key_fields(const Schema& schema, const Training& training) {
  std::vector<int64_t> first(schema.columns.size(), -1);
  for (size_t f = schema.fields.size(); f-- > 0;) {
    if (schema.fields[f].is_lookup()) first[static_cast<size_t>(schema.fields[f].column)] = static_cast<int64_t>(f);
  }
  std::erase(first, -1);
  std::vector<uint64_t> hashes(first.size(), 0);
  for_each_at_once(training, std::ssize(first), [&](size_t i) {
    for (const int32_t part : partition(training, first[i]))
      hashes[i] = (hashes[i] ^ static_cast<uint64_t>(part)) * 0x100000001B3;
  });
  std::vector<int64_t> kept;
  std::unordered_multimap<uint64_t, int64_t> by_hash;  // avoids comparing all pairs of a thousand columns
  for (size_t i = 0; i < first.size(); ++i) {
    const auto [begin, end] = by_hash.equal_range(hashes[i]);
    const auto is_same = [&](const auto& earlier) {
      return partition(training, earlier.second) == partition(training, first[i]);
    };
    if (std::any_of(begin, end, is_same)) continue;
    by_hash.emplace(hashes[i], first[i]);
    kept.push_back(first[i]);
  }
  return kept;
}

// Of the key fields those to pair, in the same order.
std::vector<int64_t> fields_to_pair(const Schema& schema, const Training& training, const std::vector<int64_t>& fields,
                                    int64_t max_pairs) {
  size_t wanted = 1;
  while (wanted < fields.size() && static_cast<int64_t>((wanted + 1) * wanted / 2) <= max_pairs) ++wanted;
  if (wanted >= fields.size()) return fields;
  std::vector<double> information_of(fields.size());
  for_each_at_once(training, std::ssize(fields), [&](size_t i) { information_of[i] = information(schema, training, fields[i]); });
  std::vector<size_t> order(fields.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return information_of[a] > information_of[b]; });
  order.resize(wanted);
  std::sort(order.begin(), order.end());
  std::vector<int64_t> chosen;
  for (const size_t i : order) chosen.push_back(fields[i]);
  return chosen;
}

// Which classes get log odds, ascending.
std::vector<int64_t> classes_with_odds(const Schema& schema) {
  if (schema.classes.size() == 2) return {1};
  std::vector<int64_t> classes(schema.classes.size());
  std::iota(classes.begin(), classes.end(), int64_t{0});
  if (classes.size() <= static_cast<size_t>(most_classes_with_odds)) return classes;
  log_warning(fmt::format("table.statistics: of {} classes only the {} most frequent get log odds", classes.size(),
                          most_classes_with_odds));
  std::stable_sort(classes.begin(), classes.end(), [&](int64_t a, int64_t b) {
    return schema.class_rows[static_cast<size_t>(a)] > schema.class_rows[static_cast<size_t>(b)];
  });
  classes.resize(static_cast<size_t>(most_classes_with_odds));
  std::sort(classes.begin(), classes.end());
  return classes;
}

void add_fields(Schema& schema) {
  const std::vector<int64_t> classes = classes_with_odds(schema);
  std::unordered_set<std::string> names;
  for (const Field& field : schema.fields) names.insert(field.name);
  const auto column_of = [&](int64_t field) { return schema.fields[static_cast<size_t>(field)].column; };
  const auto column_name = [&](int64_t field) { return schema.columns[static_cast<size_t>(column_of(field))].name; };
  for (size_t s = 0; s < schema.statistics.size(); ++s) {
    const Statistic& statistic = schema.statistics[s];
    std::string key = column_name(statistic.first);
    if (statistic.second >= 0) key += " x " + column_name(statistic.second);
    const auto add = [&](std::string name, int64_t of_class) {
      while (!names.insert(name).second) name += '\'';  // a column may itself be called "a x b"
      Field field;
      field.name = std::move(name);
      field.column = column_of(statistic.first);
      field.kind = FieldKind::statistic;
      field.statistic = static_cast<int64_t>(s);
      field.of_class = of_class;
      schema.fields.push_back(std::move(field));
    };
    for (const int64_t c : classes) {
      add(schema.classes.size() == 2 ? key + ": odds" : key + ": odds of " + schema.classes[static_cast<size_t>(c)], c);
    }
    add(key + ": rows", -1);
  }
}

void count_statistic(const Training& training, const Groups& groups, bool two_classes, Statistic& statistic) {
  statistic.counts.reserve(groups.keys.size());
  statistic.class_counts.reserve(groups.keys.size() * (two_classes ? 1 : training.classes));
  count_keys(training, groups, [&](size_t, const KeyCounts& counts) {
    statistic.counts.push_back(counts.all_rows);
    statistic.class_counts.insert(statistic.class_counts.end(), counts.all_of_class.begin() + (two_classes ? 1 : 0),
                                  counts.all_of_class.end());
  });
}

// The values of a statistic's fields outside the fold. All rows of one key and one fold share them: a cell.
struct Cells {
  std::vector<int64_t> rows;   // of each cell; by key, then fold
  std::vector<double> values;  // cells x fields
  std::vector<size_t> of_row;  // the cell of each training row
};

// Rows encoded later are counted in all folds: scales counts of nine folds up to ten, so that both have the same distribution.
int64_t as_if_all_folds(int64_t rows) { return std::llround(static_cast<double>(rows) * folds / (folds - 1)); }

Cells out_of_fold(const Schema& schema, const Training& training, const Groups& groups, std::span<const Field> fields) {
  std::vector<StatisticFormula> formulas;
  for (const Field& field : fields) formulas.emplace_back(schema, field);
  Cells cells;
  cells.of_row.resize(groups.rows.size());
  count_keys(training, groups, [&](size_t k, const KeyCounts& counts) {
    std::array<size_t, folds> cell_of_fold{};
    for (size_t fold = 0; fold < folds; ++fold) {
      if (counts.rows[fold] == 0) continue;
      cell_of_fold[fold] = cells.rows.size();
      cells.rows.push_back(counts.rows[fold]);
      for (size_t f = 0; f < fields.size(); ++f) {
        const auto c = static_cast<size_t>(std::max<int64_t>(fields[f].of_class, 0));
        const int64_t others = counts.all_rows - counts.rows[fold];
        const int64_t rows = fields[f].of_class < 0 ? as_if_all_folds(others) : others;
        cells.values.push_back(formulas[f].value(rows, counts.all_of_class[c] - counts.of_class[fold * training.classes + c]));
      }
    }
    for (size_t i = groups.starts[k]; i < groups.starts[k + 1]; ++i) {
      cells.of_row[groups.rows[i]] = cell_of_fold[training.fold[groups.rows[i]]];
    }
  });
  return cells;
}

// Mean and deviation over training rows, summed by cell: the same bits in any order of rows.
void fit_scale(const Cells& cells, std::span<Field> fields) {
  const auto rows = static_cast<double>(cells.of_row.size());
  for (size_t f = 0; f < fields.size(); ++f) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < cells.rows.size(); ++i)
      sum += static_cast<double>(cells.rows[i]) * cells.values[i * fields.size() + f];
    fields[f].mean = sum / rows;
    for (size_t i = 0; i < cells.rows.size(); ++i) {
      const double distance = cells.values[i * fields.size() + f] - fields[f].mean;
      squares += static_cast<double>(cells.rows[i]) * distance * distance;
    }
    fields[f].deviation = std::sqrt(squares / rows);
    fields[f].deviation = std::max(least_deviation, fields[f].deviation);
  }
}

void write_slopes(const Cells& cells, std::span<const Field> fields, size_t first_slot, EncodedTable& train) {
  for (size_t row = 0; row < cells.of_row.size(); ++row) {
    const double* values = cells.values.data() + cells.of_row[row] * fields.size();
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

// For each statistic its first field and the one behind its last: the fields of a statistic are adjacent.
std::vector<std::pair<size_t, size_t>> fields_of_statistics(const Schema& schema) {
  std::vector<std::pair<size_t, size_t>> spans;
  for (size_t begin = 0, end = 0; begin < schema.fields.size(); begin = end) {
    const int64_t index = schema.fields[begin].statistic;
    for (end = begin + 1; end < schema.fields.size() && schema.fields[end].statistic == index;) ++end;
    if (index >= 0) spans.emplace_back(begin, end);
  }
  return spans;
}

// Writes the out-of-fold slopes of all statistics; `fit`: the same schema, which gets counts, means and deviations first.
// Each statistic has fields and slopes of its own: the result does not depend on how many are computed at once.
void fill(const Schema& schema, EncodedTable& train, Schema* fit) {
  widen_slopes(train, schema.slope_slots());
  const Training training(schema, train);
  const auto spans = fields_of_statistics(schema);
  std::atomic<int64_t> class_counts{0};
  for_each_at_once(training, std::ssize(spans), [&](size_t i) {
    const auto [begin, end] = spans[i];
    const auto index = static_cast<size_t>(schema.fields[begin].statistic);
    const Statistic& statistic = schema.statistics[index];
    const std::span<const Field> fields(schema.fields.data() + begin, end - begin);
    const Groups groups = group_by(schema, training, statistic);
    if (fit != nullptr) {
      Statistic& fitted = fit->statistics[index];
      fitted.keys = groups.keys;
      check_size(schema, class_counts += std::ssize(groups.keys) * schema.tracked_classes());
      count_statistic(training, groups, schema.classes.size() == 2, fitted);
    } else if (groups.keys != statistic.keys) {
      throw std::logic_error("statistics: the rows are not those that the schema was fitted to");
    }
    const Cells cells = out_of_fold(schema, training, groups, fields);
    if (fit != nullptr) fit_scale(cells, {fit->fields.data() + begin, fields.size()});
    write_slopes(cells, fields, static_cast<size_t>(training.slots[begin]), train);
  });
}

}  // namespace

int64_t statistic_fold(int64_t row_number) {
  return static_cast<int64_t>(mix_key(fold_seed, static_cast<uint64_t>(row_number)) % folds);
}

void fit_statistics(Schema& schema, EncodedTable& train, const TableOptions& options) {
  if (options.statistics == Statistics::none) return;
  if (!schema.statistics.empty()) throw std::logic_error("fit_statistics: the schema has statistics already");
  {
    const Training training(schema, train);
    schema.smoothing = options.smoothing;
    schema.class_rows.assign(schema.classes.size(), 0);
    for (const int32_t label : train.labels) ++schema.class_rows[static_cast<size_t>(label)];
    if (std::count(schema.class_rows.begin(), schema.class_rows.end(), 0) > 0)
      throw std::logic_error("fit_statistics: a class has no rows");
    const std::vector<int64_t> singles = key_fields(schema, training);
    for (const int64_t field : singles) schema.statistics.push_back({field, -1, {}, {}, {}});
    if (options.statistics == Statistics::pairs) {
      const std::vector<int64_t> paired = fields_to_pair(schema, training, singles, options.max_pairs);
      for (size_t i = 0; i < paired.size(); ++i) {
        for (size_t j = i + 1; j < paired.size(); ++j) schema.statistics.push_back({paired[i], paired[j], {}, {}, {}});
      }
    }
  }
  if (schema.statistics.empty()) {
    log_warning("table.statistics: no column has categories or exact values, so there are no statistics");
    return;
  }
  add_fields(schema);
  fill(schema, train, &schema);
}

void fill_out_of_fold(const Schema& schema, EncodedTable& train) {
  const int64_t rows = std::accumulate(schema.class_rows.begin(), schema.class_rows.end(), int64_t{0});
  if (schema.statistics.empty()) return;
  if (rows != train.rows()) throw std::logic_error("statistics: the rows are not those that the schema was fitted to");
  fill(schema, train, nullptr);
}

}  // namespace l0gm
