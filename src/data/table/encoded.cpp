#include "data/table/encoded.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <unordered_map>

#include "base/text.h"
#include "base/threads.h"
#include "data/table/fit.h"
#include "data/table/labels.h"
#include "l0gm/error.h"

namespace l0gm {

std::vector<int64_t> match_columns(const std::vector<std::string>& names, const Schema& schema) {
  std::vector<std::string> wanted;
  for (const Column& column : schema.columns) wanted.push_back(column.name);
  return match_columns(names, wanted);
}

std::vector<int64_t> match_columns(const std::vector<std::string>& names, const std::vector<std::string>& wanted) {
  std::unordered_map<std::string_view, int64_t> where;
  for (size_t i = 0; i < names.size(); ++i) where.emplace(names[i], static_cast<int64_t>(i));
  std::vector<int64_t> result;
  result.reserve(wanted.size());
  for (const std::string& column : wanted) {
    const auto found = where.find(column);
    if (found == where.end()) {
      throw UserError(
          fmt::format("column '{}', which the model reads, is not in the table; it has: {}.{} "
                      "Add the column or correct its name in the header.",
                      column, list_some(names), did_you_mean(column, names)));
    }
    result.push_back(found->second);
  }
  return result;
}

namespace {

constexpr int64_t rows_at_once = 4096;

void add_counts(const RowEncoder::Counts& from, RowEncoder::Counts& to) {
  const auto add_each = [](const std::vector<int64_t>& more, std::vector<int64_t>& sums) {
    for (size_t i = 0; i < more.size(); ++i) sums[i] += more[i];
  };
  add_each(from.missing, to.missing);
  add_each(from.unseen, to.unseen);
  add_each(from.unreadable, to.unreadable);
}

}  // namespace

EncodedTable encode_rows(const TextTable& table, const RowEncoder& encoder, const std::vector<int64_t>& rows, bool with_labels,
                         RowEncoder::Counts* counts) {
  const Schema& schema = encoder.schema();
  const std::vector<int64_t> columns = match_columns(table.names(), schema);
  int64_t label_column = -1;
  if (with_labels) {
    label_column = find_column(table.names(), schema.label, "the label column");
    check_labels(table, label_column, schema.classes, schema.missing_marks, rows, "");
  }
  EncodedTable result;
  result.code_slots = schema.code_slots();
  result.slope_slots = schema.slope_slots();
  const auto code_slots = static_cast<size_t>(result.code_slots), slope_slots = static_cast<size_t>(result.slope_slots);
  result.codes.resize(rows.size() * code_slots);
  result.slopes.resize(rows.size() * slope_slots);
  result.row_numbers = rows;
  if (with_labels) result.labels.resize(rows.size());
  std::mutex counts_lock;
  parallel_for(std::ssize(rows), rows_at_once, [&](int64_t begin, int64_t end) {
    std::vector<std::string_view> cells(columns.size());
    RowEncoder::Counts here;
    if (counts != nullptr) here = encoder.empty_counts();
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      for (size_t c = 0; c < columns.size(); ++c) cells[c] = table.cell(rows[i], columns[c]);
      encoder.encode(cells.data(), result.codes.data() + i * code_slots, result.slopes.data() + i * slope_slots,
                     counts != nullptr ? &here : nullptr);
      if (with_labels) result.labels[i] = encoder.class_of(table.cell(rows[i], label_column));
    }
    if (counts == nullptr) return;
    const std::lock_guard hold(counts_lock);
    add_counts(here, *counts);
  });
  return result;
}

namespace {

constexpr size_t most_ranks = 256;

// The training slopes of a periodic field at evenly spaced ranks; missing values have none.
std::vector<double> ranked_slopes(const EncodedTable& table, int64_t slot) {
  std::vector<float> slopes;
  for (int64_t row = 0; row < table.rows(); ++row) {
    if (table.codes[static_cast<size_t>(row * table.code_slots + slot)] != 0) {
      slopes.push_back(table.slopes[static_cast<size_t>(row * table.slope_slots + slot)]);
    }
  }
  std::sort(slopes.begin(), slopes.end());
  const size_t count = std::min(most_ranks, slopes.size());
  std::vector<double> ranked;
  for (size_t i = 0; i < count; ++i) ranked.push_back(static_cast<double>(slopes[(2 * i + 1) * slopes.size() / (2 * count)]));
  return ranked;
}

void count_row(const EncodedTable& table, const Field& field, int64_t row, int64_t slot, FieldCounts& counts) {
  const int32_t* code = table.codes.data() + row * table.code_slots + slot;
  const float* slope = table.slopes.data() + row * table.slope_slots + slot;
  const bool weighted = field.kind == FieldKind::multi;
  for (int64_t i = 0; i < field.slots; ++i, ++code, ++slope) {
    counts.count[static_cast<size_t>(*code)] += weighted ? static_cast<double>(*slope) : 1.0;
    if (!weighted) counts.slope_sum[static_cast<size_t>(*code)] += static_cast<double>(*slope);
  }
}

}  // namespace

std::vector<FieldCounts> count_fields(const EncodedTable& table, const Schema& schema) {
  if (table.code_slots != schema.code_slots() || table.slope_slots != schema.slope_slots()) {
    throw std::logic_error("count_fields: the table was encoded with another schema");
  }
  std::vector<FieldCounts> counts(schema.fields.size());
  const std::vector<int64_t> slots = slots_of_fields(schema);
  size_t coded = 0;  // statistics, which have no codes, come last
  for (size_t f = 0; f < counts.size(); ++f) {
    counts[f].count.assign(static_cast<size_t>(schema.fields[f].rows()), 0.0);
    counts[f].slope_sum = counts[f].count;
    if (schema.fields[f].kind != FieldKind::statistic) coded = f + 1;
  }
  // A thread takes neighbouring fields and adds their rows up in order: the same bits for any number of threads.
  const int64_t threads = thread_limit(), at_once = (static_cast<int64_t>(coded) + threads - 1) / threads;
  parallel_for(static_cast<int64_t>(coded), at_once, [&](int64_t begin, int64_t end) {
    for (int64_t row = 0; row < table.rows(); ++row) {
      for (auto f = static_cast<size_t>(begin); f < static_cast<size_t>(end); ++f)
        count_row(table, schema.fields[f], row, slots[f], counts[f]);
    }
    for (auto f = static_cast<size_t>(begin); f < static_cast<size_t>(end); ++f) {
      if (schema.fields[f].kind == FieldKind::periodic) counts[f].slopes = ranked_slopes(table, slots[f]);
    }
  });
  return counts;
}

}  // namespace l0gm
