#include "gate/toy_control.h"
#include "l0gm/gate_control.h"

// Static masks of fine units: each example has one unit per element; examples differ, and one unit occurs in no example.
namespace l0gm {
namespace {

using namespace testing_tools;

constexpr int64_t unit_count = 7, unused_unit = 6;

torch::Tensor first_index() {  // [4 examples, 3 elements]
  return at::tensor(std::vector<int64_t>{0, 2, 4, 1, 2, 5, 0, 3, 4, 0, 2, 5}, torch::kInt64).view({4, 3});
}

torch::Tensor second_index() {  // another batch, other values
  return at::tensor(std::vector<int64_t>{1, 3, 4, 1, 3, 4, 0, 3, 5, 1, 2, 4}, torch::kInt64).view({4, 3});
}

torch::Tensor some_elements() { return reals({0.5, -3, 0.25, 2, 1.5, -0.125, -4, 1, 0.75, 0.625, 2.5, -1.75}).view({4, 3}); }

torch::Tensor some_weights() { return reals({1, -2, 3, 0.5, 4, -1, 0.25, 2, -3, 1.5, -0.75, 0.125}).view({4, 3}); }

// A value per unit, spread over the elements that have the unit.
torch::Tensor spread(const torch::Tensor& of_unit, const torch::Tensor& index) {
  return of_unit.index_select(0, index.flatten()).view(index.sizes());
}

// Per unit the sum over its elements.
torch::Tensor summed(const torch::Tensor& elements, const torch::Tensor& index) {
  std::vector<double> sums(unit_count, 0);
  for (int64_t e = 0; e < index.size(0); ++e) {
    for (int64_t d = 0; d < index.size(1); ++d)
      sums[static_cast<size_t>(index[e][d].item<int64_t>())] += elements[e][d].item<double>();
  }
  return reals(sums);
}

GateOptions static_options(StaticBy by, int64_t kept) {
  GateOptions options;
  options.unit = UnitKind::fine;
  options.logits = LogitKind::fixed;
  options.static_by = by;
  options.k = kept;
  resolve_control(options, false);
  return options;
}

// A site of fine units on its way through warm-up.
class Ranking {
 public:
  Ranking(StaticBy by, int64_t kept)
      : options_(static_options(by, kept)),
        site_{"interface", gate_with(options_, at::full({unit_count}, 2.2, torch::kFloat64)), {}, {}},
        control_(options_, {&site_}) {}
  Ranking(const Ranking&) = delete;
  Ranking& operator=(const Ranking&) = delete;

  // The loss is the sum of the elements, each times its weight.
  void step(const torch::Tensor& r, const torch::Tensor& weights, const torch::Tensor& index) {
    GatePass pass(warming, 0, steps_++, ids(0, r.size(0)));
    pass.probing = control_.wants_probe(warming);
    const torch::Tensor value = pass.apply(site_, r, index);
    EXPECT_TRUE(at::equal(value.detach(), r)) << "during warm-up everything passes";
    if (pass.probing) (value * weights).sum().backward();
    control_.observe(pass);
  }
  torch::Tensor scores() const { return control_.memory().at("interface/scores"); }
  torch::Tensor mask() {
    control_.start_annealing(annealing);
    return site_.gate->test_values(hardened).gt(0);
  }
  const GateSite& site() const { return site_; }
  Hardening harden() { return control_.harden(hardened); }

 private:
  GateOptions options_;
  GateSite site_;
  GateControl control_;
  int64_t steps_ = 0;
};

TEST(StaticFine, MagnitudeIsTheShareOfTheMeanThatAUnitsElementsMakeUp) {
  Ranking ranking(StaticBy::magnitude, 2);
  const torch::Tensor r = some_elements();
  ranking.step(r, some_weights(), first_index());
  const torch::Tensor first = summed(r.abs() / 4, first_index());
  EXPECT_LT(largest_difference(ranking.scores(), first), 1e-12) << ranking.scores();
  ranking.step(r * 2, some_weights(), second_index());
  EXPECT_LT(largest_difference(ranking.scores(), first + summed(r.abs() / 2, second_index())), 1e-12) << ranking.scores();
  EXPECT_EQ(ranking.scores()[unused_unit].item<double>(), 0);
}

TEST(StaticFine, GradientIsWhatClosingAUnitForAllItsExamplesWouldDo) {
  Ranking ranking(StaticBy::gradient, 2);
  const torch::Tensor r = some_elements(), weights = some_weights();
  ranking.step(r, weights, first_index());
  const torch::Tensor first = summed(r * weights, first_index()).abs();
  EXPECT_LT(largest_difference(ranking.scores(), first), 1e-12) << ranking.scores();
  ranking.step(r, weights * -3, second_index());  // signs are dropped step by step: a batch does not undo another
  EXPECT_LT(largest_difference(ranking.scores(), first + summed(r * weights, second_index()).abs() * 3), 1e-12)
      << ranking.scores();
  EXPECT_EQ(ranking.scores()[unused_unit].item<double>(), 0);
}

TEST(StaticFine, WhatCancelsWithinAUnitCountsForMagnitudeAlone) {
  const torch::Tensor index = at::tensor(std::vector<int64_t>{0, 1, 0, 1}, torch::kInt64).view({4, 1});
  const torch::Tensor r = reals({5, 1, -5, 1}).view({4, 1}), weights = at::ones({4, 1}, torch::kFloat64);
  Ranking by_gradient(StaticBy::gradient, 1), by_magnitude(StaticBy::magnitude, 1);
  by_gradient.step(r, weights, index);
  by_magnitude.step(r, weights, index);
  EXPECT_NEAR(by_gradient.scores()[0].item<double>(), 0, 1e-12);
  EXPECT_NEAR(by_magnitude.scores()[0].item<double>(), 2.5, 1e-12);
  EXPECT_TRUE(at::equal(by_gradient.mask(), flags({0, 1, 0, 0, 0, 0, 0})));
  EXPECT_TRUE(at::equal(by_magnitude.mask(), flags({1, 0, 0, 0, 0, 0, 0})));
}

TEST(StaticFine, KeepsTheUnitsWhoseElementsAreLarger) {
  Ranking ranking(StaticBy::magnitude, 2);
  const torch::Tensor scale = reals({1, 8, 0.5, 1, 6, 1, 100});
  for (const torch::Tensor& index : {first_index(), second_index()}) {
    ranking.step(spread(scale, index) * some_elements().sign(), some_weights(), index);
  }
  EXPECT_TRUE(at::equal(ranking.mask(), flags({0, 1, 0, 0, 1, 0, 0}))) << ranking.scores();
}

TEST(StaticFine, KeepsTheUnitsWhoseElementsHaveLargerGradients) {
  Ranking ranking(StaticBy::gradient, 2);
  const torch::Tensor weight = reals({0.1, 0.1, -4, 0.2, 0.1, 9, 100});
  const torch::Tensor size = reals({9, 9, 1, 9, 9, 1, 1});  // large elements that the loss hardly reads
  for (const torch::Tensor& index : {first_index(), second_index()})
    ranking.step(spread(size, index), spread(weight, index), index);
  EXPECT_TRUE(at::equal(ranking.mask(), flags({0, 0, 1, 0, 0, 1, 0}))) << ranking.scores();
}

TEST(StaticFine, AUnitThatManyExamplesHaveBeatsALargerOneThatFewHave) {
  const torch::Tensor index = at::tensor(std::vector<int64_t>{0, 0, 0, 1}, torch::kInt64).view({4, 1});
  const torch::Tensor ones = at::ones({4, 1}, torch::kFloat64);
  for (const StaticBy by : {StaticBy::magnitude, StaticBy::gradient}) {
    Ranking ranking(by, 1);
    ranking.step(reals({1, 1, 1, 2}).view({4, 1}), ones, index);
    EXPECT_TRUE(at::equal(ranking.mask(), flags({1, 0, 0, 0, 0, 0, 0}))) << name_of_enum(by) << ranking.scores();
  }
}

TEST(StaticFine, AUnitWithoutExamplesIsTheFirstToClose) {
  for (const StaticBy by : {StaticBy::magnitude, StaticBy::gradient}) {
    Ranking ranking(by, unit_count - 1);
    ranking.step(some_elements() * 1e-6, some_weights(), first_index());
    const torch::Tensor open = ranking.mask();
    EXPECT_EQ(open.sum().item<int64_t>(), unit_count - 1) << name_of_enum(by);
    EXPECT_FALSE(open[unused_unit].item<bool>()) << name_of_enum(by) << ranking.scores();
  }
}

TEST(StaticFine, TheMaskClosesElementsByTheUnitTheyHave) {
  Ranking ranking(StaticBy::magnitude, 3);
  const torch::Tensor r = some_elements(), scale = reals({7, 1, 1, 8, 1, 9, 1});
  ranking.step(spread(scale, first_index()), some_weights(), first_index());
  const torch::Tensor open = ranking.mask();
  EXPECT_TRUE(at::equal(open, flags({1, 0, 0, 1, 0, 1, 0}))) << ranking.scores();
  const torch::Tensor index = second_index();  // a batch that ranking never saw
  const torch::Tensor wanted = r * spread(open, index);
  GatePass annealed(annealing, 0, 9, ids(0, 4)), fixed(hardened, 0, 10, ids(0, 4));
  EXPECT_TRUE(at::equal(annealed.apply(ranking.site(), r, index), wanted));
  EXPECT_EQ(ranking.harden().projected_units, 0) << "picked once";
  EXPECT_TRUE(at::equal(fixed.apply(ranking.site(), r, index), wanted));
}

}  // namespace
}  // namespace l0gm
