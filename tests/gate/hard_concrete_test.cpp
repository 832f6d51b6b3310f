#include "l0gm/hard_concrete.h"

#include <ATen/Parallel.h>

#include "gate/toy_hard_concrete.h"
#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using namespace testing_tools;

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
    // The noise is the same bit for bit; sigmoids and products may round differently at another position of a vector register.
    constexpr double tolerance = 1e-14;
    EXPECT_LE(largest_difference(at::cat({run(ids(0, 3)), run(ids(3, 4)), run(ids(4, 10))}), whole), tolerance);
    EXPECT_LE(largest_difference(run(order), whole.index_select(0, order)), tolerance);
    EXPECT_GT((whole / r).std(0).max().item<double>(), 0.01) << "each example has its own noise";
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
      << "the noise depends on the step, not on the example";
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
  options.test_rule = TestRule::louizos;  // values between 0 and 1 distinguish the units
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

TEST(HardConcrete, RefusesInvalidOptions) {
  EXPECT_THROW(HardConcrete(GateOptions{}, at::ones({0})), UserError);
  GateOptions options = instance_options();
  options.unit = UnitKind::fine;
  const std::string message = message_of<UserError>([&] { HardConcrete(options, at::ones({3})); });
  EXPECT_NE(message.find("fine"), std::string::npos);
  EXPECT_NE(message.find("dimension or group"), std::string::npos);
}

}  // namespace
}  // namespace l0gm
