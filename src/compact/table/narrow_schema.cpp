#include "compact/table/narrow_schema.h"

namespace l0gm {

namespace {

std::vector<bool> used_fields(const ModelProbe& probe, const torch::Tensor& open_dimensions) {
  const FieldEmbeddings& encoder = probe.encoder();
  const Schema& schema = probe.schema();
  const auto open = open_dimensions.accessor<bool, 1>();
  std::vector<bool> used(schema.fields.size(), false), open_source(encoder.source_names().size(), false);
  int64_t d = 0;
  for (size_t f = 0; f < schema.fields.size(); ++f) {
    const int64_t dimensions = schema.fields[f].kind == FieldKind::statistic ? 1 : encoder.field_width();
    for (int64_t i = 0; i < dimensions; ++i, ++d) {
      if (!open[d]) continue;
      used[f] = true;
      open_source[static_cast<size_t>(encoder.source_of_field()[f])] = true;
    }
  }
  for (size_t f = 0; f < used.size() && probe.linear() != nullptr; ++f) {
    used[f] = used[f] || open_source[static_cast<size_t>(encoder.source_of_field()[f])];
  }
  return used;
}

// What stays: fields that are used or are keys of statistics that stay, columns of such fields, statistics of pairs that are
// used.
struct Kept {
  std::vector<bool> fields, columns, statistics;
};

Kept kept_parts(const Schema& schema, const std::vector<bool>& used) {
  Kept kept{used, std::vector<bool>(schema.columns.size(), false), std::vector<bool>(schema.statistics.size(), false)};
  for (size_t f = 0; f < schema.fields.size(); ++f) {
    if (schema.fields[f].kind != FieldKind::statistic || !used[f]) continue;
    const auto s = static_cast<size_t>(schema.fields[f].statistic);
    const Statistic& statistic = schema.statistics[s];
    kept.fields[static_cast<size_t>(statistic.first)] = true;  // its code is looked up, or picks the row that holds the statistic
    if (statistic.second < 0) {
      kept.fields[f] = false;
    } else {
      kept.fields[static_cast<size_t>(statistic.second)] = true;
      kept.statistics[s] = true;
    }
  }
  for (size_t f = 0; f < kept.fields.size(); ++f) {
    if (kept.fields[f] && schema.fields[f].kind != FieldKind::statistic)
      kept.columns[static_cast<size_t>(schema.fields[f].column)] = true;
  }
  return kept;
}

// The number that each kept part has among those that stay; -1 for the others.
std::vector<int64_t> numbers_of(const std::vector<bool>& kept) {
  std::vector<int64_t> numbers;
  int64_t next = 0;
  for (const bool stays : kept) numbers.push_back(stays ? next++ : -1);
  return numbers;
}

}  // namespace

NarrowSchema narrow_schema(const ModelProbe& probe, const torch::Tensor& open_dimensions) {
  const Schema& before = probe.schema();
  NarrowSchema result;
  result.used = used_fields(probe, open_dimensions);
  for (const Field& field : before.fields) {
    const bool statistic = field.kind == FieldKind::statistic;
    result.statistic_of_column.push_back(statistic && before.statistics[static_cast<size_t>(field.statistic)].second < 0);
  }
  const Kept kept = kept_parts(before, result.used);
  const std::vector<int64_t> column_now = numbers_of(kept.columns), field_now = numbers_of(kept.fields),
                             statistic_now = numbers_of(kept.statistics);
  Schema& schema = result.schema;
  schema = before;
  schema.columns.clear();
  schema.fields.clear();
  schema.statistics.clear();
  for (size_t c = 0; c < kept.columns.size(); ++c) {
    if (!kept.columns[c]) {
      result.closed_columns.push_back(before.columns[c].name);
      continue;
    }
    schema.columns.push_back(before.columns[c]);
    result.column_before.push_back(static_cast<int64_t>(c));
  }
  for (size_t s = 0; s < kept.statistics.size(); ++s) {
    if (!kept.statistics[s]) continue;
    Statistic& statistic = schema.statistics.emplace_back(before.statistics[s]);
    statistic.first = field_now[static_cast<size_t>(statistic.first)];
    statistic.second = field_now[static_cast<size_t>(statistic.second)];
  }
  for (size_t f = 0; f < kept.fields.size(); ++f) {
    if (!kept.fields[f]) continue;
    result.field_before.push_back(static_cast<int64_t>(f));
    Field& field = schema.fields.emplace_back(before.fields[f]);
    field.column = column_now[static_cast<size_t>(field.column)];
    if (field.kind == FieldKind::statistic) field.statistic = statistic_now[static_cast<size_t>(field.statistic)];
  }
  return result;
}

}  // namespace l0gm
