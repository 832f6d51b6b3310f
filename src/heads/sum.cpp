#include "heads/sum.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace l0gm {

SumHead::SumHead(const std::vector<int64_t>& class_rows, int64_t members) {
  const auto rows = static_cast<double>(std::accumulate(class_rows.begin(), class_rows.end(), int64_t{0}));
  std::vector<double> start;
  for (const int64_t of_class : class_rows) start.push_back(std::log((static_cast<double>(of_class) + 0.5) / (rows + 0.5)));
  if (class_rows.size() == 2) start = {start[1] - start[0]};
  bias_ = register_parameter("bias", at::tensor(start, torch::kFloat64).to(torch::kFloat32).unsqueeze(0).repeat({members, 1}));
}

void SumHead::add(const std::string& name, std::shared_ptr<Head> branch) {
  register_module(name, branch);
  branches_.push_back(std::move(branch));
}

torch::Tensor SumHead::forward(const torch::Tensor& interface, const Batch& batch, GatePass& pass) {
  torch::Tensor logits = bias_.unsqueeze(0);
  for (const auto& branch : branches_) logits = logits + branch->forward(interface, batch, pass);
  return logits;
}

torch::Tensor SumHead::forward_dropping(const torch::Tensor& interface, double share, const Batch& batch, GatePass& pass) {
  if (!drops_factors()) return Head::forward_dropping(interface, share, batch, pass);
  torch::Tensor logits = bias_.unsqueeze(0), dropped;
  for (const auto& branch : branches_) {
    if (branch->drops_factors()) {
      logits = logits + branch->forward_dropping(interface, share, batch, pass);
      continue;
    }
    if (!dropped.defined()) dropped = pass.dropout(interface, share, interface_dropout_place);
    logits = logits + branch->forward(dropped, batch, pass);
  }
  return logits;
}

bool SumHead::drops_factors() const {
  return std::any_of(branches_.begin(), branches_.end(), [](const auto& branch) { return branch->drops_factors(); });
}

int64_t SumHead::parameters_with(const torch::Tensor& kept) const {
  int64_t count = bias_.numel();
  for (const auto& branch : branches_) count += branch->parameters_with(kept);
  return count;
}

void SumHead::narrow(const torch::Tensor& kept, const torch::Tensor& values) {
  for (const auto& branch : branches_) branch->narrow(kept, values);
}

std::vector<std::shared_ptr<GateSite>> SumHead::make_sites(const GateOptions& gate) {
  std::vector<std::shared_ptr<GateSite>> sites;
  for (const auto& branch : branches_) {
    for (const auto& site : branch->make_sites(gate)) sites.push_back(site);
  }
  return sites;
}

int64_t SumHead::parameters_of_closed(const torch::Tensor& kept, const GateState& state) const {
  int64_t count = 0;
  for (const auto& branch : branches_) count += branch->parameters_of_closed(kept, state);
  return count;
}

bool SumHead::reads_gates() const {
  return std::any_of(branches_.begin(), branches_.end(), [](const auto& branch) { return branch->reads_gates(); });
}

void SumHead::settle() {
  for (const auto& branch : branches_) branch->settle();
}

}  // namespace l0gm
