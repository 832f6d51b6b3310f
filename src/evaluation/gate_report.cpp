#include "evaluation/gate_report.h"

#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "gate/figures.h"

namespace l0gm {

namespace {

constexpr int64_t block = 4096;

nlohmann::json columns_of(const LoadedTable& run, const torch::Tensor& share_of_dimension) {
  const auto read = run.model->encoder().columns_of_dimension();
  const auto names = run.model->encoder().column_names();
  std::vector<int64_t> dimensions(names.size(), 0);
  std::vector<double> share(names.size(), 0);
  const torch::Tensor shares = share_of_dimension.contiguous();
  for (size_t d = 0; d < read.size(); ++d) {
    const double open = shares.data_ptr<double>()[d];
    for (const int64_t column : read[d]) {
      dimensions[static_cast<size_t>(column)] += open > 0 ? 1 : 0;
      share[static_cast<size_t>(column)] = std::max(share[static_cast<size_t>(column)], open);
    }
  }
  std::vector<size_t> order;
  for (size_t i = 0; i < names.size(); ++i) {
    if (dimensions[i] > 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return dimensions[a] > dimensions[b]; });
  nlohmann::json list = nlohmann::json::array();
  for (const size_t i : order)
    list.push_back({{"name", names[i]}, {"open_dimensions", dimensions[i]}, {"share_of_rows", share[i]}});
  return list;
}

nlohmann::json quantiles(torch::Tensor fractions) {
  const torch::Tensor sorted = std::get<0>(fractions.sort());
  const auto at_share = [&](double q) {
    return sorted[static_cast<int64_t>(q * static_cast<double>(sorted.numel() - 1))].item<double>();
  };
  return {{"p05", at_share(0.05)}, {"p50", at_share(0.5)}, {"p95", at_share(0.95)}};
}

}  // namespace

torch::Tensor gates_by_row(LoadedTable& run, const TableTensors& rows) {
  std::vector<torch::Tensor> parts;
  for (int64_t begin = 0; begin < rows.rows(); begin += block) {
    const auto batch = rows.range(begin, std::min(rows.rows(), begin + block));
    GatePass pass = GatePass::evaluation(run.gate_state, batch->example_ids);
    run.model->forward(*batch, pass);
    const torch::Tensor gates =
        run.model->sites().empty() ? at::ones({run.model->encoder().width()}) : pass.records()[0].gated.gates.cpu();
    parts.push_back(gates.expand({batch->codes.size(0), run.model->encoder().width()}));
  }
  return at::cat(parts);
}

nlohmann::json report_units(LoadedRun& run, const std::function<torch::Tensor()>& gates, torch::Tensor* share_of_dimension) {
  c10::InferenceMode inference;
  const std::vector<const GateSite*> sites = run.model->sites();
  const GateSite* site = run.model->interface_site();
  const torch::Tensor kept = run.model->open_dimensions(run.gate_state);
  torch::Tensor share = kept.to(torch::kFloat64);
  GateFigures figures = gate_figures(sites, run.gate_state);
  nlohmann::json result;
  if (sites.empty()) figures.units = figures.open_units = figures.ever_open_units = run.model->encoder().width();
  if (site != nullptr && site->gate->has_instance_logits()) {
    const torch::Tensor open = gates().gt(0).to(torch::kFloat64);
    share = open.mean(0);
    // The dimensions of a group are open or closed together: dimensions weighed by 1 are units weighed by cost, and any of them
    // tells.
    const torch::Tensor fractions = open.mean(1);
    figures.active_cost_fraction = fractions.mean().item<double>();
    const torch::Tensor index = site->index;
    const torch::Tensor by_unit =
        index.defined() ? at::zeros({site->gate->units()}, torch::kFloat64).index_copy_(0, index.cpu(), share) : share;
    figures.active_fraction = by_unit.mean().item<double>();
    figures.open_units = std::llround(by_unit.sum().item<double>());
    result["active_fraction_quantiles"] = quantiles(fractions);
  }
  result["units"] = figures.units;
  result["open_units"] = figures.open_units;
  result["ever_open_units"] = figures.ever_open_units;
  result["active_fraction"] = figures.active_fraction;
  result["active_cost_fraction"] = figures.active_cost_fraction;
  result["expected_active_fraction"] = figures.expected_active_fraction;
  result["undecided_fraction"] = figures.undecided_fraction;
  result["parameters"] = run.model->parameter_count(kept);
  result["parameters_dense"] = run.model->parameter_count();
  result["test_rule"] = sites.empty() ? "none" : std::string(name_of_enum(run.config.gate.test_rule));
  if (share_of_dimension != nullptr) *share_of_dimension = share;
  return result;
}

nlohmann::json report_gates(LoadedTable& run, const TableTensors& rows) {
  torch::Tensor share;
  nlohmann::json result = report_units(run, [&] { return gates_by_row(run, rows); }, &share);
  result["columns"] = run.model->encoder().column_names().size();
  result["open_columns"] = columns_of(run, share);
  return result;
}

}  // namespace l0gm
