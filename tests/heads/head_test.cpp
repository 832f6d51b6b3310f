#include "heads/head.h"

#include "gate/toy_gate.h"

namespace l0gm {
namespace {

using namespace testing_tools;

TEST(LogProbabilities, OneOutputIsTheLogitOfTheSecondClass) {
  const torch::Tensor logits = reals({-30, -2, 0, 0.5, 30}).view({5, 1, 1});
  const torch::Tensor log_p = log_probabilities(logits);
  ASSERT_EQ(log_p.sizes(), (std::vector<int64_t>{5, 1, 2}));
  for (int64_t i = 0; i < 5; ++i) {
    const double l = logits[i][0][0].item<double>();
    EXPECT_NEAR(log_p[i][0][1].item<double>(), -std::log1p(std::exp(-l)), 1e-12) << l;
    EXPECT_NEAR(log_p[i][0][0].item<double>(), -std::log1p(std::exp(l)), 1e-12) << l;
  }
}

TEST(LogProbabilities, ManyOutputsAreASoftmaxPerMember) {
  const torch::Tensor logits = at::randn({4, 2, 3}, torch::kFloat64) * 3;
  const torch::Tensor log_p = log_probabilities(logits);
  for (int64_t i = 0; i < 4; ++i) {
    for (int64_t m = 0; m < 2; ++m) {
      double total = 0;
      for (int64_t c = 0; c < 3; ++c) total += std::exp(logits[i][m][c].item<double>());
      for (int64_t c = 0; c < 3; ++c) {
        EXPECT_NEAR(log_p[i][m][c].item<double>(), logits[i][m][c].item<double>() - std::log(total), 1e-12);
      }
    }
  }
}

TEST(LogProbabilities, ExtremeLogitsStayFinite) {
  const torch::Tensor one = reals({-1000, 1000}).view({2, 1, 1}), many = reals({-1000, 1000, 0, 0}).view({2, 1, 2});
  EXPECT_TRUE(at::isfinite(log_probabilities(one)).all().item<bool>());
  EXPECT_TRUE(at::isfinite(log_probabilities(many)).all().item<bool>());
}

TEST(LogProbabilities, TwoClassesNeedOneOutput) {
  EXPECT_EQ(outputs_for(2), 1);
  EXPECT_EQ(outputs_for(3), 3);
  EXPECT_EQ(outputs_for(10), 10);
}

}  // namespace
}  // namespace l0gm
