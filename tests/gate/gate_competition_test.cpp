#include "gate/gate_competition.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <cmath>

#include "l0gm/gate_control.h"

namespace l0gm {
namespace {

GateOptions half_open() {
  GateOptions options;
  options.control = ControlKind::target;
  options.target_active = 0.5;
  return options;
}

GateSite site_with(const std::vector<double>& logits) {
  GateSite site{"interface", HardConcrete(half_open(), at::ones({static_cast<int64_t>(logits.size())}, torch::kFloat64)), {}, {}};
  torch::NoGradGuard no_grad;
  site.gate->logits().copy_(at::tensor(logits, torch::kFloat64));
  return site;
}

GatePass pass_over(const GateSite& site, const GateState& state, int64_t examples) {
  GatePass pass(state, 3, 0, at::arange(examples, torch::kInt64));
  pass.apply(site, at::ones({examples, site.gate->units()}, torch::kFloat64));
  return pass;
}

// E[z] by the mean over many draws.
TEST(PricedCost, IsTheExpectedValueOfTheGates) {
  for (const double tau : {2.0, 1.0, 0.5}) {
    const GateSite site = site_with({-3, -1, 0, 0.5, 2.2, 4});
    const GatePass pass = pass_over(site, {Phase::anneal, tau, 1, 1}, 100000);
    const GatePass::Record& record = *pass.record(site);
    EXPECT_NEAR(priced_cost(record, tau).item<double>(), record.gated.gates.sum(1).mean().item<double>(), 0.02) << tau;
  }
}

TEST(PricedCost, MovesLogitsThatAreWideOpenAtTheFirstTemperature) {
  GateSite site = site_with({2.2});
  GatePass pass(GateState{Phase::anneal, 2.0, 0, 1}, 0, 0, at::arange(4, torch::kInt64));
  pass.apply(site, at::ones({4, 1}, torch::kFloat64));
  priced_cost(*pass.record(site), 2.0).backward();
  const double by_value = site.gate->logits().grad().item<double>();
  const double p = site.gate->open_probability(2.0).item<double>();
  EXPECT_GT(by_value, 20 * p * (1 - p)) << "P(open) hardly depends on the logit here";
}

// One step: the two units whose gradient says that opening them lowers the loss most rise, the others fall.
TEST(GateCompetition, UnitsWorthThePriceRiseAndOthersFall) {
  GateSite site = site_with({0.5, 0.5, 0.5, 0.5});
  GateCompetition competition({&site}, 100, 0.25);
  const GateState state{Phase::anneal, 1.0, 1, 1};
  const GatePass pass = pass_over(site, state, 8);
  site.gate->logits().mutable_grad() = at::tensor({-4e-7, -1e-7, -3e-7, 2e-7}, torch::kFloat64);
  competition.follow(0, *pass.record(site), state, 0);
  const double price = competition.decide(state, 1.0);  // everything is open, and may be
  EXPECT_LT(price, 0) << "a unit that hurts sets the price at which all are open";
  site.gate->logits().mutable_grad() = at::tensor({-4e-7, -1e-7, -3e-7, 2e-7}, torch::kFloat64);
  GateSite second = site_with({0.5, -0.5, 0.5, -0.5});
  GateCompetition again({&second}, 100, 0.25);
  const GatePass other = pass_over(second, state, 8);
  second.gate->logits().mutable_grad() = at::tensor({-4e-7, -1e-7, -3e-7, 2e-7}, torch::kFloat64);
  again.follow(0, *other.record(second), state, 0);
  again.decide(state, 0.5);
  again.move(state);
  const torch::Tensor after = second.gate->logits();
  EXPECT_NEAR(after[0].item<double>(), 0.75, 1e-6);
  EXPECT_LT(after[1].item<double>(), -0.5);
  EXPECT_GT(after[2].item<double>(), 0.5);
  EXPECT_NEAR(after[3].item<double>(), -0.75, 1e-6);
  EXPECT_FALSE(second.gate->logits().grad().defined()) << "no optimiser moves them as well";
  EXPECT_DOUBLE_EQ(again.open_share(), 0.5);
}

TEST(GateCompetition, ThePriceInTheLossIsNotTakenForTheTasks) {
  torch::Tensor without;
  for (const double price : {0.0, 0.3}) {
    GateSite site = site_with({0.5, -0.2, 1.0, 0.1});
    const GateState state{Phase::anneal, 1.0, 1, 1};
    GatePass pass(state, 3, 0, at::arange(8, torch::kInt64));
    const torch::Tensor value = pass.apply(site, at::ones({8, 4}, torch::kFloat64));
    ((value * at::tensor({-1.0, -2.0, -3.0, -4.0}, torch::kFloat64)).sum(1).mean() + price * priced_cost(*pass.record(site), 1.0))
        .backward();
    GateCompetition competition({&site}, 100, 0.25);
    competition.follow(0, *pass.record(site), state, price);
    const torch::Tensor benefit = competition.memory().at("interface/benefit");
    if (price == 0) without = benefit;
    EXPECT_TRUE(at::allclose(benefit, without, 1e-5, 1e-7)) << benefit << without;
  }
}

TEST(GateControl, SaysBeforehandThatGatesCannotConverge) {
  const GateSite site = site_with({2.2, 2.2});
  EXPECT_EQ(GateControl(half_open(), {&site}, {.annealing_steps = 40}).obstacle(), "");
  EXPECT_NE(GateControl(half_open(), {&site}, {.annealing_steps = 40, .rate = 0.05}).obstacle().find("at most 2"),
            std::string::npos);
  EXPECT_NE(GateControl(half_open(), {&site}, {.annealing_steps = 4}).obstacle().find("too few"), std::string::npos);
}

TEST(GateControl, LearningRateFollowsTheNumberOfSteps) {
  EXPECT_DOUBLE_EQ(GateControl::learning_rate(100), 0.3);
  EXPECT_DOUBLE_EQ(GateControl::learning_rate(100000), 0.05);
  EXPECT_DOUBLE_EQ(GateControl::learning_rate(3), 1.0);
}

}  // namespace
}  // namespace l0gm
