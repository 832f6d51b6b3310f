#include "training/learning_rate.h"

#include <gtest/gtest.h>

namespace l0gm {
namespace {

TrainOptions linear() {
  TrainOptions options;
  options.lr_warmup = 0.1;
  options.lr_decay = Decay::linear;
  options.lr_end = 0;
  return options;
}

TEST(LearningRate, RisesAndFallsOnce) {
  const LearningRate rate(linear(), 100, 40);
  EXPECT_NEAR(rate.factor(0), 1.0 / 11, 1e-12);
  EXPECT_NEAR(rate.factor(10), 1, 1e-12);
  EXPECT_NEAR(rate.factor(55), 0.5, 1e-12);
  EXPECT_NEAR(rate.factor(99), 1.0 / 90, 1e-12);
}

TEST(LearningRate, StartsAnewOnceGatesAreFixed) {
  TrainOptions options = linear();
  options.lr_restart = true;
  const LearningRate rate(options, 100, 40);
  const TrainOptions once = linear();
  const LearningRate before(once, 40, 40), after(once, 60, 60);
  for (int64_t step = 0; step < 100; ++step)
    EXPECT_DOUBLE_EQ(rate.factor(step), step < 40 ? before.factor(step) : after.factor(step - 40)) << step;
  const LearningRate dense(options, 100, 100), whole(once, 100, 100);
  for (int64_t step = 0; step < 100; ++step) EXPECT_DOUBLE_EQ(dense.factor(step), whole.factor(step)) << step;
}

}  // namespace
}  // namespace l0gm
