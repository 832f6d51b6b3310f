#include "l0gm/gate_control.h"

#include <ATen/Parallel.h>

#include "gate/toy_gate.h"
#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using namespace testing_tools;

const GateState annealing{Phase::anneal, 0.5, 1, 1}, hardened{Phase::harden, 0.5, 1, 1}, warming{Phase::warmup, 2, 0, 1};

GateOptions by_target(double target) {
  GateOptions options;
  options.target_active = target;
  settle_control(options, false);
  return options;
}

GateOptions by_lambda(double lambda) {
  GateOptions options;
  options.lambda = lambda;
  settle_control(options, false);
  return options;
}

GateOptions by_count(int64_t k) {
  GateOptions options;
  options.k = k;
  settle_control(options, false);
  return options;
}

GateSite site_of(const GateOptions& options, const torch::Tensor& logits, torch::Tensor cost = {}, torch::Tensor index = {},
                 const std::string& name = "interface") {
  return {name, gate_with(options, logits, std::move(cost)), std::move(index), {}};
}

torch::Tensor open_units(const GateSite& site) {
  HardConcrete gate = site.gate;
  return gate->test_values(hardened).gt(0);
}

// ---- a toy problem: unit j closed costs importance[j], so which units should open is known

struct Outcome {
  torch::Tensor open;    // bool [units], by the test rule after hardening
  double active = 0;     // share of the units
  double cost = 0;       // share of the cost
  double undecided = 0;  // share with P(open) in (0.1, 0.9) when hardening begins
  Hardening hardening;
};

class Adam {
 public:
  Adam(std::vector<torch::Tensor> parameters, double rate) : parameters_(std::move(parameters)), rate_(rate) {
    for (const torch::Tensor& p : parameters_) {
      mean_.push_back(at::zeros_like(p).detach());
      square_.push_back(at::zeros_like(p).detach());
    }
  }
  void step() {
    torch::NoGradGuard no_grad;
    ++steps_;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const torch::Tensor gradient = parameters_[i].grad();
      if (!gradient.defined()) continue;
      mean_[i].mul_(0.9).add_(gradient, 0.1);
      square_[i].mul_(0.99).add_(gradient.square(), 0.01);
      const double m = 1 - std::pow(0.9, steps_), s = 1 - std::pow(0.99, steps_);
      parameters_[i].sub_(mean_[i] / m / ((square_[i] / s).sqrt() + 1e-8) * rate_);
      parameters_[i].mutable_grad() = torch::Tensor();  // not zero: momentum would move logits that are frozen
    }
  }

 private:
  std::vector<torch::Tensor> parameters_, mean_, square_;
  double rate_;
  int steps_ = 0;
};

Outcome train(const GateOptions& options, const torch::Tensor& importance, torch::Tensor cost = {}, int64_t steps = 800,
              ScheduleOptions schedule_options = {}) {
  constexpr int64_t examples = 32;
  at::set_num_threads(1);  // tensors this small only wait for one another
  at::manual_seed(1);
  const int64_t units = importance.size(0);
  GateSite site = site_of(options, at::randn({units}, torch::kFloat64) * 0.01 + 2.2, std::move(cost));
  GateControl control(options, {&site});
  const Schedule schedule(schedule_options);
  Adam adam(site.gate->parameters(), 0.05);
  Outcome outcome;
  bool started = false, fixed = false;
  const torch::Tensor r = at::ones({examples, units}, torch::kFloat64);
  for (int64_t step = 0; step < steps; ++step) {
    const GateState state = control.state(schedule.at(static_cast<double>(step) / static_cast<double>(steps)));
    if (!started && state.phase != Phase::warmup) {
      control.start_annealing(state);
      started = true;
    }
    if (!fixed && state.phase == Phase::harden) {
      const torch::Tensor p = site.gate->open_probability(state.tau);
      outcome.undecided = (p.gt(0.1) & p.lt(0.9)).to(torch::kFloat64).mean().item<double>();
      outcome.hardening = control.harden(state);
      fixed = true;
    }
    GatePass pass(state, 7, step, ids(step * examples, (step + 1) * examples));
    const torch::Tensor value = pass.apply(site, r);
    torch::Tensor loss = ((1 - value).square() * importance).sum(1).mean();
    if (const torch::Tensor penalty = control.penalty(pass); penalty.defined()) loss = loss + penalty;
    if (loss.requires_grad()) loss.backward();
    adam.step();
    control.after_step(pass);
  }
  outcome.open = open_units(site);
  outcome.active = outcome.open.to(torch::kFloat64).mean().item<double>();
  outcome.cost = (outcome.open * site.gate->cost()).sum().item<double>() / site.gate->cost().sum().item<double>();
  return outcome;
}

// Sixteen units in no order, sixty times apart from first to last.
torch::Tensor graded_importance(double largest) {
  const torch::Tensor falling = at::logspace(std::log10(largest), std::log10(largest / 60), 16, 10.0, torch::kFloat64);
  const torch::Tensor order =
      at::tensor(std::vector<int64_t>{7, 2, 12, 0, 5, 9, 15, 3, 11, 6, 1, 14, 10, 4, 13, 8}, torch::kInt64);
  return falling.index_select(0, order);
}

torch::Tensor largest(const torch::Tensor& values, int64_t count) {
  return at::zeros_like(values).index_fill_(0, std::get<1>(values.topk(count)), 1).gt(0);
}

TEST(GateControlToy, LambdaOpensWhatIsWorthItsPrice) {
  const torch::Tensor useful = reals({1, 0, 1, 0, 0, 0, 1, 0, 0, 0});
  const Outcome outcome = train(by_lambda(0.1), useful);
  EXPECT_TRUE(at::equal(outcome.open, useful.gt(0))) << outcome.open;
  EXPECT_EQ(outcome.undecided, 0) << "a trained gate is bimodal";
  EXPECT_EQ(outcome.hardening.projected_units, 0);
  EXPECT_TRUE(outcome.hardening.converged);
  EXPECT_EQ(outcome.hardening.units, 10);
  EXPECT_EQ(outcome.hardening.open_units, 3);
}

TEST(GateControlToy, LambdaWeighsTheCostOfAUnit) {
  const torch::Tensor importance = at::full({4}, 0.05, torch::kFloat64), cost = reals({1, 50, 1, 50});
  EXPECT_TRUE(at::equal(train(by_lambda(0.02), importance, cost).open, flags({1, 0, 1, 0})));
}

TEST(GateControlToy, LambdaUpActiveFractionNotUp) {
  std::vector<double> active;
  for (const double lambda : {1e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0})
    active.push_back(train(by_lambda(lambda), graded_importance(0.06)).active);
  EXPECT_GT(active.front(), 0.8);
  EXPECT_LT(active.back(), 0.2);
  for (size_t i = 1; i < active.size(); ++i) EXPECT_LE(active[i], active[i - 1]) << i;
}

TEST(GateControlToy, TargetOpensTheMostImportantUnitsExactly) {
  const torch::Tensor importance = graded_importance(0.036);
  for (const int64_t count : {2, 4, 8, 12}) {
    const Outcome outcome = train(by_target(static_cast<double>(count) / 16), importance);
    EXPECT_EQ(outcome.hardening.open_units, count);
    EXPECT_TRUE(at::equal(outcome.open, largest(importance, count))) << count << outcome.open;
    EXPECT_LE(outcome.hardening.projected_units, 2) << count << ": the price alone should come close";
  }
}

TEST(GateControlToy, TopKOpensTheUsefulUnitsExactly) {
  for (const int64_t count : {1, 4, 10}) {
    const torch::Tensor useful = largest(graded_importance(1), count);
    const Outcome outcome = train(by_count(count), useful.to(torch::kFloat64) * 0.05);
    EXPECT_EQ(outcome.hardening.open_units, count);
    EXPECT_TRUE(at::equal(outcome.open, useful)) << outcome.open;
  }
}

TEST(GateControlToy, UnequalCostsStayWithinTheTarget) {
  const torch::Tensor cost = reals({1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 6});
  for (const double target : {0.15, 0.4, 0.7}) {
    const Outcome outcome = train(by_target(target), graded_importance(0.036), cost);
    EXPECT_LE(outcome.cost, target + 1e-12);
    EXPECT_GE(outcome.cost, target - 6.0 / 51) << "no more is closed than the largest unit explains";
  }
}

TEST(GateControlToy, WithoutAnnealingLambdaStillSeparates) {
  ScheduleOptions none;
  none.kind = ScheduleKind::none;
  const torch::Tensor useful = reals({1, 0, 1, 0, 0});
  EXPECT_TRUE(at::equal(train(by_lambda(0.1), useful, {}, 300, none).open, useful.gt(0)));
}

// ---- hardening by hand

TEST(Hardening, ProjectsToTheLargestLogitsAndSaysHowFar) {
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

TEST(Hardening, TopKCountsUnitsWhateverTheyCost) {
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
  EXPECT_EQ(open_units(a).sum().item<int64_t>(), 4);
  EXPECT_EQ(open_units(b).sum().item<int64_t>(), 1) << "a site that would close altogether keeps its largest";
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
  EXPECT_TRUE(at::equal(pass.records()[0].gated.gates.gt(0).any(0), flags({1, 0, 1, 0})));
}

TEST(Hardening, InstanceUnitsThatAreDeadAlreadyAreNotProjected) {
  GateOptions options = by_target(0.75);
  options.logits = LogitKind::instance;
  GateSite site = site_of(options, reals({6, 6, -6, -6}));
  GateControl control(options, {&site});
  for (int64_t step = 0; step < 300; ++step) {  // long enough to have seen that the last two are never open
    GatePass pass(annealing, 0, step, ids(0, 8));
    pass.apply(site, at::randn({8, 4}, torch::kFloat64));
    control.after_step(pass);
  }
  const Hardening result = control.harden(hardened);
  EXPECT_EQ(result.open_units, 2);
  EXPECT_EQ(result.projected_units, 0);
  EXPECT_TRUE(result.converged);
}

// ---- price, state and penalty

TEST(GateControl, PenaltyFollowsTheKnob) {
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

TEST(GateControl, TargetPriceFollowsTheGap) {
  const GateOptions options = by_target(0.5);
  const auto price_after = [&](double logit, double ramp, int64_t steps) {
    const GateSite site = site_of(options, at::full({4}, logit, torch::kFloat64));
    GateControl control(options, {&site});
    for (int64_t step = 0; step < steps; ++step) {
      GatePass pass({Phase::anneal, 0.5, ramp, 1}, 0, step, ids(0, 2));
      pass.apply(site, at::ones({2, 4}, torch::kFloat64));
      control.after_step(pass);
    }
    return control.price();
  };
  EXPECT_GT(price_after(8, 1, 1), 0);
  EXPECT_GT(price_after(8, 1, 10), price_after(8, 1, 1));
  EXPECT_LT(price_after(-8, 1, 10), 0) << "below the target the price falls, also below zero: closed gates must reopen";
  EXPECT_NEAR(price_after(20, 0, 10), 0, 1e-6) << "at the start of the ramp the target is everything";
}

TEST(GateControl, LambdaPriceIsReportedWithItsRamp) {
  const GateOptions options = by_lambda(0.4);
  const GateSite site = site_of(options, reals({1, 2}));
  GateControl control(options, {&site});
  GatePass pass({Phase::anneal, 1, 0.25, 1}, 0, 0, ids(0, 2));
  pass.apply(site, at::ones({2, 2}, torch::kFloat64));
  control.after_step(pass);
  EXPECT_NEAR(control.price(), 0.1, 1e-12);
}

TEST(GateControl, OnlyTopKLimitsWhatPasses) {
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

TEST(GateControl, GoesOnFromItsMemory) {
  for (GateOptions options : {by_target(0.3), by_lambda(0.1)}) {
    options.logits = LogitKind::instance;
    const GateSite site = site_of(options, reals({1, 0.3, -0.2, -1}));
    GateControl whole(options, {&site}), first(options, {&site}), second(options, {&site});
    const auto step = [&](GateControl& control, int64_t number) {
      GatePass pass({Phase::anneal, 0.5, 0.7, 1}, 0, number, ids(number * 4, number * 4 + 4));
      at::manual_seed(static_cast<uint64_t>(number));
      pass.apply(site, at::randn({4, 4}, torch::kFloat64));
      control.after_step(pass);
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

TEST(GateControl, MemoryIsACopy) {
  GateOptions options = by_target(0.5);
  options.logits = LogitKind::fixed;
  options.static_by = StaticBy::magnitude;
  const GateSite site = site_of(options, reals({1, 1}));
  GateControl control(options, {&site});
  const auto before = control.memory();
  GatePass pass(warming, 0, 0, ids(0, 3));
  pass.apply(site, at::ones({3, 2}, torch::kFloat64));
  control.after_step(pass);
  EXPECT_EQ(before.at("interface/scores").sum().item<double>(), 0);
  EXPECT_GT(control.memory().at("interface/scores").sum().item<double>(), 0);
}

// ---- static masks

torch::Tensor static_mask(StaticBy by, uint64_t seed, double target, const torch::Tensor& scale, const torch::Tensor& weights,
                          const torch::Tensor& index = {}, const torch::Tensor& cost = {}) {
  GateOptions options = by_target(target);
  options.logits = LogitKind::fixed;
  options.static_by = by;
  GateSite site = site_of(options, at::full({cost.defined() ? cost.size(0) : scale.size(0)}, 2.2, torch::kFloat64), cost, index);
  GateControl control(options, {&site}, seed);
  at::manual_seed(3);
  for (int64_t step = 0; step < 10; ++step) {
    GatePass pass(warming, 0, step, ids(0, 16));
    EXPECT_EQ(control.wants_probe(warming), by == StaticBy::gradient);
    pass.probing = control.wants_probe(warming);
    const torch::Tensor r = ((at::rand({16, scale.size(0)}, torch::kFloat64) + 1) * scale).requires_grad_(true);
    (pass.apply(site, r) * weights).sum().backward();
    control.after_step(pass);
  }
  EXPECT_FALSE(control.wants_probe(annealing));
  control.start_annealing(annealing);
  const torch::Tensor open = open_units(site);
  const Hardening result = control.harden(hardened);
  EXPECT_EQ(result.projected_units, 0) << "picked once";
  EXPECT_TRUE(at::equal(open_units(site), open));
  return open;
}

TEST(StaticMask, MagnitudeAndGradientRankByWhatTheySay) {
  const torch::Tensor scale = reals({-8, 4, 2, 1}), weights = reals({0.01, 0.02, 1, -5});
  EXPECT_TRUE(at::equal(static_mask(StaticBy::magnitude, 0, 0.5, scale, weights), flags({1, 1, 0, 0})));
  EXPECT_TRUE(at::equal(static_mask(StaticBy::gradient, 0, 0.5, scale, weights), flags({0, 0, 1, 1})));
  EXPECT_TRUE(at::equal(static_mask(StaticBy::gradient, 0, 0.25, scale, weights), flags({0, 0, 0, 1})));
}

TEST(StaticMask, GroupsAddUpTheirDimensions) {
  const torch::Tensor scale = reals({3, 3, 4, 1}), weights = reals({1, 1, 1, 1});
  const torch::Tensor groups = at::tensor(std::vector<int64_t>{0, 0, 1, 2}, torch::kInt64);
  EXPECT_TRUE(at::equal(static_mask(StaticBy::magnitude, 0, 0.5, scale, weights, groups, reals({2, 1, 1})), flags({1, 0, 0})));
}

TEST(StaticMask, RandomDependsOnTheSeedAlone) {
  const torch::Tensor scale = at::ones({40}, torch::kFloat64);
  const auto mask = [&](uint64_t seed) { return static_mask(StaticBy::random, seed, 0.25, scale, scale); };
  EXPECT_EQ(mask(1).sum().item<int64_t>(), 10);
  EXPECT_TRUE(at::equal(mask(1), mask(1)));
  EXPECT_FALSE(at::equal(mask(1), mask(2)));
}

// ---- options that contradict each other

TEST(SettleControl, FollowsFromWhatIsNamed) {
  EXPECT_EQ(by_lambda(0.1).control, ControlKind::lambda);
  EXPECT_EQ(by_target(0.1).control, ControlKind::target);
  EXPECT_EQ(by_count(3).control, ControlKind::top_k);
  GateOptions nothing;
  settle_control(nothing, false);
  EXPECT_EQ(nothing.control, ControlKind::lambda);
  EXPECT_EQ(nothing.lambda, GateOptions::default_lambda);
  GateOptions dense;
  dense.unit = UnitKind::none;
  dense.lambda = 1;
  dense.k = 1;
  EXPECT_NO_THROW(settle_control(dense, false)) << "without gates the knobs do not matter";
}

TEST(SettleControl, ContradictionsAreRefused) {
  const auto refused = [](GateOptions options, bool named, const std::string& part) {
    const std::string message = message_of<UserError>([&] { settle_control(options, named); });
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
  refused(options, false, "set gate.target_active or gate.k");
  options.lambda = 0.1;
  refused(options, false, "not gate.lambda");
}

TEST(SettleControl, ControlMayBeNamedTogetherWithItsKnob) {
  GateOptions options;
  options.control = ControlKind::target;
  options.target_active = 0.25;
  EXPECT_NO_THROW(settle_control(options, true));
  EXPECT_EQ(options.control, ControlKind::target);
}

}  // namespace
}  // namespace l0gm
