#include "compact/about.h"

#include <fmt/format.h>

#include "base/version.h"
#include "gate/gate_figures.h"

namespace l0gm {

nlohmann::json about_run(const Run& run) {
  nlohmann::json about = {{"made_with", fmt::format("l0gm {} ({})", version, commit)},
                          {"dataset", run.record().dataset},
                          {"seed", run.config.train.seed},
                          {"model", run.config.model.name},
                          {"members", run.config.model.members},
                          {"files", nlohmann::json::array()}};
  for (const FileStamp& file : run.record().files) {
    about["files"].push_back({{"name", file.path.filename().string()}, {"sha256", file.sha256}});
  }
  return about;
}

nlohmann::json about_gate(const Run& run, const GatePass* examples) {
  const auto sites = run.model->sites();
  if (sites.empty()) return {{"unit", "none"}};
  const GateOptions& gate = run.config.gate;
  const nlohmann::json summary = run.folder.read_json(run.folder.summary());
  const GateFigures figures = gate_figures(sites, run.gate_state, examples);
  nlohmann::json about = {{"unit", name_of_enum(run.model->unit())},
                          {"logits", name_of_enum(gate.logits)},
                          {"attach", gate.attach.names()},
                          {"test_rule", name_of_enum(gate.test_rule)},
                          {"units", figures.units},
                          {"units_are", sites.size() == 1 ? sites[0]->noun : "units"},
                          {"open_units", figures.open_units},
                          {"ever_open_units", figures.ever_open_units},
                          {"active_fraction", figures.active_fraction},
                          {"projected_units", summary.value("projected_units", int64_t{0})},
                          {"converged", summary.value("converged", true)}};
  if (gate.cost == UnitCost::serving && figures.whole_cost) {
    about["served_microseconds"] = *figures.whole_cost / 1000;
    about["served_microseconds_dense"] = *figures.whole_cost_dense / 1000;
  }
  return about;
}

}  // namespace l0gm
