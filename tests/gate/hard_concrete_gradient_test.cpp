#include "l0gm/hard_concrete.h"

#include "gate/toy_hard_concrete.h"

// Gradients against central differences.
namespace l0gm {
namespace {

using namespace testing_tools;

TEST(HardConcrete, GradientsOfValueAndExpectedOpen) {
  GateOptions options;
  for (const Noise noise : {Noise::example, Noise::batch}) {
    options.noise = noise;
    HardConcrete gate = gate_with(options, reals({-1, -0.3, 0.2, 0.8, 1.5}), reals({1, 2, 0.5, 3, 1}));
    torch::Tensor r = at::randn({6, 5}, torch::kFloat64).requires_grad_(true);
    const torch::Tensor weights = at::randn({6, 5}, torch::kFloat64);
    const Draw draw{3, 14, 1, ids(100, 106)};
    const auto value = [&] { return (gate->forward(r, anneal(1.0), draw).value * weights).sum(); };
    expect_gradient("value in the logits", gate->logits(), value);
    expect_gradient("value in r", r, value);
    expect_gradient("expected open in the logits", gate->logits(),
                    [&] { return gate->forward(r, anneal(1.0), draw).expected_open; });
  }
}

TEST(HardConcrete, GradientsWithGroupsAndFineUnits) {
  const torch::Tensor r = at::randn({4, 5}, torch::kFloat64), weights = at::randn({4, 5}, torch::kFloat64);
  const torch::Tensor groups = at::tensor(std::vector<int64_t>{0, 2, 2, 1, 0}, torch::kInt64);
  const torch::Tensor fine = at::randint(0, 9, {4, 5}, torch::kInt64);
  HardConcrete by_group = gate_with({}, reals({-0.4, 0.3, 0.9}));
  HardConcrete by_value = gate_with({}, at::linspace(-1, 1, 9, torch::kFloat64));
  const Draw draw{1, 2, 3, ids(0, 4)};
  expect_gradient("groups", by_group->logits(),
                  [&] { return (by_group->forward(r, anneal(1.2), draw, groups).value * weights).sum(); });
  expect_gradient("fine", by_value->logits(),
                  [&] { return (by_value->forward(r, anneal(1.2), draw, fine).value * weights).sum(); });
}

TEST(HardConcrete, GradientsOfInstanceLogits) {
  const auto entry = gate_reference()["instance"];
  HardConcrete gate = instance_gate(entry);
  torch::Tensor r = tensor_of(entry["r"]).requires_grad_(true);
  const torch::Tensor weights = at::randn(r.sizes(), torch::kFloat64);
  const Draw draw{5, 0, 2, ids(0, r.size(0))};
  const auto loss = [&] {
    const Gated gated = gate->forward(r, anneal(1.0), draw);
    return (gated.value * weights).sum() + 0.3 * gated.expected_open;
  };
  for (const char* name : {"logits", "range", "map_in", "map_out"}) expect_gradient(name, parameter(gate, name), loss);
  expect_gradient("r", r, loss);
}

}  // namespace
}  // namespace l0gm
