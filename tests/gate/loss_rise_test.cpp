#include "gate/loss_rise.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

// How certain it is what a change does to the loss, from examples that are fresh and from those that weights were trained on.
namespace l0gm {
namespace {

constexpr size_t fresh = 100, trained = 1000;

// Losses whose rises have these means and the deviation 1.
struct Examples {
  explicit Examples(uint64_t seed) : random(seed) {}
  MeasuredLosses losses(double of_fresh, double of_trained) {
    MeasuredLosses result;
    for (size_t i = 0; i < fresh; ++i) result.fresh.push_back(of_fresh + random.normal());
    for (size_t i = 0; i < trained; ++i) result.trained.push_back(of_trained + random.normal());
    return result;
  }
  RandomStream random;
};

MeasuredLosses zeros() { return {std::vector<double>(fresh, 0.0), std::vector<double>(trained, 0.0)}; }

TEST(LossRise, OfFreshExamplesAloneIsTheirMeanAndItsError) {
  const std::vector<LossRise> rises = rises_of({{{3, 5, 7}, {}}}, {{1, 1, 1}, {}});
  EXPECT_NEAR(rises[0].rise, 4, 1e-12);
  EXPECT_NEAR(rises[0].error, 2 / std::sqrt(3), 1e-12);
}

TEST(LossRise, TrainedExamplesThatAgreeMakeItMoreCertain) {
  double with = 0, without = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Examples examples(seed);
    std::vector<MeasuredLosses> changed;
    for (const double rise : {0.1, 0.2, 0.5, 1.0, 1.5}) changed.push_back(examples.losses(rise, rise));
    const double truth = 0.2;
    with += std::pow(rises_of(changed, zeros())[1].rise - truth, 2);
    for (MeasuredLosses& losses : changed) losses.trained.clear();
    without += std::pow(rises_of(changed, {zeros().fresh, {}})[1].rise - truth, 2);
  }
  EXPECT_LT(with, 0.5 * without);
}

// An identifier is learned by heart: training rows miss it, others do not.
TEST(LossRise, WhatIsLearnedByHeartDoesNotCount) {
  double sum = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Examples examples(seed);
    std::vector<MeasuredLosses> changed = {examples.losses(0, 3)};
    for (const double rise : {0.1, 0.2, 0.5, 1.0}) changed.push_back(examples.losses(rise, rise));
    sum += rises_of(changed, zeros())[0].rise;
  }
  EXPECT_NEAR(sum / 50, 0, 0.05);
}

TEST(LossRise, OverfittedRisesAreScaled) {
  double sum = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Examples examples(seed);
    std::vector<MeasuredLosses> changed;
    for (const double rise : {0.4, 0.6, 0.8, 1.0, 1.2}) changed.push_back(examples.losses(rise, 2 * rise));
    sum += rises_of(changed, zeros())[2].rise;
  }
  EXPECT_NEAR(sum / 50, 0.8, 0.1);
}

TEST(LossRise, LossesWithoutNoiseAreExact) {
  const std::vector<LossRise> rises =
      rises_of({{{2, 2}, {2, 2}}, {{3, 3}, {3, 3}}, {{4, 4}, {4, 4}}, {{5, 5}, {5, 5}}}, {{1, 1}, {1, 1}});
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(rises[i].rise, 1 + static_cast<double>(i), 1e-9);
}

}  // namespace
}  // namespace l0gm
