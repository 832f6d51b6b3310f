#include "l0gm/gate_control.h"

#include "gate/toy_control.h"

namespace l0gm {
namespace {

using namespace testing_tools;

TEST(GateControl, PenaltyFollowsTheSparsityOption) {
  const torch::Tensor r = at::ones({3, 4}, torch::kFloat64);
  const GateState half{Phase::anneal, 0.5, 0.5, 1};
  const auto penalty_at = [&](const GateOptions& options, const GateState& state) {
    const GateSite site = site_of(options, reals({-1, 0, 1, 2}), reals({1, 2, 3, 4}));
    const GateControl control(options, {&site});
    GatePass pass(state, 0, 0, ids(0, 3));
    pass.apply(site, r);
    const torch::Tensor penalty = control.penalty(pass);
    return penalty.defined() ? penalty.item<double>() / pass.expected_cost().item<double>() : -1;
  };
  EXPECT_NEAR(penalty_at(by_lambda(0.02), half), 0.01, 1e-12);
  EXPECT_NEAR(penalty_at(by_lambda(0.02), annealing), 0.02, 1e-12);
  EXPECT_EQ(penalty_at(by_lambda(0.02), warming), -1);
  EXPECT_EQ(penalty_at(by_lambda(0.02), hardened), -1);
  EXPECT_EQ(penalty_at(by_count(2), annealing), -1) << "top-k has no price";
  GateOptions fixed = by_target(0.5);
  fixed.logits = LogitKind::fixed;
  EXPECT_EQ(penalty_at(fixed, annealing), -1);
  EXPECT_FALSE(GateControl(by_lambda(1), {}).penalty(GatePass(annealing, 0, 0, ids(0, 1))).defined()) << "a dense model";
}

TEST(GateControl, LambdaPriceIsReportedWithItsRamp) {
  const GateOptions options = by_lambda(0.4);
  const GateSite site = site_of(options, reals({1, 2}));
  GateControl control(options, {&site});
  GatePass pass({Phase::anneal, 1, 0.25, 1}, 0, 0, ids(0, 2));
  pass.apply(site, at::ones({2, 2}, torch::kFloat64));
  control.observe(pass);
  EXPECT_NEAR(control.price(), 0.1, 1e-12);
}

TEST(GateControl, OnlyTopKLimitsOpenUnits) {
  const GateState half{Phase::anneal, 0.5, 0.5, 1};
  const auto keep = [](const GateOptions& options, const GateState& state) {
    const GateSite site = site_of(options, at::zeros({8}, torch::kFloat64));
    return GateControl(options, {&site}).state(state).keep;
  };
  EXPECT_DOUBLE_EQ(keep(by_count(2), half), 0.625);
  EXPECT_DOUBLE_EQ(keep(by_count(2), annealing), 0.25);
  EXPECT_DOUBLE_EQ(keep(by_count(2), warming), 1);
  EXPECT_DOUBLE_EQ(keep(by_count(2), hardened), 1);
  EXPECT_DOUBLE_EQ(keep(by_target(0.25), half), 1);
  EXPECT_DOUBLE_EQ(keep(by_lambda(0.25), half), 1);
}

TEST(GateControl, ContinuesFromARestoredState) {
  for (GateOptions options : {by_target(0.3), by_lambda(0.1)}) {
    options.logits = LogitKind::instance;
    const GateSite site = site_of(options, reals({1, 0.3, -0.2, -1}));
    GateControl whole(options, {&site}), first(options, {&site}), second(options, {&site});
    const auto step = [&](GateControl& control, int64_t number) {
      GatePass pass({Phase::anneal, 0.5, 0.7, 1}, 0, number, ids(number * 4, number * 4 + 4));
      at::manual_seed(static_cast<uint64_t>(number));
      pass.apply(site, at::randn({4, 4}, torch::kFloat64));
      control.observe(pass);
    };
    for (int64_t i = 0; i < 20; ++i) step(whole, i);
    for (int64_t i = 0; i < 9; ++i) step(first, i);
    second.restore(first.memory());
    EXPECT_EQ(second.price(), first.price());
    for (int64_t i = 9; i < 20; ++i) step(second, i);
    EXPECT_EQ(second.price(), whole.price());
    const auto a = whole.memory(), b = second.memory();
    ASSERT_EQ(a.size(), b.size());
    for (const auto& [name, tensor] : a) EXPECT_TRUE(at::equal(tensor, b.at(name))) << name;
  }
}

TEST(GateControl, StoredStateIsACopy) {
  GateOptions options = by_target(0.5);
  options.logits = LogitKind::fixed;
  options.static_by = StaticBy::magnitude;
  const GateSite site = site_of(options, reals({1, 1}));
  GateControl control(options, {&site});
  const auto before = control.memory();
  GatePass pass(warming, 0, 0, ids(0, 3));
  pass.apply(site, at::ones({3, 2}, torch::kFloat64));
  control.observe(pass);
  EXPECT_EQ(before.at("interface/scores").sum().item<double>(), 0);
  EXPECT_GT(control.memory().at("interface/scores").sum().item<double>(), 0);
}

}  // namespace
}  // namespace l0gm
