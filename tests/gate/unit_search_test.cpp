#include "gate/unit_search.h"

#include <numeric>

#include "gate/toy_control.h"
#include "l0gm/error.h"

// Units whose joint worth is known: the search must find the best set, not the best single units.
namespace l0gm {
namespace {

using namespace testing_tools;
using Mask = std::vector<bool>;

Mask open_in(const std::vector<const GateSite*>& sites) {
  Mask open;
  for (const GateSite* site : sites) {
    const torch::Tensor logits = site->gate->logits().detach();
    for (int64_t j = 0; j < logits.size(0); ++j) open.push_back(logits[j].item<double>() > 0);
  }
  return open;
}

// Losses of four examples: the mean is what the set is worth, the deviation is noise that all sets share.
UnitLosses losses_of(const std::vector<const GateSite*>& sites, const std::function<double(const Mask&)>& loss,
                     int* asked = nullptr) {
  return [=] {
    if (asked != nullptr) ++*asked;
    const double mean = loss(open_in(sites));
    return std::vector<double>{mean + 1, mean - 1, mean + 0.5, mean - 0.5};
  };
}

double sum_of_closed(const Mask& open, const std::vector<double>& importance) {
  double sum = 0;
  for (size_t u = 0; u < open.size(); ++u) sum += open[u] ? 0 : importance[u];
  return sum;
}

// All looks of a search over `steps` of annealing.
Mask search(UnitSearch& units, const std::vector<const GateSite*>& sites, const std::function<double(const Mask&)>& loss,
            int64_t steps = 320) {
  units.start();
  for (int64_t step = 0; step < steps; ++step) {
    if (units.is_due(step, steps)) units.look(static_cast<double>(step) / static_cast<double>(steps), losses_of(sites, loss));
  }
  return open_in(sites);
}

GateSite columns(int64_t count, torch::Tensor cost = {}, const std::string& name = "interface") {
  return site_of(by_count(1), at::full({count}, 2.2, torch::kFloat64), std::move(cost), {}, name);
}

TEST(UnitSearch, ClosesTheLeastWorthyUnits) {
  const GateSite site = columns(6);
  UnitSearch units({&site}, 0.5, true);
  const Mask open = search(units, {&site}, [](const Mask& m) { return sum_of_closed(m, {5, 1, 4, 2, 6, 3}); });
  EXPECT_EQ(open, (Mask{true, false, true, false, true, false}));
}

// Two units that say the same: each alone is worth nothing while the other is open, and one of them must stay.
TEST(UnitSearch, OneOfTwoEqualUnitsStays) {
  const GateSite site = columns(5);
  UnitSearch units({&site}, 0.4, true);
  const Mask open =
      search(units, {&site}, [](const Mask& m) { return (m[0] || m[1] ? 0.0 : 10.0) + sum_of_closed(m, {0, 0, 3, 2, 1}); });
  EXPECT_TRUE(open[0] != open[1]);
  EXPECT_TRUE(open[2]);
}

// Two units that tell something together only: what looks at single units would never open them.
TEST(UnitSearch, KeepsAPairThatTellsSomethingTogetherOnly) {
  const GateSite site = columns(5);
  UnitSearch units({&site}, 0.4, true);
  const Mask open =
      search(units, {&site}, [](const Mask& m) { return (m[1] && m[3] ? 0.0 : 5.0) + sum_of_closed(m, {2, 0, 1, 0, 1.5}); });
  EXPECT_EQ(open, (Mask{false, true, false, true, false}));
}

// What was worth little at first comes back when it turns out to be worth more than what is open.
TEST(UnitSearch, AClosedUnitComesBack) {
  const GateSite site = columns(4);
  UnitSearch units({&site}, 0.5, true);
  units.start();
  int asked = 0;
  std::vector<double> importance = {4, 3, 1, 2};
  const auto losses = losses_of({&site}, [&](const Mask& m) { return sum_of_closed(m, importance); }, &asked);
  units.look(0.84, losses);
  EXPECT_EQ(open_in({&site}), (Mask{true, true, false, false}));
  importance = {4, 1, 5, 2};
  units.look(0.9, losses);
  EXPECT_EQ(open_in({&site}), (Mask{true, false, true, false}));
  EXPECT_EQ(units.exchanges()[0].closed, 3) << "what could stand in for the first unit";
  EXPECT_NEAR(units.exchanges()[0].rise, 2, 1e-9);
  EXPECT_GT(asked, 10);
}

TEST(UnitSearch, EverySiteKeepsAUnit) {
  const GateSite a = columns(3, {}, "a"), b = columns(3, {}, "b");
  UnitSearch units({&a, &b}, 0.5, true);
  const Mask open = search(units, {&a, &b}, [](const Mask& m) { return sum_of_closed(m, {9, 8, 7, 1, 2, 3}); });
  EXPECT_EQ(open, (Mask{true, true, false, false, false, true}));
}

TEST(UnitSearch, CostsStayWithinTheTarget) {
  const GateSite site = columns(4, reals({1, 5, 2, 2}));
  UnitSearch units({&site}, 0.4, false);  // four of ten
  const Mask open = search(units, {&site}, [](const Mask& m) { return sum_of_closed(m, {1, 6, 4, 3.9}); });
  EXPECT_EQ(open, (Mask{false, false, true, true})) << "the second is worth most, and too dear";
}

// Training must meet what will be measured: single units closed, and single closed ones open.
TEST(UnitSearch, TrainingClosesAndOpensSingleUnits) {
  const GateSite site = columns(8);
  UnitSearch units({&site}, 0.5, true);
  search(units, {&site}, [](const Mask& m) { return sum_of_closed(m, {8, 7, 6, 5, 4, 3, 2, 1}); });
  const torch::Tensor open = site.gate->open_probability(UnitSearch::tau);
  for (int64_t j = 0; j < 8; ++j) {
    const double p = open[j].item<double>();
    EXPECT_TRUE(j < 4 ? p > 0.7 && p < 0.9 : p > 0.01 && p < 0.1) << j << ": " << p;
  }
  for (int64_t j = 1; j < 4; ++j) EXPECT_LT(site.gate->logits()[j].item<double>(), site.gate->logits()[j - 1].item<double>());
}

TEST(UnitSearch, LooksAreFewAndEstimated) {
  const GateSite site = columns(40);
  UnitSearch units({&site}, 0.1, true);
  units.start();
  int asked = 0, looks = 0;
  const auto losses = losses_of(
      {&site},
      [](const Mask& m) {
        std::vector<double> importance(m.size());
        std::iota(importance.begin(), importance.end(), 1.0);
        return sum_of_closed(m, importance);
      },
      &asked);
  for (int64_t step = 0; step < 1000; ++step) {
    if (!units.is_due(step, 1000)) continue;
    ++looks;
    units.look(static_cast<double>(step) / 1000, losses);
  }
  EXPECT_LE(looks, 32);
  EXPECT_GT(asked, units.measurements() / 3);
  EXPECT_LT(asked, units.measurements() * 3);
  const Mask open = open_in({&site});
  for (size_t u = 0; u < 40; ++u) EXPECT_EQ(open[u], u >= 36) << u;
}

TEST(UnitSearch, MemoryIsRestored) {
  const GateSite site = columns(4);
  UnitSearch units({&site}, 0.5, true), other({&site}, 0.5, true);
  search(units, {&site}, [](const Mask& m) { return sum_of_closed(m, {4, 3, 1, 2}); });
  other.restore(units.memory());
  EXPECT_EQ(other.price(), units.price());
  EXPECT_NE(units.price(), 0);
  for (size_t u = 0; u < 4; ++u) {
    EXPECT_EQ(other.exchanges()[u].closed, units.exchanges()[u].closed);
    EXPECT_EQ(other.exchanges()[u].rise, units.exchanges()[u].rise);
  }
}

// The loss knows nothing of the better set, and would exchange its units again.
TEST(UnitSearch, ABetterSetIsAskedForOnceAndStays) {
  const GateSite site = columns(5);
  const auto loss = [](const Mask& m) { return sum_of_closed(m, {5, 4, 3, 2, 1}); };
  UnitSearch units({&site}, 0.4, true);
  int asked = 0;
  const BetterUnits better = [&](const std::vector<uint8_t>& open) {
    ++asked;
    EXPECT_EQ(open, (std::vector<uint8_t>{1, 1, 0, 0, 0}));
    return std::optional(std::vector<uint8_t>{0, 0, 0, 1, 1});
  };
  units.start();
  std::optional<UnitSearch> resumed;
  for (int64_t step = 0; step < 320; ++step) {
    if (!units.is_due(step, 320)) continue;
    units.look(static_cast<double>(step) / 320, losses_of({&site}, loss), better);
    if (asked == 0 || resumed) continue;
    resumed.emplace(std::vector<const GateSite*>{&site}, 0.4, true);
    resumed->restore(units.memory());
  }
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(open_in({&site}), (Mask{false, false, false, true, true}));
  ASSERT_TRUE(resumed);
  resumed->look(1, losses_of({&site}, loss), better);
  EXPECT_EQ(asked, 1);  // what was restored knows that it has asked, and what came of it
  EXPECT_EQ(open_in({&site}), (Mask{false, false, false, true, true}));
}

TEST(UnitSearch, NobodyIsAskedWhereUnitsDifferInCost) {
  const GateSite site = columns(4, at::tensor({1.0, 2.0, 1.0, 2.0}, torch::kFloat64));
  UnitSearch units({&site}, 0.5, false);
  units.start();
  units.look(1, losses_of({&site}, [](const Mask& m) { return sum_of_closed(m, {4, 3, 1, 2}); }),
             [](const std::vector<uint8_t>&) -> std::optional<std::vector<uint8_t>> { throw std::logic_error("asked"); });
}

// The control that a trainer sees.
TEST(UnitSearch, ControlMeasuresWhereUnitsAreGroupsAndTheTrainerCan) {
  GateOptions options = by_count(2);
  options.unit = UnitKind::group;
  const GateSite site = columns(4);
  EXPECT_GT(GateControl(options, {&site}, {.measures = true}).measurements(), 0);
  EXPECT_EQ(GateControl(options, {&site}).measurements(), 0);
  options.worth = UnitWorth::gradient;
  EXPECT_EQ(GateControl(options, {&site}, {.measures = true}).measurements(), 0);
  options = by_count(2);  // dimensions: only on request
  EXPECT_EQ(GateControl(options, {&site}, {.measures = true}).measurements(), 0);
  options.worth = UnitWorth::measured;
  EXPECT_GT(GateControl(options, {&site}, {.measures = true}).measurements(), 0);
  options = by_lambda(1);
  options.worth = UnitWorth::measured;
  EXPECT_THROW(GateControl(options, {&site}, {.measures = true}), UserError);
}

TEST(UnitSearch, ControlFixesWhatWasFound) {
  GateOptions options = by_count(2);
  options.unit = UnitKind::group;
  const GateSite site = columns(5);
  GateControl control(options, {&site}, {.annealing_steps = 64, .measures = true});
  EXPECT_FALSE(control.wants_look(warming));
  control.start_annealing(annealing);
  const std::vector<double> importance = {1, 5, 2, 4, 3};
  for (int step = 0; step < 64; ++step) {
    const GateState state = control.state(annealing);
    EXPECT_EQ(state.tau, UnitSearch::tau);
    EXPECT_EQ(state.keep, 1);
    if (control.wants_look(state)) control.look(losses_of({&site}, [&](const Mask& m) { return sum_of_closed(m, importance); }));
    GatePass pass(state, 7, step, ids(0, 8));
    pass.apply(site, at::ones({8, 5}, torch::kFloat64)).sum().backward();
    control.observe(pass);
    EXPECT_FALSE(site.gate->logits().grad().defined()) << "no optimiser may move the logits";
  }
  const Hardening hardening = control.harden(hardened);
  EXPECT_EQ(hardening.projected_units, 0);
  EXPECT_EQ(hardening.late_changes, 0);
  EXPECT_TRUE(at::equal(open_units(site), flags({0, 1, 0, 1, 0})));
  const torch::Tensor p = site.gate->open_probability(0.5);
  EXPECT_FALSE((p.gt(0.1) & p.lt(0.9)).any().item<bool>()) << "a trained gate is bimodal";
  ASSERT_EQ(std::ssize(control.exchanges()), 2);
  EXPECT_EQ(control.exchanges()[0].open, 1);
  EXPECT_EQ(control.exchanges()[0].closed, 4);
  EXPECT_NEAR(control.exchanges()[0].rise, 2, 1e-9);
}

}  // namespace
}  // namespace l0gm
