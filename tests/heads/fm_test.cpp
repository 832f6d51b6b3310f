#include "heads/fm.h"

#include "heads/head_tools.h"

namespace l0gm {
namespace {

using namespace testing_tools;

double product(const torch::Tensor& interface, const HeadShape& shape, int64_t example, int64_t i, int64_t j, int64_t d) {
  return interface[example][i * shape.width + d].item<double>() * interface[example][j * shape.width + d].item<double>();
}

TEST(FmHead, EqualsTheDoubleLoop) {
  const HeadShape shape = shape_of(5, 3, 2);
  FmHead head(shape, false);
  EXPECT_EQ(parameter_total(head), 0);
  const torch::Tensor x = random_interface(shape, 4), logits = logits_of(head, x);
  for (int64_t e = 0; e < 4; ++e) {
    double wanted = 0;
    for (int64_t i = 0; i < 5; ++i) {
      for (int64_t j = i + 1; j < 5; ++j) {
        for (int64_t d = 0; d < 3; ++d) wanted += product(x, shape, e, i, j, d);
      }
    }
    EXPECT_NEAR(logits[e][0][0].item<double>(), wanted, 1e-12);
  }
}

TEST(FmHead, CoordinateWeightsPerMemberAndOutput) {
  const HeadShape shape = shape_of(4, 3, 0, 2, 3);
  FmHead head(shape, false);
  to_double(head);
  const torch::Tensor weights = head.named_parameters()["coordinate_weights"];
  ASSERT_EQ(weights.sizes(), (std::vector<int64_t>{3, 6}));
  const torch::Tensor x = random_interface(shape, 2), logits = logits_of(head, x);
  ASSERT_EQ(logits.sizes(), (std::vector<int64_t>{2, 2, 3}));
  for (int64_t e = 0; e < 2; ++e) {
    for (int64_t o = 0; o < 6; ++o) {
      double wanted = 0;
      for (int64_t i = 0; i < 4; ++i) {
        for (int64_t j = i + 1; j < 4; ++j) {
          for (int64_t d = 0; d < 3; ++d) wanted += product(x, shape, e, i, j, d) * weights[d][o].item<double>();
        }
      }
      EXPECT_NEAR(logits[e][o / 3][o % 3].item<double>(), wanted, 1e-12);
    }
  }
}

TEST(FmHead, WeightedEqualsTheDoubleLoop) {
  const HeadShape shape = shape_of(4, 2, 1, 2, 2);
  FmHead head(shape, true);
  to_double(head);
  const torch::Tensor weights = head.named_parameters()["pair_weights"];
  ASSERT_EQ(weights.sizes(), (std::vector<int64_t>{4, 6}));
  const torch::Tensor x = random_interface(shape, 3), logits = logits_of(head, x);
  for (int64_t e = 0; e < 3; ++e) {
    for (int64_t o = 0; o < 4; ++o) {
      double wanted = 0;
      int64_t pair = 0;
      for (int64_t i = 0; i < 4; ++i) {
        for (int64_t j = i + 1; j < 4; ++j, ++pair) {
          for (int64_t d = 0; d < 2; ++d) wanted += product(x, shape, e, i, j, d) * weights[o][pair].item<double>();
        }
      }
      EXPECT_NEAR(logits[e][o / 2][o % 2].item<double>(), wanted, 1e-12);
    }
  }
}

TEST(FmHead, WeightsOfOneArePlain) {
  const HeadShape shape = shape_of(6, 4);
  FmHead plain(shape, false), weighted(shape, true);
  to_double(weighted);
  {
    torch::NoGradGuard no_grad;
    weighted.named_parameters()["pair_weights"].fill_(1);
  }
  const torch::Tensor x = random_interface(shape, 5);
  EXPECT_LT(largest_difference(logits_of(plain, x), logits_of(weighted, x)), 1e-12);
}

TEST(FmHead, Gradients) {
  for (const bool weighted : {false, true}) {
    FmHead head(shape_of(3, 2, 1, 2, 1), weighted);
    to_double(head);
    expect_gradients(head, random_interface(shape_of(3, 2, 1), 4));
  }
}

TEST(FmHead, ParametersThatAreLeft) {
  const torch::Tensor kept = flags({1, 0, 0, 0, 1, 1, 0, 0, 1});  // fields of two; field 1 is gone; the last is a statistic
  EXPECT_EQ(FmHead(shape_of(4, 2, 1), false).parameters_with(kept), 0);
  EXPECT_EQ(FmHead(shape_of(4, 2, 1, 3), true).parameters_with(kept), 3 * 1) << "one pair: fields 0 and 2";
  EXPECT_EQ(FmHead(shape_of(4, 2, 1, 3), false).parameters_with(kept), 3 * 2);
  EXPECT_EQ(FmHead(shape_of(4, 2, 1, 3), true).parameters_with(at::ones({9}, torch::kBool)), 3 * 6);
}

}  // namespace
}  // namespace l0gm
