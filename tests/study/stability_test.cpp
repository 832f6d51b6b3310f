#include "study/stability.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace l0gm {
namespace {

TEST(Stability, TheSameEveryTime) {
  const Stability found = stability_of({{"a", "b"}, {"b", "a"}, {"a", "b"}}, 10);
  EXPECT_DOUBLE_EQ(found.agreement, 1);
  EXPECT_EQ(found.times.at("a"), 3);
  EXPECT_EQ(found.times.size(), 2U);
}

// By hand: a in 2 of 2, b and c in 1 of 2; 4 inputs, 2 chosen each time. Variances 0, .5, .5, 0: mean .25; by chance .25.
TEST(Stability, ByHand) {
  const Stability found = stability_of({{"a", "b"}, {"a", "c"}}, 4);
  EXPECT_NEAR(found.agreement, 0, 1e-12);
  EXPECT_EQ(found.times.at("b"), 1);
}

TEST(Stability, ChanceIsNone) {
  RandomStream random(5);
  double sum = 0;
  constexpr int samples = 400;
  for (int k = 0; k < samples; ++k) {
    std::vector<std::vector<std::string>> choices(6);
    for (auto& choice : choices) {
      const std::vector<int64_t> order = random.permutation(20);
      for (int i = 0; i < 5; ++i) choice.push_back(std::to_string(order[static_cast<size_t>(i)]));
    }
    sum += stability_of(choices, 20).agreement / samples;
  }
  EXPECT_NEAR(sum, 0, 0.02);
}

TEST(Stability, UndefinedWhereNothingCanDiffer) {
  EXPECT_TRUE(std::isnan(stability_of({{"a"}}, 3).agreement));
  EXPECT_TRUE(std::isnan(stability_of({{"a", "b"}, {"a", "b"}}, 2).agreement));
  EXPECT_TRUE(std::isnan(stability_of({}, 0).agreement));
}

}  // namespace
}  // namespace l0gm
