#include "l0gm/gate_control.h"

#include "gate/toy_control.h"

// Static masks: units ranked during warm-up, the mask chosen once.
namespace l0gm {
namespace {

using namespace testing_tools;

torch::Tensor static_mask(StaticBy by, uint64_t seed, double target, const torch::Tensor& scale, const torch::Tensor& weights,
                          const torch::Tensor& index = {}, const torch::Tensor& cost = {}) {
  GateOptions options = by_target(target);
  options.logits = LogitKind::fixed;
  options.static_by = by;
  GateSite site = site_of(options, at::full({cost.defined() ? cost.size(0) : scale.size(0)}, 2.2, torch::kFloat64), cost, index);
  GateControl control(options, {&site}, {.seed = seed});
  at::manual_seed(3);
  for (int64_t step = 0; step < 10; ++step) {
    GatePass pass(warming, 0, step, ids(0, 16));
    EXPECT_EQ(control.wants_probe(warming), by == StaticBy::gradient);
    pass.probing = control.wants_probe(warming);
    const torch::Tensor r = ((at::rand({16, scale.size(0)}, torch::kFloat64) + 1) * scale).requires_grad_(true);
    (pass.apply(site, r) * weights).sum().backward();
    control.observe(pass);
  }
  EXPECT_FALSE(control.wants_probe(annealing));
  control.start_annealing(annealing);
  const torch::Tensor open = open_units(site);
  const Hardening result = control.harden(hardened);
  EXPECT_EQ(result.projected_units, 0) << "picked once";
  EXPECT_TRUE(at::equal(open_units(site), open));
  return open;
}

TEST(StaticMask, MagnitudeAndGradientRankByTheirOwnMeasure) {
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

}  // namespace
}  // namespace l0gm
