#pragma once

#include "gate/toy_gate.h"
#include "heads/head.h"

namespace l0gm::testing_tools {

// Logits [examples, members, outputs] of a head that reads nothing but the interface.
inline torch::Tensor logits_of(Head& head, const torch::Tensor& interface) {
  GatePass pass = GatePass::evaluation({}, ids(0, interface.size(0)));
  return head.forward(interface, Batch{}, pass);
}

// Module::to would turn index buffers into reals.
inline void to_double(torch::nn::Module& module) {
  for (torch::Tensor& parameter : module.parameters()) parameter.set_data(parameter.to(torch::kFloat64));
}

inline int64_t parameter_total(const torch::nn::Module& module) {
  int64_t total = 0;
  for (const torch::Tensor& parameter : module.parameters()) total += parameter.numel();
  return total;
}

// Gradients of every parameter and of the interface against finite differences.
inline void expect_gradients(Head& head, torch::Tensor interface) {
  interface.requires_grad_(true);
  const torch::Tensor weights = at::randn_like(logits_of(head, interface)).detach();
  const auto loss = [&] { return (logits_of(head, interface) * weights).sum(); };
  for (auto& item : head.named_parameters()) expect_gradient(item.key(), item.value(), loss, 1e-5);
  expect_gradient("interface", interface, loss, 1e-5);
}

inline HeadShape shape_of(int64_t fields, int64_t width, int64_t statistics = 0, int64_t members = 1, int64_t outputs = 1) {
  HeadShape shape;
  shape.fields = fields;
  shape.width = width;
  shape.statistics = statistics;
  shape.members = members;
  shape.outputs = outputs;
  return shape;
}

inline torch::Tensor random_interface(const HeadShape& shape, int64_t examples) {
  return at::randn({examples, shape.dimensions()}, torch::kFloat64);
}

}  // namespace l0gm::testing_tools
