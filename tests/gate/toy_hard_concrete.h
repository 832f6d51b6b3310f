#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "gate/toy_gate.h"

// States and gates for tests of HardConcrete.
namespace l0gm::testing_tools {

inline const std::vector<TestRule> all_rules = {TestRule::threshold, TestRule::median, TestRule::louizos};

inline GateState anneal(double tau = 0.5) { return {Phase::anneal, tau, 1, 1}; }
inline GateState harden(double tau = 0.5) { return {Phase::harden, tau, 1, 1}; }

inline GateOptions options_of(const nlohmann::json& entry, TestRule rule = TestRule::threshold) {
  GateOptions options;
  options.gamma = entry["gamma"];
  options.zeta = entry["zeta"];
  options.pi = entry["pi"];
  options.test_rule = rule;
  return options;
}

inline GateOptions instance_options(TestRule rule = TestRule::threshold, int64_t rank = 3) {
  GateOptions options;
  options.logits = LogitKind::instance;
  options.test_rule = rule;
  options.map_rank = rank;
  return options;
}

inline HardConcrete instance_gate(const nlohmann::json& entry, TestRule rule = TestRule::threshold) {
  HardConcrete gate = gate_with(instance_options(rule), tensor_of(entry["logits"]), tensor_of(entry["cost"]));
  set_parameter(gate, "range", tensor_of(entry["range"]));
  set_parameter(gate, "map_in", tensor_of(entry["map_in"]));
  set_parameter(gate, "map_out", tensor_of(entry["map_out"]));
  return gate;
}

}  // namespace l0gm::testing_tools
