#include "gate/gate_figures.h"

#include "gate/toy_gate.h"

namespace l0gm {
namespace {

using namespace testing_tools;

const GateState hardened{Phase::harden, 0.5, 1, 1};

TEST(GateFigures, CountsUnitsCostsAndProbabilities) {
  const GateSite a{"a", gate_with({}, reals({-6, -0.5, 0.5, 6}), reals({1, 2, 3, 4})), {}, {}};
  const GateSite b{"b", gate_with({}, reals({-8, 8})), {}, {}};
  const GateFigures figures = gate_figures({&a, &b}, hardened);
  EXPECT_EQ(figures.units, 6);
  EXPECT_EQ(figures.open_units, 3);
  EXPECT_EQ(figures.ever_open_units, 3);
  EXPECT_DOUBLE_EQ(figures.active_fraction, 0.5);
  EXPECT_DOUBLE_EQ(figures.active_cost_fraction, 8.0 / 12);
  HardConcrete first = a.gate, second = b.gate;
  const torch::Tensor p = at::cat({first->open_probability(0.5), second->open_probability(0.5)});
  EXPECT_NEAR(figures.expected_active_fraction, p.mean().item<double>(), 1e-12);
  // sigmoid(-0.5 + 1.2) = .67 and sigmoid(0.5 + 1.2) = .85 are undecided; sigmoid(-6 + 1.2) = .008 is not.
  EXPECT_DOUBLE_EQ(figures.undecided_fraction, 2.0 / 6);
}

TEST(GateFigures, EverythingIsOpenDuringWarmUpAndWithoutSites) {
  const GateSite site{"a", gate_with({}, reals({-6, -6})), {}, {}};
  const GateFigures figures = gate_figures({&site}, {Phase::warmup, 2, 0, 1});
  EXPECT_EQ(figures.open_units, 2);
  EXPECT_DOUBLE_EQ(figures.active_fraction, 1);
  const GateFigures dense = gate_figures({}, hardened);
  EXPECT_EQ(dense.units, 0);
  EXPECT_DOUBLE_EQ(dense.active_fraction, 1);
  EXPECT_DOUBLE_EQ(dense.active_cost_fraction, 1);
}

TEST(GateFigures, InstanceLogitsAreAveragedOverExamples) {
  for (const TestRule rule : {TestRule::threshold, TestRule::median, TestRule::louizos}) {
    GateOptions options;
    options.logits = LogitKind::instance;
    options.test_rule = rule;
    HardConcrete gate = gate_with(options, reals({-9, -0.5, -0.2, 0.1, 9}), reals({1, 2, 3, 4, 5}));
    set_parameter(gate, "range", at::full({5}, 3.0, torch::kFloat64));
    const GateSite site{"a", gate, {}, {}};
    GatePass pass = GatePass::evaluation(hardened, ids(0, 40));
    gate->eval();
    pass.apply(site, at::randn({40, 5}, torch::kFloat64) * 3);
    const torch::Tensor open = pass.record(site)->gated.gates.gt(0).to(torch::kFloat64).mean(0);
    const GateFigures figures = gate_figures({&site}, hardened, &pass);
    EXPECT_NEAR(figures.active_fraction, open.mean().item<double>(), 1e-12);
    EXPECT_NEAR(figures.active_cost_fraction, at::dot(open, gate->cost()).item<double>() / 15, 1e-12);
    EXPECT_EQ(figures.open_units, std::llround(open.sum().item<double>()));
    EXPECT_EQ(figures.ever_open_units, 4);
    EXPECT_NEAR(figures.expected_active_fraction, pass.record(site)->gated.open_probability.mean().item<double>(), 1e-12);
    EXPECT_GT(figures.active_fraction, 0.2);
    EXPECT_LT(figures.active_fraction, 0.8) << "three of them depend on the example";
  }
}

}  // namespace
}  // namespace l0gm
