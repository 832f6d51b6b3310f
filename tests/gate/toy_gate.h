#pragma once

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "l0gm/gate_pass.h"

namespace l0gm::testing_tools {

inline nlohmann::json gate_reference() {
  const std::string path = std::string(L0GM_TEST_REFERENCE_DIR) + "/gate_reference.json";
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open " + path);
  return nlohmann::json::parse(file);
}

// Nested lists of numbers as a tensor.
inline torch::Tensor tensor_of(const nlohmann::json& json) {
  if (!json.at(0).is_array()) return at::tensor(json.get<std::vector<double>>(), torch::kFloat64);
  std::vector<torch::Tensor> rows;
  for (const auto& row : json) rows.push_back(tensor_of(row));
  return at::stack(rows);
}

inline torch::Tensor reals(const std::vector<double>& values) { return at::tensor(values, torch::kFloat64); }
inline torch::Tensor ids(int64_t begin, int64_t end) { return at::arange(begin, end, torch::kInt64); }
inline torch::Tensor flags(const std::vector<int64_t>& values) { return at::tensor(values, torch::kInt64).ne(0); }

// A gate in double precision with these logits, any map of instance logits at random; the cost of a unit is 1 unless given.
inline HardConcrete gate_with(const GateOptions& options, const torch::Tensor& logits, torch::Tensor cost = {},
                              int64_t width = 0) {
  if (!cost.defined()) cost = at::ones({logits.size(0)}, torch::kFloat64);
  HardConcrete gate(options, cost.to(torch::kFloat64), width);
  torch::NoGradGuard no_grad;
  gate->logits().copy_(logits);
  for (auto& item : gate->named_parameters()) {
    if (item.key().starts_with("map_")) item.value().normal_();  // as if trained: a new map is zero and treats all examples alike
  }
  return gate;
}

inline torch::Tensor parameter(HardConcrete& gate, const std::string& name) { return gate->named_parameters()[name]; }

inline void set_parameter(HardConcrete& gate, const std::string& name, const torch::Tensor& value) {
  torch::NoGradGuard no_grad;
  parameter(gate, name).copy_(value);
}

inline double largest_difference(const torch::Tensor& a, const torch::Tensor& b) {
  return (a.to(torch::kFloat64) - b.to(torch::kFloat64)).abs().max().item<double>();
}

// Compares the gradient of f() in x with central differences; x is a leaf in double precision that f reads.
inline void expect_gradient(const std::string& what, torch::Tensor x, const std::function<torch::Tensor()>& f,
                            double tolerance = 1e-6) {
  SCOPED_TRACE(what);
  if (x.grad().defined()) x.mutable_grad().zero_();
  f().backward();
  ASSERT_TRUE(x.grad().defined());
  const torch::Tensor gradient = x.grad().clone();
  torch::Tensor numeric = at::zeros_like(gradient);
  constexpr double h = 1e-5;
  {
    torch::NoGradGuard no_grad;
    torch::Tensor flat = x.view({-1}), out = numeric.view({-1});
    for (int64_t i = 0; i < flat.numel(); ++i) {
      const double here = flat[i].item<double>();
      flat[i] = here + h;
      const double up = f().item<double>();
      flat[i] = here - h;
      const double down = f().item<double>();
      flat[i] = here;
      out[i] = (up - down) / (2 * h);
    }
  }
  EXPECT_GT(numeric.abs().max().item<double>(), 1e-4) << "a gradient of zero proves nothing";
  EXPECT_LT(largest_difference(gradient, numeric), tolerance) << gradient << "\n" << numeric;
}

}  // namespace l0gm::testing_tools
