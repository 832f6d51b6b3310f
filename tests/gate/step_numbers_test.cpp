#include "gate/step_numbers.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "gate/gate_competition.h"
#include "l0gm/gate_control.h"

namespace l0gm {
namespace {

torch::Tensor ids(int64_t count) { return at::arange(count, torch::kInt64); }

GateSite a_site(int64_t units, const GateOptions& options = {}) {
  at::manual_seed(1);
  return {"interface", HardConcrete(options, at::ones({units})), {}, {}};
}

// A step that reads its numbers from memory is the step that has them as arguments, whatever step it was built for.
TEST(StepNumbers, GatesAndDropoutAreThoseOfTheStep) {
  const GateSite site = a_site(7);
  StepNumbers numbers(torch::kCPU);
  at::manual_seed(2);
  const torch::Tensor r = at::randn({5, 7});
  for (const int64_t step : {3, 4, 11}) {
    const GateState state{Phase::anneal, 2.0 - 0.1 * static_cast<double>(step), 1, 1};
    numbers.set_step(9, step);
    numbers.set(StepNumber::tau, state.tau);
    numbers.send();
    GatePass plain(state, 9, step, ids(5)), live({Phase::anneal, 1.7, 1, 1}, 9, 3, ids(5), &numbers);
    EXPECT_TRUE(at::equal(plain.apply(site, r), live.apply(site, r))) << step;
    EXPECT_TRUE(at::equal(plain.record(site)->gated.expected_open, live.record(site)->gated.expected_open)) << step;
    EXPECT_TRUE(at::equal(plain.dropout(r, 0.4, 1), live.dropout(r, 0.4, 1))) << step;
    EXPECT_FALSE(at::equal(plain.dropout(r, 0.4, 1), live.dropout(r, 0.4, 2))) << step;
  }
}

TEST(StepNumbers, GradientsDrawTheSameNumbersAgain) {
  const GateSite site = a_site(6);
  StepNumbers numbers(torch::kCPU);
  const GateState state{Phase::anneal, 0.8, 1, 1};
  const torch::Tensor mix = at::randn({4, 6});
  const auto gradients = [&](StepNumbers* live) {
    HardConcrete(site.gate)->logits().mutable_grad() = torch::Tensor();
    const torch::Tensor r = at::ones({4, 6}).requires_grad_(true);
    GatePass pass(live ? GateState{Phase::anneal, 1.5, 1, 1} : state, 5, live ? 0 : 8, ids(4), live);
    (pass.dropout(pass.apply(site, r), 0.3, 4) * mix).sum().backward();
    return std::pair(r.grad(), site.gate->logits().grad().clone());
  };
  numbers.set_step(5, 8);
  numbers.set(StepNumber::tau, state.tau);
  numbers.send();
  const auto plain = gradients(nullptr), live = gradients(&numbers);
  EXPECT_TRUE(at::equal(plain.first, live.first));
  EXPECT_TRUE(at::equal(plain.second, live.second));
  EXPECT_GT(plain.second.abs().max().item<double>(), 0);
}

TEST(StepNumbers, PlacesKeepTheirMemory) {
  StepNumbers numbers(torch::kCPU);
  numbers.set_step(1, 1);
  const uint64_t* first = numbers.key(10);
  const uint64_t was = *first;
  for (int64_t place = 0; place < 50; ++place) EXPECT_NE(numbers.key(1000 + place), first);
  EXPECT_EQ(numbers.key(10), first);
  numbers.set_step(1, 2);
  EXPECT_EQ(*first, was) << "not sent yet";
  numbers.send();
  EXPECT_NE(*first, was);
  const torch::Tensor tau = numbers.at(StepNumber::tau);
  numbers.set(StepNumber::tau, 0.25);
  numbers.send();
  EXPECT_EQ(tau.item<double>(), 0.25);
}

// Control with numbers from memory moves logits as control without.
TEST(StepNumbers, ControlMovesLogitsAlike) {
  for (const bool by_price : {false, true}) {
    GateOptions options;
    if (by_price) {
      options.lambda = 0.3;
    } else {
      options.target_active = 0.5;
    }
    resolve_control(options, false);
    std::vector<torch::Tensor> ends;
    for (const bool in_memory : {false, true}) {
      const GateSite site = a_site(8, options);
      GateControl control(options, {&site}, {.annealing_steps = 40, .rate = {}, .seed = 0, .measures = false});
      StepNumbers numbers(torch::kCPU);
      StepNumbers* live = in_memory ? &numbers : nullptr;
      const torch::Tensor worth = at::linspace(0.1, 2, 8);
      for (int64_t step = 0; step < 40; ++step) {
        const GateState state{Phase::anneal, 2 - 0.03 * static_cast<double>(step), std::min(1.0, static_cast<double>(step) / 30), 1};
        ASSERT_TRUE(control.can_be_replayed(state));
        numbers.set_step(3, step);
        control.set_numbers(state, numbers);
        numbers.send();
        GatePass pass(state, 3, step, ids(16), live);
        torch::Tensor loss = -(pass.apply(site, at::ones({16, 8})) * worth).sum(1).mean();
        if (const torch::Tensor penalty = control.penalty(pass); penalty.defined()) loss = loss + penalty;
        loss.backward();
        control.follow(pass);
        control.decide(state);
        control.set_numbers(state, numbers);
        numbers.send();
        control.move(state, live);
        torch::Tensor& logits = HardConcrete(site.gate)->logits();
        if (logits.grad().defined()) {
          torch::NoGradGuard no_grad;
          logits.sub_(logits.grad(), 0.2);
          logits.mutable_grad() = torch::Tensor();
        }
      }
      ends.push_back(site.gate->logits().detach().clone());
    }
    EXPECT_LT((ends[0] - ends[1]).abs().max().item<double>(), 1e-4) << by_price;
    EXPECT_GT(ends[0].std().item<double>(), 0.1) << "something moved";
  }
}

TEST(StepNumbers, WhatTheHostDecidesInAStepIsNotReplayed) {
  const auto replayable = [](const std::function<void(GateOptions&)>& change, Phase phase) {
    GateOptions options;
    change(options);
    resolve_control(options, false);
    const GateSite site = a_site(8, options);
    return GateControl(options, {&site}).can_be_replayed({phase, 1, 1, 1});
  };
  const auto top_k = [](GateOptions& options) { options.k = 3; };
  const auto instance = [](GateOptions& options) { options.target_active = 0.5, options.logits = LogitKind::instance; };
  const auto mask = [](GateOptions& options) { options.k = 3, options.logits = LogitKind::fixed; };
  EXPECT_FALSE(replayable(top_k, Phase::anneal));
  EXPECT_TRUE(replayable(top_k, Phase::harden));
  EXPECT_FALSE(replayable(instance, Phase::anneal));
  EXPECT_TRUE(replayable(instance, Phase::warmup));
  EXPECT_FALSE(replayable(mask, Phase::warmup));
  const auto fading = [&](GateOptions& options) { mask(options), options.test_rule = TestRule::median; };
  EXPECT_TRUE(replayable(mask, Phase::anneal));
  EXPECT_FALSE(replayable(fading, Phase::anneal)) << "its values follow tau";
}

}  // namespace
}  // namespace l0gm
