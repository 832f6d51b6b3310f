#pragma once

#include <string>
#include <utility>

#include "gate/toy_gate.h"
#include "l0gm/gate_control.h"

// States, options and sites for tests of GateControl.
namespace l0gm::testing_tools {

inline const GateState annealing{Phase::anneal, 0.5, 1, 1}, hardened{Phase::harden, 0.5, 1, 1}, warming{Phase::warmup, 2, 0, 1};

inline GateOptions by_target(double target) {
  GateOptions options;
  options.target_active = target;
  resolve_control(options, false);
  return options;
}

inline GateOptions by_lambda(double lambda) {
  GateOptions options;
  options.lambda = lambda;
  resolve_control(options, false);
  return options;
}

inline GateOptions by_count(int64_t k) {
  GateOptions options;
  options.k = k;
  resolve_control(options, false);
  return options;
}

inline GateSite site_of(const GateOptions& options, const torch::Tensor& logits, torch::Tensor cost = {},
                        torch::Tensor index = {}, const std::string& name = "interface") {
  return {name, gate_with(options, logits, std::move(cost)), std::move(index), {}};
}

inline torch::Tensor open_units(const GateSite& site) {
  HardConcrete gate = site.gate;
  return gate->test_values(hardened).gt(0);
}

}  // namespace l0gm::testing_tools
