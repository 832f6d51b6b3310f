#include "l0gm/gate_control.h"

#include <ATen/Parallel.h>

#include "gate/toy_control.h"

// Training on a toy problem: closing unit j costs importance[j], so it is known which units should open.
namespace l0gm {
namespace {

using namespace testing_tools;

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
  at::set_num_threads(1);  // such small tensors are faster without threads
  at::manual_seed(1);
  const int64_t units = importance.size(0);
  GateSite site = site_of(options, at::randn({units}, torch::kFloat64) * 0.01 + 2.2, std::move(cost));
  GateControl control(options, {&site}, {.annealing_steps = steps / 2});
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
    control.observe(pass);
    adam.step();
  }
  outcome.open = open_units(site);
  outcome.active = outcome.open.to(torch::kFloat64).mean().item<double>();
  outcome.cost = (outcome.open * site.gate->cost()).sum().item<double>() / site.gate->cost().sum().item<double>();
  return outcome;
}

// Sixteen units in no order; the largest importance is sixty times the smallest.
torch::Tensor graded_importance(double largest) {
  const torch::Tensor falling = at::logspace(std::log10(largest), std::log10(largest / 60), 16, 10.0, torch::kFloat64);
  const torch::Tensor order =
      at::tensor(std::vector<int64_t>{7, 2, 12, 0, 5, 9, 15, 3, 11, 6, 1, 14, 10, 4, 13, 8}, torch::kInt64);
  return falling.index_select(0, order);
}

torch::Tensor largest(const torch::Tensor& values, int64_t count) {
  return at::zeros_like(values).index_fill_(0, std::get<1>(values.topk(count)), 1).gt(0);
}

TEST(GateControlToy, LambdaOpensUnitsWorthTheirPrice) {
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

// The speed of the gates follows the number of steps, the price the scale of the loss.
TEST(GateControlToy, TargetIsReachedInAnyNumberOfStepsAndAtAnyScaleOfTheLoss) {
  for (const int64_t steps : {30, 80, 200, 800, 3000}) {
    for (const double scale : {1e-5, 1.0, 1e5}) {
      const torch::Tensor importance = graded_importance(1) * scale;
      for (const int64_t count : {2, 8}) {
        const Outcome outcome = train(by_target(static_cast<double>(count) / 16), importance, {}, steps);
        EXPECT_LE(outcome.hardening.projected_units, 1) << steps << " steps, scale " << scale << ", " << count << " units";
        const auto right = (outcome.open & largest(importance, count)).sum().item<int64_t>();
        EXPECT_GE(right, steps < 100 ? count - 1 : count) << steps << " steps, scale " << scale;  // neighbours differ by a third
      }
    }
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

}  // namespace
}  // namespace l0gm
