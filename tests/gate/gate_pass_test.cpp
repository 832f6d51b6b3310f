#include "l0gm/gate_pass.h"

#include "gate/toy_gate.h"

namespace l0gm {
namespace {

using namespace testing_tools;

const GateState annealing{Phase::anneal, 1.0, 1, 1};

GateSite site_of(const std::string& name, const torch::Tensor& logits, torch::Tensor cost = {}, torch::Tensor index = {}) {
  return {name, gate_with({}, logits, std::move(cost)), std::move(index), [](int64_t unit) { return std::to_string(unit); }};
}

TEST(GatePass, RecordsTheResultOfEachSite) {
  const GateSite a = site_of("interface", reals({-1, 0, 1}), reals({1, 2, 3})), b = site_of("input", reals({0.5, 2}));
  GatePass pass(annealing, 4, 9, ids(0, 5));
  EXPECT_FALSE(pass.expected_cost().defined());
  EXPECT_FALSE(pass.cost_fraction().defined());
  const torch::Tensor r = at::randn({5, 3}, torch::kFloat64);
  const torch::Tensor value = pass.apply(a, r);
  pass.apply(b, at::randn({5, 2}, torch::kFloat64));
  ASSERT_NE(pass.record(a), nullptr);
  ASSERT_NE(pass.record(b), nullptr);
  EXPECT_EQ(pass.record(site_of("other", reals({1}))), nullptr);
  EXPECT_EQ(pass.interface_record(), nullptr) << "neither says that it is there";
  EXPECT_EQ(pass.record(a)->site, &a);
  EXPECT_EQ(pass.record(b)->site, &b);
  EXPECT_TRUE(at::equal(pass.record(a)->gated.value, value));
  EXPECT_TRUE(at::equal(pass.record(a)->representation, r));
  EXPECT_FALSE(pass.record(a)->probe.defined());
  HardConcrete first = a.gate, second = b.gate;
  const double wanted =
      at::dot(first->open_probability(1), first->cost()).item<double>() + second->open_probability(1).sum().item<double>();
  EXPECT_NEAR(pass.expected_cost().item<double>(), wanted, 1e-12);
  EXPECT_NEAR(pass.cost_fraction().item<double>(), wanted / 8, 1e-12);
}

TEST(GatePass, SitesStepsAndSeedsHaveDifferentNoise) {
  const torch::Tensor logits = at::zeros({30}, torch::kFloat64), r = at::ones({4, 30}, torch::kFloat64);
  const auto drawn = [&](const std::string& name, uint64_t seed, int64_t step) {
    const GateSite site = site_of(name, logits);
    return GatePass(annealing, seed, step, ids(0, 4)).apply(site, r).detach();
  };
  const torch::Tensor base = drawn("interface", 1, 2);
  EXPECT_TRUE(at::equal(drawn("interface", 1, 2), base)) << "only the numbers matter";
  EXPECT_FALSE(at::allclose(drawn("input", 1, 2), base));
  EXPECT_FALSE(at::allclose(drawn("interface", 2, 2), base));
  EXPECT_FALSE(at::allclose(drawn("interface", 1, 3), base));
}

TEST(GatePass, UsesTheSitesIndexUnlessGivenOne) {
  const torch::Tensor groups = at::tensor(std::vector<int64_t>{0, 1, 1}, torch::kInt64);
  const GateSite site = site_of("interface", reals({-5, 5}), {}, groups);
  GatePass pass = GatePass::evaluation({Phase::harden, 0.5, 1, 1}, ids(0, 2));
  const torch::Tensor r = at::ones({2, 3}, torch::kFloat64);
  EXPECT_TRUE(at::equal(pass.apply(site, r), reals({0, 1, 1}).expand({2, 3})));
  const torch::Tensor fine = at::tensor(std::vector<int64_t>{1, 0, 0, 1, 1, 0}, torch::kInt64).view({2, 3});
  EXPECT_TRUE(at::equal(pass.apply(site, r, fine), fine.to(torch::kFloat64)));
}

TEST(GatePass, ProbesMeasureTheContributionOfEachDimension) {
  const GateSite site = site_of("interface", reals({1, 1, 1}));
  GatePass pass({Phase::warmup, 2, 0, 1}, 0, 0, ids(0, 4));
  pass.probing = true;
  const torch::Tensor r = at::randn({4, 3}, torch::kFloat64), weights = at::randn({4, 3}, torch::kFloat64);
  const torch::Tensor value = pass.apply(site, r);
  EXPECT_TRUE(at::equal(value, r));
  (value.square() * weights).sum().backward();
  EXPECT_LT(largest_difference(pass.record(site)->probe.grad(), (2 * r.square() * weights).sum(0)), 1e-12);
}

TEST(GatePass, DropoutKeepsTheMeanAndDropsTheShare) {
  const GatePass pass(annealing, 3, 1, ids(0, 2000));
  const torch::Tensor x = at::ones({2000, 50}, torch::kFloat64);
  EXPECT_TRUE(pass.dropout(x, 0, 1).is_same(x));
  for (const double share : {0.1, 0.5, 0.9}) {
    const torch::Tensor out = pass.dropout(x, share, 1);
    EXPECT_TRUE((out.eq(0) | (out - 1 / (1 - share)).abs().lt(1e-12)).all().item<bool>());
    EXPECT_NEAR(out.eq(0).to(torch::kFloat64).mean().item<double>(), share, 4 * std::sqrt(share * (1 - share) / 1e5));
  }
}

TEST(GatePass, DropoutDependsOnExampleStepAndPlaceOnly) {
  const torch::Tensor x = at::ones({6, 2, 5}, torch::kFloat64),
                      order = at::tensor(std::vector<int64_t>{5, 0, 3, 1, 2, 4}, torch::kInt64);
  const auto dropped = [&](const torch::Tensor& rows, int64_t step, int64_t place) {
    return GatePass(annealing, 3, step, rows).dropout(x.narrow(0, 0, rows.size(0)), 0.5, place);
  };
  const torch::Tensor whole = dropped(ids(0, 6), 1, 1);
  EXPECT_EQ(whole.sizes(), x.sizes());
  EXPECT_TRUE(at::equal(dropped(order, 1, 1), whole.index_select(0, order)));
  EXPECT_TRUE(at::equal(at::cat({dropped(ids(0, 2), 1, 1), dropped(ids(2, 6), 1, 1)}), whole));
  EXPECT_FALSE(at::equal(dropped(ids(0, 6), 2, 1), whole));
  EXPECT_FALSE(at::equal(dropped(ids(0, 6), 1, 2), whole));
  // A layout that is not contiguous gets the same mask.
  const torch::Tensor transposed = at::ones({2, 6, 5}, torch::kFloat64).transpose(0, 1);
  EXPECT_TRUE(at::equal(GatePass(annealing, 3, 1, ids(0, 6)).dropout(transposed, 0.5, 1), whole));
}

TEST(GatePass, KeysOfDropoutTellSeedsStepsAndPlacesApart) {
  const uint64_t key = GatePass(annealing, 3, 1, ids(0, 6)).dropout_key(1).value;
  EXPECT_EQ(GatePass(annealing, 3, 1, ids(2, 4)).dropout_key(1).value, key);
  EXPECT_NE(GatePass(annealing, 4, 1, ids(0, 6)).dropout_key(1).value, key);
  EXPECT_NE(GatePass(annealing, 3, 2, ids(0, 6)).dropout_key(1).value, key);
  EXPECT_NE(GatePass(annealing, 3, 1, ids(0, 6)).dropout_key(2).value, key);
}

}  // namespace
}  // namespace l0gm
