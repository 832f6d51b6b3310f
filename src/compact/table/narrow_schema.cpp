#include "compact/table/narrow_schema.h"

#include <algorithm>

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

// What stays: fields that are used or are keys of statistics that stay, columns of such fields and of cuts, statistics that are
// used and that no column's table holds.
struct Kept {
  std::vector<bool> fields, columns, statistics, cuts;
  explicit Kept(const Schema& schema, const std::vector<bool>& used)
      : fields(used), columns(schema.columns.size()), statistics(schema.statistics.size()), cuts(schema.cuts.size()) {}
};

// The first field of a column: one that only a cut reads is in the schema with it.
size_t first_field(const Schema& schema, int64_t column) {
  const auto found =
      std::find_if(schema.fields.begin(), schema.fields.end(), [&](const Field& field) { return field.column == column; });
  return static_cast<size_t>(found - schema.fields.begin());
}

// Per field: whether a statistic goes into its column's table. What trees read stays a number of its own.
std::vector<bool> held_by_tables(const Schema& schema) {
  std::vector<bool> held;
  for (const Field& field : schema.fields) held.push_back(is_held_by_table(schema, field));
  for (const TreeInput& input : schema.trees.inputs) {
    if (input.is_statistic()) held[static_cast<size_t>(input.part.field)] = false;
  }
  return held;
}

Kept kept_parts(const Schema& schema, const std::vector<bool>& used, const std::vector<bool>& held) {
  Kept kept(schema, used);
  std::vector<bool> column_of_cut(schema.columns.size(), false);
  const auto keep = [&](const KeyPart& part) {
    if (part.field >= 0) kept.fields[static_cast<size_t>(part.field)] = true;
    if (part.cut < 0) return;
    kept.cuts[static_cast<size_t>(part.cut)] = true;
    column_of_cut[static_cast<size_t>(schema.column_of(part))] = true;
  };
  for (const TreeInput& input : schema.trees.inputs) keep(input.part);
  for (size_t f = 0; f < schema.fields.size(); ++f) {
    if (schema.fields[f].kind != FieldKind::statistic || !kept.fields[f]) continue;
    const auto s = static_cast<size_t>(schema.fields[f].statistic);
    kept.fields[f] = !held[f];
    if (!held[f]) kept.statistics[s] = true;
    // Its code is looked up, or picks the row that holds the statistic.
    for (const KeyPart& part : {schema.statistics[s].first, schema.statistics[s].second}) keep(part);
  }
  for (size_t f = 0; f < kept.fields.size(); ++f) {
    if (kept.fields[f] && schema.fields[f].kind != FieldKind::statistic)
      kept.columns[static_cast<size_t>(schema.fields[f].column)] = true;
  }
  for (size_t c = 0; c < kept.columns.size(); ++c) {
    if (!column_of_cut[c] || kept.columns[c]) continue;
    kept.columns[c] = true;
    kept.fields[first_field(schema, static_cast<int64_t>(c))] = true;
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
  result.statistic_of_column = held_by_tables(before);
  const Kept kept = kept_parts(before, result.used, result.statistic_of_column);
  const std::vector<int64_t> column_now = numbers_of(kept.columns), field_now = numbers_of(kept.fields),
                             statistic_now = numbers_of(kept.statistics), cut_now = numbers_of(kept.cuts);
  Schema& schema = result.schema;
  schema = before;
  schema.columns.clear();
  schema.fields.clear();
  schema.statistics.clear();
  schema.cuts.clear();
  for (size_t c = 0; c < kept.columns.size(); ++c) {
    if (!kept.columns[c]) {
      result.closed_columns.push_back(before.columns[c].name);
      continue;
    }
    schema.columns.push_back(before.columns[c]);
    result.column_before.push_back(static_cast<int64_t>(c));
  }
  for (size_t c = 0; c < kept.cuts.size(); ++c) {
    if (!kept.cuts[c]) continue;
    Cut& cut = schema.cuts.emplace_back(before.cuts[c]);
    cut.column = column_now[static_cast<size_t>(cut.column)];
  }
  const auto renumber = [&](KeyPart& part) {
    if (part.field >= 0) part.field = field_now[static_cast<size_t>(part.field)];
    if (part.cut >= 0) part.cut = cut_now[static_cast<size_t>(part.cut)];
  };
  for (size_t s = 0; s < kept.statistics.size(); ++s) {
    if (!kept.statistics[s]) continue;
    Statistic& statistic = schema.statistics.emplace_back(before.statistics[s]);
    renumber(statistic.first);
    renumber(statistic.second);
  }
  for (TreeInput& input : schema.trees.inputs) renumber(input.part);
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
