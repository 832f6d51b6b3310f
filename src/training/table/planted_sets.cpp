#include "training/table/planted_sets.h"

#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>

#include "data/made/planted_table.h"

namespace l0gm {

namespace {

// Whether each column is open for each row: bool [rows, columns].
torch::Tensor open_columns_by_row(TableRun& run, Split split) {
  const torch::Tensor gates = run.gates_by_row(split).gt(0).to(torch::kFloat32);
  const auto columns = static_cast<int64_t>(run.fields().column_names().size());
  const auto read = run.fields().columns_of_dimension();
  torch::Tensor reads = at::zeros({gates.size(1), columns});
  for (size_t d = 0; d < read.size(); ++d) {
    for (const int64_t column : read[d]) reads[static_cast<int64_t>(d)][column] = 1;
  }
  return at::mm(gates, reads).gt(0);
}

int64_t column_index(const Schema& schema, const std::string& name) {
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    if (schema.columns[i].name == name) return static_cast<int64_t>(i);
  }
  return -1;  // left out as constant: cannot be open
}

void compare_sets(TableRun& run, Split split, PlantedReport& report) {
  const Schema& schema = run.table.schema;
  const PlantedRoles roles = planted_roles(PlantedVariant::instance);
  size_t selector = 0;
  while (selector < schema.fields.size() && schema.fields[selector].name != roles.selector) ++selector;
  if (selector == schema.fields.size()) return;  // the user left it out
  const int64_t slot = slots_of_fields(schema)[selector];
  const torch::Tensor open = open_columns_by_row(run, split);
  const EncodedTable codes = run.encoded(split);
  int64_t right_open = 0, wrong_closed = 0;
  for (int64_t row = 0; row < codes.rows(); ++row) {
    const int32_t code = codes.codes[static_cast<size_t>(row * codes.code_slots + slot)];
    const size_t set = code >= 2 && schema.fields[selector].vocabulary[static_cast<size_t>(code - 2)] == "b" ? 1 : 0;
    const auto is_open = [&](const std::string& name) {
      const int64_t column = column_index(schema, name);
      return column >= 0 && open[row][column].item<bool>();
    };
    right_open += std::all_of(roles.sets[set].begin(), roles.sets[set].end(), is_open) ? 1 : 0;
    wrong_closed += std::none_of(roles.sets[1 - set].begin(), roles.sets[1 - set].end(), is_open) ? 1 : 0;
  }
  const auto count = static_cast<double>(codes.rows());
  report.right_set_open = static_cast<double>(right_open) / count;
  report.wrong_set_closed = static_cast<double>(wrong_closed) / count;
}

}  // namespace

void add_planted_sets(TableRun& run, Split split, PlantedReport& report) {
  c10::InferenceMode inference;
  if (run.config.data.source != "planted-table") return;
  if (run.config.data.protocol == "instance") {
    compare_sets(run, split, report);
  } else {
    report.product = planted_roles(PlantedVariant::global).product;
  }
}

}  // namespace l0gm
