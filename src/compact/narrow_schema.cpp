#include "compact/narrow_schema.h"

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

}  // namespace

NarrowSchema narrow_schema(const ModelProbe& probe, const torch::Tensor& open_dimensions) {
  const Schema& before = probe.schema();
  NarrowSchema result;
  result.used = used_fields(probe, open_dimensions);
  std::vector<bool> kept = result.used, kept_statistic(before.statistics.size(), false);
  result.statistic_of_column.resize(before.fields.size(), false);
  for (size_t f = 0; f < before.fields.size(); ++f) {
    if (before.fields[f].kind != FieldKind::statistic) continue;
    const auto s = static_cast<size_t>(before.fields[f].statistic);
    const Statistic& statistic = before.statistics[s];
    result.statistic_of_column[f] = statistic.second < 0;
    if (!result.used[f]) continue;
    kept[static_cast<size_t>(statistic.first)] = true;  // its code is looked up, or picks the row that holds the statistic
    if (statistic.second < 0) {
      kept[f] = false;
    } else {
      kept[static_cast<size_t>(statistic.second)] = true;
      kept_statistic[s] = true;
    }
  }

  Schema& schema = result.schema;
  schema = before;
  schema.columns.clear();
  schema.fields.clear();
  schema.statistics.clear();
  std::vector<bool> kept_column(before.columns.size(), false);
  for (size_t f = 0; f < kept.size(); ++f) {
    if (kept[f] && before.fields[f].kind != FieldKind::statistic) kept_column[static_cast<size_t>(before.fields[f].column)] = true;
  }
  std::vector<int64_t> column_now(before.columns.size(), -1), field_now(before.fields.size(), -1), statistic_now(before.statistics.size(), -1);
  for (size_t c = 0; c < kept_column.size(); ++c) {
    if (!kept_column[c]) {
      result.closed_columns.push_back(before.columns[c].name);
      continue;
    }
    column_now[c] = static_cast<int64_t>(schema.columns.size());
    schema.columns.push_back(before.columns[c]);
    result.column_before.push_back(static_cast<int64_t>(c));
  }
  for (size_t f = 0; f < kept.size(); ++f) {
    if (!kept[f]) continue;
    field_now[f] = static_cast<int64_t>(result.field_before.size());
    result.field_before.push_back(static_cast<int64_t>(f));
  }
  for (size_t s = 0; s < kept_statistic.size(); ++s) {
    if (!kept_statistic[s]) continue;
    statistic_now[s] = static_cast<int64_t>(schema.statistics.size());
    Statistic statistic = before.statistics[s];
    statistic.first = field_now[static_cast<size_t>(statistic.first)];
    statistic.second = field_now[static_cast<size_t>(statistic.second)];
    schema.statistics.push_back(std::move(statistic));
  }
  for (const int64_t f : result.field_before) {
    Field field = before.fields[static_cast<size_t>(f)];
    field.column = column_now[static_cast<size_t>(field.column)];
    if (field.kind == FieldKind::statistic) field.statistic = statistic_now[static_cast<size_t>(field.statistic)];
    schema.fields.push_back(std::move(field));
  }
  return result;
}

}  // namespace l0gm
