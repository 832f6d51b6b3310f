#include "training/gate_report.h"

#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>

#include <cmath>

#include "base/files.h"
#include "gate/gate_figures.h"
#include "gate/tensor_values.h"
#include "run/gate_units.h"

namespace l0gm {

namespace {

constexpr double nanoseconds = 1000;  // of a microsecond

GateReport::Quantiles quantiles(const torch::Tensor& fractions) {
  const torch::Tensor sorted = std::get<0>(fractions.sort());
  const auto at_share = [&](double q) {
    return sorted[static_cast<int64_t>(q * static_cast<double>(sorted.numel() - 1))].item<double>();
  };
  return {at_share(0.05), at_share(0.5), at_share(0.95)};
}

}  // namespace

GateReport report_gates(Run& run, const std::function<torch::Tensor()>& gates) {
  c10::InferenceMode inference;
  const std::vector<const GateSite*> sites = run.model->sites();
  const GateSite* site = run.model->interface_site();
  GateFigures figures = gate_figures(sites, run.gate_state);
  GateReport report;
  if (sites.empty()) figures.units = figures.open_units = figures.ever_open_units = run.model->encoder().width();
  if (site != nullptr && site->gate->has_instance_logits()) {
    torch::Tensor open = gates().gt(0).to(torch::kFloat64);
    if (site->index.defined()) {  // the dimensions of a group are open or closed together: any of them tells
      open = at::zeros({open.size(0), site->gate->units()}, torch::kFloat64).index_copy_(1, site->index.cpu(), open);
    }
    const torch::Tensor by_unit = open.mean(0), cost = site->gate->cost().to(torch::kCPU, torch::kFloat64);
    const torch::Tensor fractions = at::matmul(open, cost) / cost.sum();
    figures.active_cost_fraction = fractions.mean().item<double>();
    figures.active_fraction = by_unit.mean().item<double>();
    figures.open_units = std::llround(by_unit.sum().item<double>());
    report.active_fraction_quantiles = quantiles(fractions);
  }
  report.units = figures.units;
  report.open_units = figures.open_units;
  report.ever_open_units = figures.ever_open_units;
  report.active_fraction = figures.active_fraction;
  report.active_cost_fraction = figures.active_cost_fraction;
  report.expected_active_fraction = figures.expected_active_fraction;
  report.undecided_fraction = figures.undecided_fraction;
  report.parameters = run.model->parameter_count(run.gate_state);
  report.parameters_dense = run.model->parameter_count();
  if (run.config.gate.cost == UnitCost::serving && figures.whole_cost) {
    report.served_microseconds = *figures.whole_cost / nanoseconds;
    report.served_microseconds_dense = *figures.whole_cost_dense / nanoseconds;
  }
  if (sites.size() == 1 && sites[0]->noun != "units") report.units_are = sites[0]->noun;
  report.test_rule = sites.empty() ? "none" : std::string(name_of_enum(run.config.gate.test_rule));
  return report;
}

void keep_units(const RunFolder& folder, const Model& model, const GateState& state) {
  c10::InferenceMode inference;
  nlohmann::json sites = nlohmann::json::array();
  for (const GateSite* site : model.sites()) {
    sites.push_back(
        fields_to_json(site_units(site->name, site->noun, site->unit_name, to_doubles(site->gate->open_probability(state.tau)),
                                  to_doubles(site->gate->test_values(state)))));
  }
  if (!sites.empty()) write_file_atomically(folder.gates(), nlohmann::json{{"sites", sites}}.dump() + "\n");
}

}  // namespace l0gm
