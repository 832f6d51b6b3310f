#include "gate/toy_control.h"

// One target or number of units over several sites.
namespace l0gm {
namespace {

using namespace testing_tools;

int64_t open_in(const GateSite& site, const GateState& state) {
  HardConcrete gate = site.gate;
  return gate->test_values(state).gt(0).sum().item<int64_t>();
}

TEST(SeveralSites, TopKIsOneThresholdWhileAnnealing) {
  const GateOptions options = by_count(4);
  GateSite a = site_of(options, reals({5, 4, 3, 2}), {}, {}, "a"), b = site_of(options, reals({1, 0.5, 0.4, 0.3}), {}, {}, "b");
  const GateState state = GateControl(options, {&a, &b}).state(annealing);
  EXPECT_TRUE(at::equal(a.gate->test_values(state).gt(0), flags({1, 1, 1, 0})));
  EXPECT_TRUE(at::equal(b.gate->test_values(state).gt(0), flags({1, 0, 0, 0}))) << "its largest, within the four";
  HardConcrete gate = a.gate;
  const torch::Tensor sampled = gate->forward(at::ones({300, 4}, torch::kFloat64), state, {0, 0, 0, ids(0, 300)}).gates;
  EXPECT_TRUE(at::equal(sampled.gt(0).any(0), flags({1, 1, 1, 0})));
}

TEST(SeveralSites, NeverMoreThanKUnitsAreOpenAndHardeningChangesNone) {
  torch::manual_seed(3);
  for (int64_t k = 3; k <= 21; ++k) {
    const GateOptions options = by_count(k);
    std::vector<GateSite> sites;
    for (const int64_t units : {1, 7, 13}) {
      const torch::Tensor logits = at::rand({units}, torch::kFloat64) + (units == 7 ? 1 : 0.1);  // all open by the test rule
      sites.push_back(site_of(options, logits, {}, {}, std::to_string(units)));
    }
    GateControl control(options, {&sites[0], &sites[1], &sites[2]});
    const GateState state = control.state(annealing);
    int64_t open = 0;
    for (const GateSite& site : sites) {
      EXPECT_GE(open_in(site, state), 1);
      open += open_in(site, state);
    }
    EXPECT_EQ(open, k);
    const Hardening result = control.harden(hardened);
    EXPECT_EQ(result.open_units, k);
    EXPECT_EQ(result.projected_units, 0) << k;
  }
}

TEST(SeveralSites, AShareOfFewerUnitsThanSitesLeavesOneOpenInEach) {
  const GateOptions options = by_target(0.2);
  GateSite a = site_of(options, reals({5, 4}), {}, {}, "a"), b = site_of(options, reals({1, 2}), {}, {}, "b");
  EXPECT_EQ(GateControl(options, {&a, &b}).harden(hardened).open_units, 2);
  EXPECT_TRUE(at::equal(open_units(a), flags({1, 0})));
  EXPECT_TRUE(at::equal(open_units(b), flags({0, 1})));
}

TEST(SeveralSites, EqualLogitsStayWithinTheNumber) {
  const GateOptions options = by_count(3);
  GateSite a = site_of(options, reals({1, 1, 1, 1}), {}, {}, "a"), b = site_of(options, reals({1, 1}), {}, {}, "b");
  GateControl control(options, {&a, &b});
  const GateState state = control.state(annealing);
  EXPECT_LE(open_in(a, state) + open_in(b, state), 3);
  EXPECT_EQ(control.harden(hardened).open_units, 3);
}

TEST(SeveralSites, UnequalCostsStayWithinTheTarget) {
  const GateOptions options = by_target(0.5);
  GateSite a = site_of(options, reals({5, 4, 3}), reals({2, 2, 2}), {}, "a"),
           b = site_of(options, reals({1, 2}), reals({1, 1}), {}, "b");
  GateControl(options, {&a, &b}).harden(hardened);
  EXPECT_TRUE(at::equal(open_units(a), flags({1, 0, 0})));  // 2 + 1, and 2 more would be 5 of 8
  EXPECT_TRUE(at::equal(open_units(b), flags({1, 1})));
}

TEST(SeveralSites, TheNumberFallsWithTheRamp) {
  const GateOptions options = by_count(2);
  GateSite a = site_of(options, reals({8, 7, 6, 5}), {}, {}, "a"), b = site_of(options, reals({4, 3, 2, 1}), {}, {}, "b");
  GateState half = annealing;
  half.ramp = 0.5;
  const GateControl control(options, {&a, &b});
  EXPECT_EQ(open_in(a, control.state(half)), 4);
  EXPECT_EQ(open_in(b, control.state(half)), 1);
  half.ramp = 0;
  EXPECT_EQ(open_in(b, control.state(half)), 4);
}

// The share of a single site is not turned into a threshold: nothing about it depends on this.
TEST(SeveralSites, OneSiteKeepsItsShare) {
  const GateOptions options = by_count(2);
  GateSite site = site_of(options, reals({1, 1, 1, 1}));
  const GateState state = GateControl(options, {&site}).state(annealing);
  EXPECT_EQ(state.keep, 0.5);
  EXPECT_FALSE(std::isfinite(state.keep_above));
  EXPECT_TRUE(at::equal(site.gate->test_values(state).gt(0), flags({1, 1, 0, 0})));
}

}  // namespace
}  // namespace l0gm
