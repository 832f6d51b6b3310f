#include "evaluation/planted_report.h"

#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "data/made/planted_table.h"
#include "evaluation/gate_report.h"

namespace l0gm {

namespace {

// Whether each column is open for each row: bool [rows, columns].
torch::Tensor open_columns_by_row(LoadedTable& run, const TableTensors& rows) {
  const torch::Tensor gates = gates_by_row(run, rows).gt(0).to(torch::kFloat32);
  const auto columns = static_cast<int64_t>(run.model->encoder().column_names().size());
  const auto read = run.model->encoder().columns_of_dimension();
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

nlohmann::json compare_sets(LoadedTable& run, const TableTensors& rows, const EncodedTable& codes) {
  const Schema& schema = run.table.schema;
  const PlantedRoles roles = planted_roles(PlantedVariant::instance);
  const torch::Tensor open = open_columns_by_row(run, rows);
  size_t selector = 0;
  while (selector < schema.fields.size() && schema.fields[selector].name != roles.selector) ++selector;
  const int64_t slot = selector < schema.fields.size() ? slots_of_fields(schema)[selector] : -1;
  if (selector == schema.fields.size()) return nlohmann::json::object();  // the user left it out
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
  return {{"right_set_open", static_cast<double>(right_open) / count},
          {"wrong_set_closed", static_cast<double>(wrong_closed) / count}};
}

}  // namespace

nlohmann::json compare_open(const std::vector<std::string>& planted, const nlohmann::json& open_columns) {
  std::vector<std::string> found, wrong;
  for (const auto& column : open_columns) {
    const std::string name = column["name"];
    (std::find(planted.begin(), planted.end(), name) != planted.end() ? found : wrong).push_back(name);
  }
  const auto read = static_cast<double>(open_columns.size());
  return {{"planted", planted},
          {"found", found},
          {"wrong", wrong},
          {"precision", read > 0 ? static_cast<double>(found.size()) / read : 0},
          {"recall", static_cast<double>(found.size()) / static_cast<double>(planted.size())}};
}

nlohmann::json compare_with_planted(LoadedTable& run, const TableTensors& rows, const EncodedTable& codes,
                                    const nlohmann::json& open_columns) {
  c10::InferenceMode inference;
  nlohmann::json result = compare_open(run.table.planted, open_columns);
  if (run.config.data.source != "planted-table") return result;
  if (run.config.data.protocol != "instance") result["product"] = planted_roles(PlantedVariant::global).product;
  if (run.config.data.protocol == "instance") result.update(compare_sets(run, rows, codes));
  return result;
}

}  // namespace l0gm
