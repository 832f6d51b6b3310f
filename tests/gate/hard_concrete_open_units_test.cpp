#include "l0gm/hard_concrete.h"

#include "gate/toy_hard_concrete.h"

// Which units open: at least one, top-k, forced ones, and instance logits.
namespace l0gm {
namespace {

using namespace testing_tools;

// Without factors (map_rank = 0) the map is one matrix.
TEST(HardConcrete, InstanceLogitsWithAFullRankMap) {
  HardConcrete gate = gate_with(instance_options(TestRule::threshold, 0), reals({-0.5, 0.2, 0.9}), {}, 4);
  const torch::Tensor groups = at::tensor(std::vector<int64_t>{0, 1, 2, 2}, torch::kInt64);
  EXPECT_EQ(parameter(gate, "map_out").sizes(), (std::vector<int64_t>{4, 3}));
  torch::Tensor r = at::randn({5, 4}, torch::kFloat64).requires_grad_(true);
  const Draw draw{1, 1, 1, ids(0, 5)};
  const torch::Tensor moved = gate->logits() + gate->range() * at::tanh(at::matmul(r, parameter(gate, "map_out")));
  const Gated gated = gate->forward(r, anneal(1.0), draw, groups);
  EXPECT_LT(largest_difference(gated.open_probability, at::sigmoid(moved - std::log(0.1 / 1.1))), 1e-14);
  const auto loss = [&] { return gate->forward(r, anneal(1.0), draw, groups).value.square().sum(); };
  expect_gradient("map", parameter(gate, "map_out"), loss);
  expect_gradient("r", r, loss);
}

TEST(HardConcrete, AFreshInstanceGateTreatsAllExamplesAlike) {
  HardConcrete gate(instance_options(), at::ones({6}, torch::kFloat64));
  const torch::Tensor p = gate->forward(at::randn({9, 6}, torch::kFloat64), anneal(1.0), {0, 0, 0, ids(0, 9)}).open_probability;
  EXPECT_LT(largest_difference(p, gate->open_probability(1.0).expand({9, 6})), 1e-14);
}

TEST(HardConcrete, AtLeastOneUnitStaysOpenUnderEveryRule) {
  for (const TestRule rule : all_rules) {
    SCOPED_TRACE(std::string(name_of_enum(rule)));
    GateOptions options;
    options.test_rule = rule;
    HardConcrete gate = gate_with(options, reals({-9, -7, -8, -9}));
    EXPECT_TRUE(at::equal(gate->test_values(harden()), reals({0, 1, 0, 0})));
    const torch::Tensor r = at::randn({3, 4}, torch::kFloat64);
    EXPECT_TRUE(at::equal(gate->forward(r, harden(), {0, 0, 0, ids(0, 3)}).value, r * reals({0, 1, 0, 0})));
    HardConcrete instance = gate_with(instance_options(rule), reals({-9, -7, -8, -9}));
    const Gated gated = instance->forward(r, harden(), {0, 0, 0, ids(0, 3)});
    EXPECT_TRUE(gated.gates.sum(1).ge(1).all().item<bool>());
    EXPECT_GE(instance->ever_open(harden()).sum().item<int64_t>(), 1) << "what a forward pass opens may not be removed";
  }
}

TEST(HardConcrete, KeepClosesAllButTheLargestLogits) {
  HardConcrete gate = gate_with({}, reals({0.5, 3, 0.1, 2, 1, 0.7, 4, 0.2}));
  GateState state = anneal(0.5);
  state.keep = 0.375;  // three of eight
  const torch::Tensor open = flags({0, 1, 0, 1, 0, 0, 1, 0});
  const torch::Tensor z = gate->forward(at::ones({200, 8}, torch::kFloat64), state, {0, 0, 0, ids(0, 200)}).gates;
  EXPECT_TRUE(at::equal(z.gt(0).any(0), open));
  EXPECT_TRUE(at::equal(gate->test_values(state).gt(0), open));
  gate->eval();
  EXPECT_TRUE(at::equal(gate->forward(at::ones({2, 8}, torch::kFloat64), state, {0, 0, 0, ids(0, 2)}).gates.gt(0), open));
  state.keep = 1e-9;
  EXPECT_TRUE(at::equal(gate->test_values(state).gt(0), flags({0, 0, 0, 0, 0, 0, 1, 0})));
}

TEST(HardConcrete, KeepLeavesAnInstanceGateAnOpenUnit) {
  HardConcrete gate = gate_with(instance_options(), reals({0.1, -0.1, -0.2, -0.3}));
  set_parameter(gate, "range", at::full({4}, 4.0, torch::kFloat64));
  gate->eval();
  GateState state = anneal();
  state.keep = 0.25;
  const torch::Tensor gates = gate->forward(at::randn({200, 4}, torch::kFloat64) * 3, state, {0, 0, 0, ids(0, 200)}).gates;
  EXPECT_TRUE(at::equal(gates, reals({1, 0, 0, 0}).expand({200, 4})));
}

TEST(HardConcrete, ForceOpensExactlyTheGivenUnits) {
  const torch::Tensor logits = reals({-6, -2, -1.2, -0.01, 0, 0.01, 1.2, 6});
  for (const TestRule rule : all_rules) {
    for (const double pi : {0.2, 0.5, 0.9}) {
      for (int64_t mask = 1; mask < 256; mask += 7) {
        std::vector<int64_t> bits(8);
        for (int64_t j = 0; j < 8; ++j) bits[static_cast<size_t>(j)] = (mask >> j) & 1;
        const torch::Tensor open = flags(bits);
        GateOptions options;
        options.test_rule = rule;
        options.pi = pi;
        HardConcrete gate = gate_with(options, logits);
        gate->force(open, 0.5);
        ASSERT_TRUE(at::equal(gate->test_values(harden()).gt(0), open)) << name_of_enum(rule) << pi << open;
        // Logits that were on the right side already do not move.
        const torch::Tensor unmoved = logits.gt(gate->open_logit(0.5) + 0.1) & open;
        EXPECT_TRUE(at::equal(gate->logits().masked_select(unmoved), logits.masked_select(unmoved)));
      }
    }
  }
}

TEST(HardConcrete, ForceClosesInstanceUnitsForEveryInput) {
  for (const TestRule rule : all_rules) {
    SCOPED_TRACE(std::string(name_of_enum(rule)));
    HardConcrete gate = gate_with(instance_options(rule), reals({-1, 0.5, 2, 3, 0.2, -0.1}));
    set_parameter(gate, "range", at::full({6}, 5.0, torch::kFloat64));
    const torch::Tensor open = flags({1, 0, 1, 0, 0, 1});
    gate->force(open, 0.5);
    EXPECT_TRUE(at::equal(gate->ever_open(harden()), open));
    const torch::Tensor r = at::randn({500, 6}, torch::kFloat64) * 10;
    const torch::Tensor gates = gate->forward(r, harden(), {0, 0, 0, ids(0, 500)}).gates;
    EXPECT_EQ(gates.masked_select(open.logical_not().expand_as(gates)).abs().sum().item<double>(), 0);
    EXPECT_TRUE(at::equal(gates.gt(0).any(0), open));
  }
}

TEST(HardConcrete, ForceOpensInstanceUnitsThatWereDead) {
  HardConcrete gate = gate_with(instance_options(), reals({-6, -6, 2}));
  ASSERT_FALSE(gate->ever_open(harden())[0].item<bool>());
  gate->force(flags({1, 0, 1}), 0.5);
  EXPECT_TRUE(at::equal(gate->ever_open(harden()), flags({1, 0, 1})));
}

TEST(HardConcrete, DeadUnitsStayClosedAndUnreadForAnyInput) {
  for (const TestRule rule : all_rules) {
    HardConcrete gate = gate_with(instance_options(rule), reals({-6, 0.3, 1, -4}));
    set_parameter(gate, "range", reals({1, 1, 1, 5}));  // b = softplus: 1.3, …, 5.0
    const torch::Tensor ever = gate->ever_open(harden());
    ASSERT_TRUE(at::equal(ever, flags({0, 1, 1, 1})));
    const torch::Tensor r = at::randn({300, 4}, torch::kFloat64) * 20;
    const Gated gated = gate->forward(r, harden(), {0, 0, 0, ids(0, 300)});
    EXPECT_EQ(gated.gates.select(1, 0).abs().sum().item<double>(), 0);
    torch::Tensor changed = r.clone();
    changed.select(1, 0).normal_();
    EXPECT_TRUE(at::equal(gate->forward(changed, harden(), {0, 0, 0, ids(0, 300)}).value, gated.value))
        << "dead input is not read";
  }
}

TEST(HardConcrete, InstanceLogitsOfGroupsReadTheGroupsThatAreAlive) {
  const torch::Tensor groups = at::tensor(std::vector<int64_t>{0, 0, 1, 1, 1}, torch::kInt64);
  HardConcrete gate = gate_with(instance_options(), reals({-8, 0.4}), reals({2, 3}), 5);
  torch::Tensor r = at::randn({6, 5}, torch::kFloat64);
  const Gated gated = gate->forward(r, harden(), {0, 0, 0, ids(0, 6)}, groups);
  EXPECT_EQ(gated.open_probability.sizes(), (std::vector<int64_t>{6, 2}));
  r.narrow(1, 0, 2).normal_();
  EXPECT_TRUE(at::equal(gate->forward(r, harden(), {0, 0, 0, ids(0, 6)}, groups).open_probability, gated.open_probability));
  r.narrow(1, 2, 3).normal_();
  EXPECT_FALSE(at::equal(gate->forward(r, harden(), {0, 0, 0, ids(0, 6)}, groups).open_probability, gated.open_probability));
}

}  // namespace
}  // namespace l0gm
