#include "l0gm/gate_control.h"

#include <cmath>

#include "gate/toy_control.h"

// Hardening from given logits.
namespace l0gm {
namespace {

using namespace testing_tools;

TEST(Hardening, ProjectsToTheLargestLogitsAndCountsProjectedUnits) {
  const auto harden = [](double target, const torch::Tensor& logits, torch::Tensor& open) {
    const GateOptions options = by_target(target);
    GateSite site = site_of(options, logits);
    const Hardening result = GateControl(options, {&site}).harden(hardened);
    open = open_units(site);
    return result;
  };
  torch::Tensor open;
  Hardening result = harden(0.5, reals({2, -1, 1, -2}), open);
  EXPECT_TRUE(at::equal(open, flags({1, 0, 1, 0})));
  EXPECT_EQ(result.projected_units, 0);
  EXPECT_TRUE(result.converged);
  result = harden(0.5, reals({2, 0.4, 1, 0.3}), open);  // too many open
  EXPECT_TRUE(at::equal(open, flags({1, 0, 1, 0})));
  EXPECT_EQ(result.projected_units, 2);
  EXPECT_TRUE(result.converged) << "two units may be projected, however few there are";
  result = harden(0.25, reals({2, 0.4, 1, 0.3}), open);
  EXPECT_TRUE(at::equal(open, flags({1, 0, 0, 0})));
  EXPECT_EQ(result.projected_units, 3);
  EXPECT_FALSE(result.converged);
  result = harden(0.75, reals({2, -0.4, -1, -0.3}), open);  // too few
  EXPECT_TRUE(at::equal(open, flags({1, 1, 0, 1})));
  EXPECT_EQ(result.projected_units, 2);
  result = harden(0.5, reals({1, 1, 1, 1}), open);  // ties by index
  EXPECT_TRUE(at::equal(open, flags({1, 1, 0, 0})));
  result = harden(0.01, reals({-2, -1, -3, -4}), open);  // never none
  EXPECT_TRUE(at::equal(open, flags({0, 1, 0, 0})));
  result = harden(1, reals({-2, -1, -3, 4}), open);
  EXPECT_TRUE(open.all().item<bool>());
  EXPECT_EQ(result.open_units, 4);
}

TEST(Hardening, CountsUnitsThatChangedSidesInTheLastTenth) {
  const GateOptions options = by_count(2);
  const auto changes = [&](const torch::Tensor& late, const torch::Tensor& last) {
    GateSite site = site_of(options, reals({0, 0, 0, 0}));
    GateControl control(options, {&site}, {.annealing_steps = 20, .rate = {}, .seed = 0});
    const auto set = [&](const torch::Tensor& logits) {
      torch::NoGradGuard no_grad;
      torch::Tensor(site.gate->logits()).copy_(logits);
    };
    for (int64_t step = 0; step < 20; ++step) {
      if (step == 18) set(late);
      GatePass pass(control.state(annealing), 0, step, ids(0, 3));
      pass.apply(site, at::ones({3, 4}, torch::kFloat64));
      control.observe(pass);
    }
    set(last);
    return control.harden(hardened);
  };
  EXPECT_EQ(changes(reals({3, 2, -2, -3}), reals({3, 2, -2, -3})).late_changes, 0);
  EXPECT_EQ(changes(reals({3, 2, -2, -3}), reals({3, -2, 2, -3})).late_changes, 2);
  EXPECT_EQ(changes(reals({3, 2, -2, -3}), reals({-3, -2, 2, 3})).late_changes, 4);
  EXPECT_NEAR(changes(reals({0, 0, 0, 0}), reals({3, 1, -1, -3})).logit_spread, std::sqrt(5), 1e-9);
}

TEST(Hardening, FivePercentOfTheUnitsIsStillConverged) {
  const GateOptions options = by_target(0.5);
  for (const int64_t surplus : {5, 6}) {
    GateSite site =
        site_of(options, at::where(at::arange(100).lt(50 + surplus), reals({3}), reals({-3})) - at::arange(100) * 1e-3);
    const Hardening result = GateControl(options, {&site}).harden(hardened);
    EXPECT_EQ(result.projected_units, surplus);
    EXPECT_EQ(result.converged, surplus == 5);
    EXPECT_EQ(result.open_units, 50);
  }
}

TEST(Hardening, LambdaLeavesLogitsAsTheyAre) {
  const GateOptions options = by_lambda(0.01);
  const torch::Tensor logits = reals({2, 0.4, -1, 0.3});
  GateSite site = site_of(options, logits);
  const Hardening result = GateControl(options, {&site}).harden(hardened);
  EXPECT_TRUE(at::equal(site.gate->logits(), logits));
  EXPECT_EQ(result.open_units, 3);
  EXPECT_EQ(result.projected_units, 0);
}

TEST(Hardening, UnequalCostsByFallingLogitWithinTheTarget) {
  const GateOptions options = by_target(0.5);
  GateSite site = site_of(options, reals({3, 2, 1, 0.5}), reals({4, 3, 1, 2}));
  GateControl(options, {&site}).harden(hardened);
  const torch::Tensor open = open_units(site);
  EXPECT_TRUE(open[0].item<bool>());
  EXPECT_FALSE(open[1].item<bool>()) << "4 + 3 is more than half of 10";
  EXPECT_LE((open * site.gate->cost()).sum().item<double>(), 5);
  // A target of everything opens everything, although such costs do not add up exactly.
  const GateOptions everything = by_target(1);
  torch::Tensor cost = at::cat({at::full({300}, 1.0F / 3), at::full({700}, 1.0F / 7), at::full({1100}, 1.0F / 11)});
  HardConcrete gate(everything, cost);
  GateSite all{"interface", gate, {}, {}};
  EXPECT_EQ(GateControl(everything, {&all}).harden(hardened).open_units, 2100);
}

TEST(Hardening, TopKCountsUnitsRegardlessOfCost) {
  const GateOptions options = by_count(2);
  for (const torch::Tensor& cost : {reals({1, 1, 1, 1}), reals({8, 8, 1, 1}), reals({1, 1, 8, 8})}) {
    GateSite site = site_of(options, reals({3, 2, -1, -2}), cost);
    const Hardening result = GateControl(options, {&site}).harden(hardened);
    EXPECT_TRUE(at::equal(open_units(site), flags({1, 1, 0, 0}))) << cost << open_units(site);
    EXPECT_EQ(result.projected_units, 0);
  }
}

TEST(Hardening, SitesShareOneTarget) {
  const GateOptions options = by_target(0.5);
  GateSite a = site_of(options, reals({5, 4, 3, 2}), {}, {}, "a"), b = site_of(options, reals({1, 0.5, -1, -2}), {}, {}, "b");
  const Hardening result = GateControl(options, {&a, &b}).harden(hardened);
  EXPECT_EQ(result.units, 8);
  EXPECT_EQ(result.open_units, 4);
  EXPECT_TRUE(at::equal(open_units(a), flags({1, 1, 1, 0})));
  EXPECT_TRUE(at::equal(open_units(b), flags({1, 0, 0, 0}))) << "a site that would close entirely keeps its largest unit";
}

TEST(Hardening, InstanceUnitsOutsideTheTargetCloseForEveryInput) {
  GateOptions options = by_target(0.5);
  options.logits = LogitKind::instance;
  GateSite site = site_of(options, reals({2, 0.2, 1, 0.1}));
  const Hardening result = GateControl(options, {&site}).harden(hardened);
  EXPECT_EQ(result.open_units, 2);
  EXPECT_EQ(result.projected_units, 2);
  GatePass pass = GatePass::evaluation(hardened, ids(0, 200));
  pass.apply(site, at::randn({200, 4}, torch::kFloat64) * 5);
  EXPECT_TRUE(at::equal(pass.record(site)->gated.gates.gt(0).any(0), flags({1, 0, 1, 0})));
}

TEST(Hardening, InstanceUnitsThatNeverOpenAreNotProjected) {
  GateOptions options = by_target(0.75);
  options.logits = LogitKind::instance;
  GateSite site = site_of(options, reals({6, 6, -6, -6}));
  GateControl control(options, {&site});
  for (int64_t step = 0; step < 300; ++step) {  // long enough to have seen that the last two are never open
    GatePass pass(annealing, 0, step, ids(0, 8));
    pass.apply(site, at::randn({8, 4}, torch::kFloat64));
    control.observe(pass);
  }
  const Hardening result = control.harden(hardened);
  EXPECT_EQ(result.open_units, 2);
  EXPECT_EQ(result.projected_units, 0);
  EXPECT_TRUE(result.converged);
}

}  // namespace
}  // namespace l0gm
