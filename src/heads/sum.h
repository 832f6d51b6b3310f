#pragma once

#include <string>
#include <vector>

#include "heads/head.h"

namespace l0gm {

// logit = bias + sum of the branches' logits. The bias starts at the classes' log odds, so that training begins at the base rate.
class SumHead : public Head {
 public:
  SumHead(const std::vector<int64_t>& class_rows, int64_t members);
  void add(const std::string& name, std::shared_ptr<Head> branch);
  torch::Tensor forward(const torch::Tensor& interface, const Batch& batch, GatePass& pass) override;
  torch::Tensor forward_dropping(const torch::Tensor& interface, double share, const Batch& batch, GatePass& pass) override;
  bool drops_factors() const override;
  int64_t parameters_with(const torch::Tensor& kept) const override;
  void narrow(const torch::Tensor& kept, const torch::Tensor& values) override;
  std::vector<std::shared_ptr<GateSite>> make_sites(const GateOptions& gate) override;
  int64_t parameters_of_closed(const torch::Tensor& kept, const GateState& state) const override;
  void settle() override;
  bool reads_gates() const override;
  const torch::Tensor& bias() const { return bias_; }
  const std::vector<std::shared_ptr<Head>>& branches() const { return branches_; }

 private:
  torch::Tensor bias_;  // [members, outputs]
  std::vector<std::shared_ptr<Head>> branches_;
};

}  // namespace l0gm
