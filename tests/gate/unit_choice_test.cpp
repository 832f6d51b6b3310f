#include "gate/unit_choice.h"

#include "gate/toy_control.h"
#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using namespace testing_tools;

// Two layers of two heads each.
struct Layers {
  GateOptions options;
  GateSite layers, heads;
  explicit Layers(const GateOptions& given, const torch::Tensor& of_layers = reals({1, 1}),
                  const torch::Tensor& of_heads = reals({1, 1, 1, 1}))
      : options(given),
        layers(site_of(options, of_layers, reals({1, 1}), {}, "layers")),
        heads(site_of(options, of_heads, reals({2, 2, 2, 2}), {}, "heads")) {
    heads.outer = &layers;
    heads.outer_unit = at::tensor({0, 0, 1, 1}, torch::kInt64);
    layers.cost_besides = 2;
  }
  std::vector<const GateSite*> sites() const { return {&layers, &heads}; }
};

TEST(UnitChoice, PartsOfAClosedUnitAreClosedAndLeaveTheirBudget) {
  const Layers toy(by_target(0.5));
  // The best head is inside the layer that is closed: the other layer's heads come in its place.
  const auto masks = choose_units(toy.sites(), {reals({5, -1}), reals({1, 0, 9, 8})},
                                  {toy.layers.gate->cost(), toy.heads.gate->cost()}, {0.5, 10, {}});
  EXPECT_TRUE(at::equal(masks[0], flags({1, 0})));
  EXPECT_TRUE(at::equal(masks[1], flags({1, 1, 0, 0})));
}

TEST(UnitChoice, WhatFitsIsOpened) {
  const Layers toy(by_target(0.5));
  const auto masks = choose_units(toy.sites(), {reals({5, 4}), reals({1, 0, 9, 8})},
                                  {toy.layers.gate->cost(), toy.heads.gate->cost()}, {0.6, 10, {}});
  EXPECT_TRUE(at::equal(masks[0], flags({1, 1})));
  EXPECT_TRUE(at::equal(masks[1], flags({0, 0, 1, 1})));
}

TEST(UnitChoice, AlwaysOneUnitOfEachSite) {
  const Layers toy(by_target(0.5));
  EXPECT_DOUBLE_EQ(least_cost_share(toy.sites()), 0.3);
  const auto masks = choose_units(toy.sites(), {reals({5, -1}), reals({1, 0, 9, 8})},
                                  {toy.layers.gate->cost(), toy.heads.gate->cost()}, {0.01, 10, {}});
  EXPECT_TRUE(at::equal(masks[0], flags({1, 0})));
  EXPECT_TRUE(at::equal(masks[1], flags({1, 0, 0, 0})));
}

// The best unit of a kind may be dearer than the cheapest: where that is all the budget pays for, it is not opened.
TEST(UnitChoice, ABudgetThatIsNoLessThanTheLeastIsKept) {
  const GateOptions options = by_target(0.5);
  GateSite layers = site_of(options, reals({9, 1}), reals({4, 1}), {}, "layers"),
           heads = site_of(options, reals({8, 7, 3, 2}), reals({3, 3, 2, 1}), {}, "heads");
  heads.outer = &layers;
  heads.outer_unit = at::tensor({0, 0, 1, 1}, torch::kInt64);
  const std::vector<const GateSite*> sites = {&layers, &heads};
  EXPECT_DOUBLE_EQ(least_cost_share(sites), 2.0 / 14);  // the second layer and its last head
  double before = 0;
  for (const double budget : {2.0, 3.0, 4.0, 5.0, 7.0, 9.0, 10.0, 14.0}) {
    const auto open = choose_units(sites, {layers.gate->logits(), heads.gate->logits()},
                                   {layers.gate->cost(), heads.gate->cost()}, {budget / 14, 14, {}});
    const torch::Tensor paid = (open[0] * layers.gate->cost()).sum() + (open[1] * heads.gate->cost()).sum();
    const auto cost = paid.item<double>();
    EXPECT_LE(cost, budget) << open[0] << open[1];
    EXPECT_TRUE(open[0].any().item<bool>() && open[1].any().item<bool>()) << budget;
    EXPECT_GE(cost, before) << budget;
    before = cost;
    EXPECT_EQ(open[0][0].item<bool>(), budget >= 7) << "the best layer, with one of its heads";
    if (budget < 7) {
      EXPECT_EQ(open[1][2].item<bool>(), budget >= 3) << "the better head of the layer that is left";
    }
  }
  EXPECT_EQ(before, 14);
}

TEST(UnitChoice, PartsOfSeveralKindsAreThoseOfOneWhole) {
  const Layers toy(by_target(0.5), reals({2, 1}), reals({1, 2, 3, 4}));
  GateSite neurons = site_of(toy.options, reals({5, 1, 1}), reals({4, 0.5, 3}), {}, "ffn");
  neurons.outer = &toy.layers;
  neurons.outer_unit = at::tensor({0, 0, 1}, torch::kInt64);
  const std::vector<const GateSite*> sites = {&toy.layers, &toy.heads, &neurons};
  EXPECT_DOUBLE_EQ(least_cost_share(sites), 3.5 / 17.5) << "all of the first layer";
  const auto open = choose_units(sites, {reals({1, 2}), reals({1, 2, 3, 4}), reals({5, 1, 1})},
                                 {toy.layers.gate->cost(), toy.heads.gate->cost(), neurons.gate->cost()}, {0.2, 17.5, {}});
  EXPECT_TRUE(at::equal(open[0], flags({1, 0}))) << "the other one ranks higher, and its neuron is too dear";
  EXPECT_TRUE(at::equal(open[1], flags({0, 1, 0, 0})));
  EXPECT_TRUE(at::equal(open[2], flags({0, 1, 0})));
}

// What two units need together is paid with the first of them: the second one is then cheap.
TEST(UnitChoice, WhatIsSharedIsPaidOnce) {
  auto shared = std::make_shared<SharedCosts>();
  shared->own = {1, 1, 1, 4};
  shared->parts = {6, 3};
  shared->parts_of = {{0}, {0}, {0, 1}, {}};
  EXPECT_EQ(shared->spread(), (std::vector<double>{3, 3, 6, 4}));
  EXPECT_DOUBLE_EQ(shared->of({1, 1, 0, 0}), 8);
  EXPECT_DOUBLE_EQ(shared->of({1, 1, 1, 1}), 16);
  GateSite site = site_of(by_target(0.5), reals({1, 1, 1, 1}), reals(shared->spread()), {}, "units");
  site.shared = shared;
  EXPECT_DOUBLE_EQ(least_cost_share({&site}), 4.0 / 16);
  const auto chosen = [&](const torch::Tensor& ranking, double share) {
    return choose_units({&site}, {ranking}, {site.gate->cost()}, {share, 16, {}})[0];
  };
  EXPECT_TRUE(at::equal(chosen(reals({4, 3, 2, 1}), 0.5), flags({1, 1, 0, 0})));
  EXPECT_TRUE(at::equal(chosen(reals({2, 1, 3, 4}), 0.5), flags({0, 0, 0, 1})))
      << "the next would need 10 more, and the one after it 7";
  EXPECT_TRUE(at::equal(chosen(reals({4, 3, 2, 1}), 1), flags({1, 1, 1, 1})));
}

TEST(TargetSpeedup, IsAShareOfWhatGatesCanSave) {
  GateOptions options;
  options.target_speedup = 1.5;
  resolve_control(options, false);
  EXPECT_EQ(options.control, ControlKind::target);
  const Layers toy(options, reals({3, 1}), reals({3, 2, 1, 0.5}));
  GateControl control(options, toy.sites());  // 12 in all, 2 of them besides: 8 may stay, 6 of the gated 10
  control.harden(hardened);
  EXPECT_TRUE(at::equal(open_units(toy.layers), flags({1, 1})));
  EXPECT_TRUE(at::equal(open_units(toy.heads), flags({1, 1, 0, 0})));
}

TEST(TargetSpeedup, WhatCannotBeMetIsRefusedWithTheFigureThatCan) {
  GateOptions options;
  options.target_speedup = 2.5;
  resolve_control(options, false);
  const Layers toy(options);
  const std::string refusal = message_of<UserError>([&] { GateControl(options, toy.sites()); });
  EXPECT_NE(refusal.find("2.40 times"), std::string::npos) << refusal << " (12 / (2 + 3))";
  options.target_speedup = 2.39;
  EXPECT_NO_THROW(GateControl(options, toy.sites()));
  const GateOptions small = by_target(0.2);
  const std::string too_small = message_of<UserError>([&] { GateControl(small, toy.sites()); });
  EXPECT_NE(too_small.find("0.3000"), std::string::npos) << too_small;
}

// What a message advises, from where the figure stands.
double advised(const std::string& message, const std::string& before) {
  const size_t at = message.find(before);
  return at == std::string::npos ? 0 : std::stod(message.substr(at + before.size()));
}

TEST(TargetSpeedup, TheFigureThatIsAdvisedIsAccepted) {
  // 1.34483, 1.48611 (which is not 1.49), 1.64384, 1.0013991 (which is not 1.00), 2.4.
  for (const double besides : {17.3, 11.4, 7.872, 5000.0, 2.0}) {
    GateOptions options;
    options.target_speedup = 100;
    resolve_control(options, false);
    Layers toy(options);
    toy.layers.cost_besides = besides;
    const std::string refusal = message_of<UserError>([&] { GateControl(options, toy.sites()); });
    const double figure = advised(refusal, "the model is "), most = (besides + 10) / (besides + 3);
    EXPECT_GT(figure, 1) << refusal;
    EXPECT_LE(figure, most + 1e-9) << refusal;
    EXPECT_GT(figure, most - 0.01) << refusal;
    options.target_speedup = figure;
    EXPECT_NO_THROW(GateControl(options, toy.sites()).harden(hardened)) << refusal;
    options.target_speedup = most + 1e-4;
    EXPECT_THROW(GateControl(options, toy.sites()), UserError) << most;
  }
}

TEST(TargetSpeedup, TheShareThatIsAdvisedIsAcceptedHoweverSmall) {
  for (const double dear : {2.0, 5.9, 3e5, 7.77e8}) {
    GateOptions options = by_target(1e-12);
    GateSite site = site_of(options, reals({1, 2}), reals({1, dear}));
    site.cost_besides = 1;
    const std::string refusal = message_of<UserError>([&] { GateControl(options, {&site}); });
    const double figure = advised(refusal, "one unit of each kind is "), least = 1 / (1 + dear);
    EXPECT_GE(figure, least * (1 - 1e-9)) << refusal;
    EXPECT_LE(figure, least * 1.01) << refusal;
    options.target_active = figure;
    EXPECT_NO_THROW(GateControl(options, {&site})) << refusal;
    options.target_active = least * 0.999;
    EXPECT_THROW(GateControl(options, {&site}), UserError) << least;
  }
}

TEST(TargetSpeedup, AModelWithNothingToCloseIsToldSo) {
  GateOptions options;
  options.target_speedup = 1.5;
  resolve_control(options, false);
  GateSite site = site_of(options, reals({1}));
  site.cost_besides = 3;
  const std::string refusal = message_of<UserError>([&] { GateControl(options, {&site}); });
  EXPECT_NE(refusal.find("nothing to close"), std::string::npos) << refusal;
  EXPECT_EQ(refusal.find("at most"), std::string::npos) << refusal;
}

TEST(TargetSpeedup, NeedsCostsOfTheWholeModel) {
  GateOptions options;
  options.target_speedup = 2;
  resolve_control(options, false);
  const GateSite plain = site_of(options, reals({1, 2}));
  EXPECT_NE(message_of<UserError>([&] { GateControl(options, {&plain}); }).find("gate.attach"), std::string::npos);
  options.target_active = 0.5;
  EXPECT_NE(message_of<UserError>([&] { resolve_control(options, false); }).find("exclude each other"), std::string::npos);
}

TEST(PartsOfUnits, ExpectedCostIsPaidWhileTheWholeIsOpen) {
  const GateOptions options = by_lambda(1);
  Layers toy(options, reals({100, -100}), reals({100, 100, 100, 100}));
  GatePass pass(annealing, 0, 0, ids(0, 1));
  toy.layers.gate->train();
  toy.heads.gate->train();
  pass.factors(toy.layers, nullptr);
  pass.factors(toy.heads, nullptr);
  EXPECT_NEAR(pass.expected_cost().item<double>(), 1 + 2 * 2, 1e-6);
}

TEST(StaticByPlace, KeepsFirstLastOrAlternateUnits) {
  const auto kept = [](StaticBy by, double share) {
    GateOptions options = by_target(share);
    options.logits = LogitKind::fixed;
    options.static_by = by;
    const GateSite site = site_of(options, reals({1, 1, 1, 1, 1, 1}));
    GateControl control(options, {&site});
    control.start_annealing(annealing);
    return open_units(site);
  };
  EXPECT_TRUE(at::equal(kept(StaticBy::first, 0.5), flags({1, 1, 1, 0, 0, 0})));
  EXPECT_TRUE(at::equal(kept(StaticBy::last, 0.34), flags({0, 0, 0, 0, 1, 1})));
  EXPECT_TRUE(at::equal(kept(StaticBy::alternate, 0.5), flags({1, 0, 1, 0, 1, 0})));
  EXPECT_TRUE(at::equal(kept(StaticBy::alternate, 0.34), flags({1, 0, 0, 1, 0, 0})));
}

TEST(StaticRounds, UnitsAreClosedRoundByRoundAndStayClosed) {
  GateOptions options = by_target(0.25);
  options.logits = LogitKind::fixed;
  options.static_rounds = 3;
  const GateSite site = site_of(options, reals({1, 1, 1, 1, 1, 1, 1, 1}));
  GateControl control(options, {&site}, {.annealing_steps = 6});
  std::vector<int64_t> open;
  const auto step = [&](const GateState& state, const torch::Tensor& weights) {
    GatePass pass(state, 0, std::ssize(open), ids(0, 1));
    pass.probing = control.wants_probe(state);
    HardConcrete(site.gate)->train();
    pass.apply(site, weights.detach().requires_grad_()).sum().backward();
    control.observe(pass);
    open.push_back(open_units(site).sum().item<int64_t>());
  };
  const torch::Tensor rising = at::arange(1, 9, torch::kFloat64).unsqueeze(0);
  step(warming, rising);
  control.start_annealing(annealing);
  EXPECT_TRUE(at::equal(open_units(site), flags({0, 0, 1, 1, 1, 1, 1, 1})));
  EXPECT_TRUE(control.wants_probe(annealing));
  open.clear();
  for (int i = 0; i < 6; ++i) step(annealing, rising.flip(1));  // now the first ones matter
  EXPECT_EQ(open, (std::vector<int64_t>{6, 4, 4, 2, 2, 2}));
  EXPECT_TRUE(at::equal(open_units(site), flags({0, 0, 1, 1, 0, 0, 0, 0})));
  EXPECT_FALSE(control.wants_probe(annealing));
}

TEST(StaticRounds, MagnitudesAreTakenAnewForEachRound) {
  GateOptions options = by_target(0.25);
  options.logits = LogitKind::fixed;
  options.static_by = StaticBy::magnitude;
  options.static_rounds = 3;
  const GateSite site = site_of(options, reals({1, 1, 1, 1, 1, 1, 1, 1}));
  GateControl control(options, {&site}, {.annealing_steps = 6});
  const auto step = [&](const GateState& state, const torch::Tensor& r) {
    GatePass pass(state, 0, 0, ids(0, 1));
    HardConcrete(site.gate)->train();
    pass.apply(site, r);
    EXPECT_FALSE(control.wants_probe(state)) << "sizes need no gradient";
    control.observe(pass);
    return open_units(site).sum().item<int64_t>();
  };
  const torch::Tensor rising = at::arange(1, 9, torch::kFloat64).unsqueeze(0);
  step(warming, rising);
  control.start_annealing(annealing);
  EXPECT_TRUE(at::equal(open_units(site), flags({0, 0, 1, 1, 1, 1, 1, 1})));
  std::vector<int64_t> open;
  for (int i = 0; i < 6; ++i) open.push_back(step(annealing, rising.flip(1)));  // now the first ones are large
  EXPECT_EQ(open, (std::vector<int64_t>{6, 4, 4, 2, 2, 2}));
  EXPECT_TRUE(at::equal(open_units(site), flags({0, 0, 1, 1, 0, 0, 0, 0})));
}

}  // namespace
}  // namespace l0gm
