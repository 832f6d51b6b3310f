#include "l0gm/gate_control.h"

#include "gate/toy_control.h"
#include "l0gm/error.h"
#include "support/temporary_folder.h"

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

TEST(GateControl, MoreUnitsThanThereAreIsRefusedWithBothNumbers) {
  const GateOptions options = by_count(9);
  const GateSite site = site_of(options, at::zeros({8}, torch::kFloat64));
  const std::string message = message_of<UserError>([&] { GateControl(options, {&site}); });
  EXPECT_NE(message.find("gate.k = 9"), std::string::npos) << message;
  EXPECT_NE(message.find("8 units"), std::string::npos) << message;
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

// ---- options that contradict each other

TEST(ResolveControl, FollowsFromWhatIsNamed) {
  EXPECT_EQ(by_lambda(0.1).control, ControlKind::lambda);
  EXPECT_EQ(by_target(0.1).control, ControlKind::target);
  EXPECT_EQ(by_count(3).control, ControlKind::top_k);
  GateOptions nothing;
  resolve_control(nothing, false);
  EXPECT_EQ(nothing.control, ControlKind::lambda);
  EXPECT_EQ(nothing.lambda, GateOptions::default_lambda);
  GateOptions dense;
  dense.unit = UnitKind::none;
  dense.lambda = 1;
  dense.k = 1;
  EXPECT_NO_THROW(resolve_control(dense, false)) << "without gates these options do not matter";
}

TEST(ResolveControl, ContradictionsAreRefused) {
  const auto refused = [](GateOptions options, bool named, const std::string& part) {
    const std::string message = message_of<UserError>([&] { resolve_control(options, named); });
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  GateOptions options;
  options.lambda = 0.1;
  options.k = 3;
  refused(options, false, "exclude each other");
  options = {};
  options.control = ControlKind::target;
  refused(options, true, "needs gate.target_active");
  options.lambda = 0.1;
  refused(options, true, "gate.control = target does not go with gate.lambda");
  options = {};
  options.control = ControlKind::top_k;
  refused(options, true, "needs gate.k");
  options.target_active = 0.5;
  refused(options, true, "gate.control = top-k does not go with gate.target_active");
  options = {};
  options.logits = LogitKind::fixed;
  refused(options, false, "set gate.target_active");
  options.lambda = 0.1;
  refused(options, false, "not gate.lambda");
}

TEST(ResolveControl, ControlMayBeNamedTogetherWithItsOption) {
  GateOptions options;
  options.control = ControlKind::target;
  options.target_active = 0.25;
  EXPECT_NO_THROW(resolve_control(options, true));
  EXPECT_EQ(options.control, ControlKind::target);
}

}  // namespace
}  // namespace l0gm
