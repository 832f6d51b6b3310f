#include "runtime/table_net.h"

#include <fmt/format.h>

#include "l0gm/error.h"

namespace l0gm {
namespace {

// The fields of one column, apart from statistics: at most one that picks a row per code and one that measures a number.
struct ColumnFields {
  const Field* code = nullptr;
  const Field* value = nullptr;
  int64_t code_slot = -1, value_slot = -1;

  void add(const Field& field, int64_t slot) {
    const bool of_codes = field.is_lookup() || field.kind == FieldKind::multi;
    const Field*& place = of_codes ? code : value;
    if (place != nullptr) {
      throw UserError(
          fmt::format("the schema gives one column the fields '{}' and '{}', wanted at most one field of codes and one of "
                      "numeric values; compact a run whose schema was fitted by this program",
                      place->name, field.name));
    }
    place = &field;
    (of_codes ? code_slot : value_slot) = slot;
  }
};

NetColumn column_of(const ColumnFields& fields, int64_t index) {
  NetColumn column;
  column.column = index;
  column.code_slot = fields.code_slot;
  column.value_slot = fields.value_slot;
  if (fields.value == nullptr) {
    column.kind = fields.code->kind == FieldKind::multi ? NetColumn::Kind::several : NetColumn::Kind::code;
    column.slots = fields.code->slots;
    column.codes = fields.code->rows();
    return column;
  }
  column.kind = NetColumn::Kind::number;
  column.bins = fields.value->rows() - 1;                              // without missing
  if (fields.code != nullptr) column.known = fields.code->rows() - 2;  // without missing and unseen
  return column;
}

}  // namespace

std::vector<NetColumn> columns_of(const Schema& schema) {
  const std::vector<int64_t> slots = slots_of_fields(schema);
  std::vector<ColumnFields> fields(schema.columns.size());
  for (size_t f = 0; f < schema.fields.size(); ++f) {
    const Field& field = schema.fields[f];
    if (field.kind != FieldKind::statistic) fields[static_cast<size_t>(field.column)].add(field, slots[f]);
  }
  std::vector<NetColumn> columns;
  for (size_t c = 0; c < fields.size(); ++c) {
    const ColumnFields& of_column = fields[c];
    const bool mixed = of_column.value != nullptr && of_column.code != nullptr && of_column.code->kind != FieldKind::exact;
    if ((of_column.code == nullptr && of_column.value == nullptr) || mixed) {
      throw UserError(fmt::format(
          "the schema's column '{}' has {}, wanted a field of codes, a numeric field, or a numeric field with its exact "
          "values; compact a run whose schema was fitted by this program",
          schema.columns[c].name, mixed ? "a numeric field beside a text field" : "no field"));
    }
    columns.push_back(column_of(of_column, static_cast<int64_t>(c)));
  }
  return columns;
}

}  // namespace l0gm
