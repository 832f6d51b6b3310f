#include "l0gm/hard_concrete.h"

#include <ATen/Parallel.h>

#include "gate/toy_gate.h"
#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using namespace testing_tools;

const std::vector<TestRule> all_rules = {TestRule::threshold, TestRule::median, TestRule::louizos};

GateState anneal(double tau = 0.5) { return {Phase::anneal, tau, 1, 1}; }
GateState harden(double tau = 0.5) { return {Phase::harden, tau, 1, 1}; }

GateOptions options_of(const nlohmann::json& entry, TestRule rule = TestRule::threshold) {
  GateOptions options;
  options.gamma = entry["gamma"];
  options.zeta = entry["zeta"];
  options.pi = entry["pi"];
  options.test_rule = rule;
  return options;
}

GateOptions instance_options(TestRule rule = TestRule::threshold, int64_t rank = 3) {
  GateOptions options;
  options.logits = LogitKind::instance;
  options.test_rule = rule;
  options.map_rank = rank;
  return options;
}

HardConcrete instance_gate(const nlohmann::json& entry, TestRule rule = TestRule::threshold) {
  HardConcrete gate = gate_with(instance_options(rule), tensor_of(entry["logits"]), tensor_of(entry["cost"]));
  set_parameter(gate, "range", tensor_of(entry["range"]));
  set_parameter(gate, "map_in", tensor_of(entry["map_in"]));
  set_parameter(gate, "map_out", tensor_of(entry["map_out"]));
  return gate;
}

// ---- values against the reference

TEST(HardConcrete, SampledGatesEqualTheReference) {
  const auto reference = gate_reference();
  for (const auto& entry : reference["gates"]) {
    HardConcrete gate = gate_with(options_of(entry), tensor_of(reference["logits"]), tensor_of(reference["costs"]));
    const torch::Tensor r = at::full({3, gate->units()}, 2.0, torch::kFloat64);
    const Draw draw{entry["seed"].get<uint64_t>(), entry["step"].get<int64_t>(), entry["site"].get<int64_t>(),
                    at::tensor(entry["ids"].get<std::vector<int64_t>>(), torch::kInt64)};
    const Gated gated = gate->forward(r, anneal(entry["tau"]), draw);
    const torch::Tensor z = tensor_of(entry["z"]);
    // The noise is float32 by definition: a steep gate (tau = 0.1) magnifies its rounding.
    EXPECT_LT(largest_difference(gated.gates, z), 2e-6 / entry["tau"].get<double>());
    EXPECT_LT(largest_difference(gated.value, 2 * z), 4e-6 / entry["tau"].get<double>());
    EXPECT_TRUE(at::equal(gated.gates.eq(0), z.eq(0)));
    EXPECT_TRUE(at::equal(gated.gates.eq(1), z.eq(1)));
    EXPECT_LT(largest_difference(gated.open_probability, tensor_of(entry["open_probability"])), 1e-14);
    EXPECT_LT(largest_difference(gate->open_probability(entry["tau"]), tensor_of(entry["open_probability"])), 1e-14);
    EXPECT_NEAR(gated.expected_open.item<double>(), entry["expected_open"].get<double>(), 1e-12);
  }
}

TEST(HardConcrete, TestRulesEqualTheReference) {
  const auto reference = gate_reference();
  for (const auto& entry : reference["gates"]) {
    for (const TestRule rule : all_rules) {
      const std::string name(name_of_enum(rule));
      SCOPED_TRACE(name);
      HardConcrete gate = gate_with(options_of(entry, rule), tensor_of(reference["logits"]));
      const torch::Tensor wanted = tensor_of(entry[name]);
      EXPECT_LT(largest_difference(gate->test_values(harden(entry["tau"])), wanted), 1e-14);
      EXPECT_TRUE(at::equal(gate->ever_open(harden(entry["tau"])), wanted.gt(0)));
      EXPECT_TRUE(at::equal(gate->logits().gt(gate->open_logit(entry["tau"])), wanted.gt(0)));
    }
  }
}

TEST(HardConcrete, InstanceLogitsEqualTheReference) {
  const auto entry = gate_reference()["instance"];
  HardConcrete gate = instance_gate(entry);
  const torch::Tensor r = tensor_of(entry["r"]);
  EXPECT_TRUE(at::equal(gate->ever_open(harden()), tensor_of(entry["alive"]).gt(0)));
  const Gated gated = gate->forward(r, harden(entry["tau"]), {0, 0, 0, ids(0, r.size(0))});
  EXPECT_LT(largest_difference(gated.open_probability, tensor_of(entry["open_probability"])), 1e-14);
  EXPECT_NEAR(gated.expected_open.item<double>(), entry["expected_open"].get<double>(), 1e-13);
  EXPECT_TRUE(at::equal(gated.gates, tensor_of(entry["threshold"])));
  EXPECT_TRUE(at::equal(gated.value, r * tensor_of(entry["threshold"])));
}

TEST(HardConcrete, StartsWithTheProbabilityAskedFor) {
  GateOptions options;
  options.init_open = 0.8;
  HardConcrete gate(options, at::ones({500}));
  EXPECT_NEAR(at::sigmoid(gate->logits()).mean().item<double>(), 0.8, 1e-3);
  EXPECT_GT(gate->logits().std().item<double>(), 1e-3) << "ties at the start would leave the ranking to the order";
}

// P(z > 0) counted over draws, against the formula, within four standard errors.
TEST(HardConcrete, ShareOfOpenDrawsFollowsTheFormula) {
  constexpr int64_t draws = 40000;
  const torch::Tensor logits = reals({-4, -2, -1, 0, 0.5, 1, 3});
  for (const double tau : {0.3, 0.5, 2.0}) {
    HardConcrete gate = gate_with({}, logits);
    const Gated gated = gate->forward(at::ones({draws, 7}, torch::kFloat64), anneal(tau), {11, 3, 0, ids(0, draws)});
    const torch::Tensor share = gated.gates.gt(0).to(torch::kFloat64).mean(0);
    const torch::Tensor p = gated.open_probability.detach();
    const torch::Tensor deviations = (share - p) / at::sqrt(p * (1 - p) / draws);
    EXPECT_LT(deviations.abs().max().item<double>(), 4) << tau << "\n" << deviations;
  }
}

// ---- gradients

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

// Without factors (map_rank = 0) the map is one matrix.
TEST(HardConcrete, InstanceLogitsWithAWholeMap) {
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

// ---- phases and modes

TEST(HardConcrete, WarmUpIsTheIdentityBitForBit) {
  for (const LogitKind kind : {LogitKind::global, LogitKind::instance, LogitKind::fixed}) {
    GateOptions options;
    options.logits = kind;
    HardConcrete gate = gate_with(options, at::full({6}, -5, torch::kFloat64));
    const torch::Tensor r = at::randn({3, 6}, torch::kFloat64);
    const GateState state{Phase::warmup, 2, 0, 1};
    for (const bool training : {true, false}) {
      gate->train(training);
      EXPECT_TRUE(gate->forward(r, state, {0, 0, 0, ids(0, 3)}).value.is_same(r));
    }
    EXPECT_TRUE(gate->test_values(state).eq(1).all().item<bool>());
    EXPECT_TRUE(gate->ever_open(state).all().item<bool>());
  }
}

TEST(HardConcrete, EvalAppliesTheTestRuleWhileTrainingSamples) {
  for (const TestRule rule : all_rules) {
    GateOptions options;
    options.test_rule = rule;
    HardConcrete gate = gate_with(options, reals({-3, -0.2, 0.1, 0.9}));
    const torch::Tensor r = at::randn({5, 4}, torch::kFloat64);
    const Gated sampled = gate->forward(r, anneal(1.0), {0, 0, 0, ids(0, 5)});
    gate->eval();
    const Gated fixed = gate->forward(r, anneal(1.0), {0, 0, 0, ids(0, 5)});
    EXPECT_TRUE(at::equal(fixed.value, r * gate->test_values(anneal(1.0))));
    EXPECT_FALSE(at::allclose(fixed.value, sampled.value));
    EXPECT_TRUE(at::equal(gate->forward(r, anneal(1.0), {9, 9, 9, ids(5, 10)}).value, fixed.value)) << "no noise in evaluation";
  }
}

TEST(HardConcrete, HardenedGatesAreFixedAndGetNoGradient) {
  for (const LogitKind kind : {LogitKind::global, LogitKind::instance}) {
    GateOptions options;
    options.logits = kind;
    HardConcrete gate = gate_with(options, reals({-1, 1, 2}));
    torch::Tensor r = at::randn({4, 3}, torch::kFloat64).requires_grad_(true);
    gate->train();
    const Gated gated = gate->forward(r, harden(), {0, 0, 0, ids(0, 4)});
    (gated.value.sum() + gated.expected_open).backward();
    for (const auto& item : gate->named_parameters()) EXPECT_FALSE(item.value().grad().defined()) << item.key();
    EXPECT_TRUE(at::equal(r.grad(), gated.gates.expand({4, 3}))) << "the representation is still trained through open units";
    EXPECT_TRUE(at::equal(gate->forward(r, harden(), {1, 1, 1, ids(7, 11)}).value, gated.value));
  }
}

TEST(HardConcrete, FrozenMasksGetNoGradientWhileAnnealing) {
  GateOptions options;
  options.logits = LogitKind::fixed;
  HardConcrete gate = gate_with(options, reals({-1, 1, 2}));
  torch::Tensor r = at::randn({4, 3}, torch::kFloat64).requires_grad_(true);
  const Gated gated = gate->forward(r, anneal(), {0, 0, 0, ids(0, 4)});
  gated.value.sum().backward();
  EXPECT_FALSE(gate->logits().grad().defined());
  EXPECT_TRUE(at::equal(gated.gates, reals({0, 1, 1})));
}

// ---- noise through the gate

TEST(HardConcrete, SplittingAndPermutingABatchChangesNothing) {
  const torch::Tensor groups = at::tensor(std::vector<int64_t>{0, 1, 1, 2, 2, 2}, torch::kInt64);
  for (const int form : {0, 1, 2, 3}) {  // dimension, group, fine, instance
    SCOPED_TRACE(form);
    const int64_t units = form == 1 ? 3 : form == 2 ? 20 : 6;
    HardConcrete gate = gate_with(form == 3 ? instance_options() : GateOptions{}, at::linspace(-1, 1, units, torch::kFloat64));
    const torch::Tensor r = at::randn({10, 6}, torch::kFloat64), example_ids = at::randint(0, 1 << 30, {10}, torch::kInt64);
    const torch::Tensor fine = at::randint(0, units, {10, 6}, torch::kInt64);
    const auto run = [&](const torch::Tensor& rows) {
      const torch::Tensor index = form == 1 ? groups : form == 2 ? fine.index_select(0, rows) : torch::Tensor{};
      return gate->forward(r.index_select(0, rows), anneal(1), {1, 7, 0, example_ids.index_select(0, rows)}, index)
          .value.detach();
    };
    const torch::Tensor whole = run(ids(0, 10)), order = at::randperm(10, torch::kInt64);
    // The noise is the same bit for bit; sigmoids and products may round otherwise at another place of a vector register.
    constexpr double tolerance = 1e-14;
    EXPECT_LE(largest_difference(at::cat({run(ids(0, 3)), run(ids(3, 4)), run(ids(4, 10))}), whole), tolerance);
    EXPECT_LE(largest_difference(run(order), whole.index_select(0, order)), tolerance);
    EXPECT_GT((whole / r).std(0).max().item<double>(), 0.01) << "examples have noise of their own";
    const int before = at::get_num_threads();
    at::set_num_threads(before == 1 ? 3 : 1);
    EXPECT_LE(largest_difference(run(ids(0, 10)), whole), tolerance);
    at::set_num_threads(before);
  }
}

TEST(HardConcrete, BatchNoiseIsTheSameForAllRowsAndAnyBatch) {
  GateOptions options;
  options.noise = Noise::batch;
  HardConcrete gate = gate_with(options, at::linspace(-1, 1, 8, torch::kFloat64));
  const torch::Tensor r = at::ones({5, 8}, torch::kFloat64);
  const torch::Tensor value = gate->forward(r, anneal(1), {2, 3, 4, ids(0, 5)}).value;
  EXPECT_TRUE(at::equal(value, value.narrow(0, 0, 1).expand({5, 8})));
  EXPECT_TRUE(at::equal(gate->forward(r, anneal(1), {2, 3, 4, ids(50, 55)}).value, value))
      << "not the example but the step draws";
  EXPECT_FALSE(at::equal(gate->forward(r, anneal(1), {2, 4, 4, ids(0, 5)}).value, value));
  // Fine units: one draw per unit, seen by every example that has the unit.
  HardConcrete fine = gate_with(options, at::linspace(-1, 1, 3, torch::kFloat64));
  const torch::Tensor index = at::tensor(std::vector<int64_t>{0, 1, 2, 0, 2, 1}, torch::kInt64).view({2, 3});
  const torch::Tensor z = fine->forward(at::ones({2, 3}, torch::kFloat64), anneal(1), {2, 3, 4, ids(0, 2)}, index).value;
  EXPECT_TRUE(at::equal(z[0].index_select(0, index[1]), z[1]));
  EXPECT_GT(z[0].std().item<double>(), 0);
}

// ---- which unit gates which element

TEST(HardConcrete, IndexSpreadsUnitsOverElements) {
  GateOptions options;
  options.test_rule = TestRule::louizos;  // values between 0 and 1 tell the units apart
  HardConcrete gate = gate_with(options, reals({-5, -0.5, 0.3, 1.1}));
  gate->eval();
  const torch::Tensor values = gate->test_values(harden()), r = at::randn({2, 6}, torch::kFloat64);
  const torch::Tensor groups = at::tensor(std::vector<int64_t>{3, 3, 0, 2, 1, 0}, torch::kInt64);
  const Gated grouped = gate->forward(r, harden(), {0, 0, 0, ids(0, 2)}, groups);
  const torch::Tensor fine = at::tensor(std::vector<int64_t>{0, 1, 2, 3, 0, 1, 3, 3, 1, 2, 2, 0}, torch::kInt64).view({2, 6});
  const Gated by_value = gate->forward(r, harden(), {0, 0, 0, ids(0, 2)}, fine);
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t j = 0; j < 6; ++j) {
      const double x = r[i][j].item<double>();
      EXPECT_DOUBLE_EQ(grouped.value[i][j].item<double>(), x * values[groups[j].item<int64_t>()].item<double>());
      EXPECT_DOUBLE_EQ(by_value.value[i][j].item<double>(), x * values[fine[i][j].item<int64_t>()].item<double>());
    }
  }
}

TEST(HardConcrete, DimensionsOfAGroupShareOneDraw) {
  HardConcrete gate = gate_with({}, reals({0, 0.2}));
  const torch::Tensor groups = at::tensor(std::vector<int64_t>{0, 1, 0, 1, 0}, torch::kInt64);
  const torch::Tensor z = gate->forward(at::ones({20, 5}, torch::kFloat64), anneal(1), {0, 0, 0, ids(0, 20)}, groups).value;
  EXPECT_TRUE(at::equal(z.select(1, 0), z.select(1, 2)));
  EXPECT_TRUE(at::equal(z.select(1, 0), z.select(1, 4)));
  EXPECT_TRUE(at::equal(z.select(1, 1), z.select(1, 3)));
  EXPECT_FALSE(at::allclose(z.select(1, 0), z.select(1, 1)));
}

TEST(HardConcrete, PermutingUnitsPermutesGates) {
  const torch::Tensor order = at::tensor(std::vector<int64_t>{4, 2, 0, 5, 1, 3}, torch::kInt64);
  const torch::Tensor logits = reals({-2, -0.6, 0.1, 0.7, 1.4, 3}), cost = reals({1, 2, 3, 4, 5, 6}),
                      r = at::randn({7, 6}, torch::kFloat64);
  for (const TestRule rule : all_rules) {
    GateOptions options;
    options.test_rule = rule;
    HardConcrete gate = gate_with(options, logits, cost),
                 permuted = gate_with(options, logits.index_select(0, order), cost.index_select(0, order));
    gate->eval();
    permuted->eval();
    const Gated a = gate->forward(r, anneal(), {0, 0, 0, ids(0, 7)});
    const Gated b = permuted->forward(r.index_select(1, order), anneal(), {0, 0, 0, ids(0, 7)});
    EXPECT_TRUE(at::equal(a.value.index_select(1, order), b.value));
    EXPECT_TRUE(at::equal(a.open_probability.index_select(0, order), b.open_probability));
    EXPECT_NEAR(a.expected_open.item<double>(), b.expected_open.item<double>(), 1e-12);
  }
}

// ---- at least one unit, top-k, forcing

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

TEST(HardConcrete, KeepLeavesAnInstanceGateSomethingOpen) {
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
        // What was on its side already stays where it was.
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

TEST(HardConcrete, DeadUnitsStayClosedAndUnreadWhateverTheInput) {
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

TEST(HardConcrete, RefusesWhatCannotWork) {
  EXPECT_THROW(HardConcrete(GateOptions{}, at::ones({0})), UserError);
  GateOptions options = instance_options();
  options.unit = UnitKind::fine;
  const std::string message = message_of<UserError>([&] { HardConcrete(options, at::ones({3})); });
  EXPECT_NE(message.find("fine"), std::string::npos);
  EXPECT_NE(message.find("dimension or group"), std::string::npos);
}

}  // namespace
}  // namespace l0gm
