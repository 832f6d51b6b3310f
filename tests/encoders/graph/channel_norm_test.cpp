#include "encoders/graph/channel_norm.h"

#include <gtest/gtest.h>

#include "encoders/graph/toy_blocks.h"
#include "gate/counter_dropout.h"

namespace l0gm {
namespace {

using namespace testing_tools;

constexpr double epsilon = 1e-5;

// In double precision, with a scale that is not 1 and a shift that is not 0.
std::shared_ptr<ChannelNorm> norm_of(Norm kind, int64_t channels) {
  auto norm = std::make_shared<ChannelNorm>(kind, channels);
  norm->to(torch::kFloat64);
  torch::NoGradGuard no_grad;
  for (auto& item : norm->named_parameters()) {
    if (item.key() == "weight" || item.key() == "bias") item.value().add_(numbers({channels}, item.key().size()));
  }
  return norm;
}

torch::Tensor of(ChannelNorm& norm, const std::string& name) { return norm.named_parameters()[name].detach(); }

torch::Tensor scaled(ChannelNorm& norm, const torch::Tensor& x, const torch::Tensor& mean, const torch::Tensor& variance) {
  return (x - mean) / (variance + epsilon).sqrt() * of(norm, "weight") + of(norm, "bias");
}

TEST(ChannelNorm, NoneChangesNothing) {
  ChannelNorm norm(Norm::none, 3);
  const torch::Tensor x = numbers({4, 3});
  EXPECT_TRUE(at::equal(norm.forward(x), x));
  EXPECT_TRUE(norm.parameters().empty());
  EXPECT_TRUE(norm.per_channel());
  EXPECT_FALSE(norm.collects());
  EXPECT_EQ(norm.parameters_per_channel(), 0);
}

TEST(ChannelNorm, LayerNormalisesEachRow) {
  const auto norm = norm_of(Norm::layer, 5);
  const torch::Tensor x = numbers({4, 5}) * 3 + 1;
  const torch::Tensor expected = scaled(*norm, x, x.mean(1, true), x.var(1, false, true));
  for (const bool training : {true, false}) {
    norm->train(training);
    EXPECT_LT(max_abs_difference(norm->forward(x), expected), 1e-12);
  }
  EXPECT_FALSE(norm->per_channel());
  EXPECT_FALSE(norm->collects());
  EXPECT_EQ(norm->parameters_per_channel(), 2);
}

TEST(ChannelNorm, BatchUsesTheStepsOwnStatisticsInTraining) {
  const auto norm = norm_of(Norm::batch, 5);
  norm->train();
  const torch::Tensor x = numbers({9, 5}) * 3 + 1;
  EXPECT_LT(max_abs_difference(norm->forward(x), scaled(*norm, x, x.mean(0), x.var(0, false))), 1e-12);
  norm->collect(true);  // has an effect in evaluation only
  norm->forward(x);
  EXPECT_TRUE(at::equal(of(*norm, "mean"), at::zeros({5}, torch::kFloat64)));
  EXPECT_TRUE(at::equal(of(*norm, "variance"), at::ones({5}, torch::kFloat64)));
}

TEST(ChannelNorm, OneRowUsesTheStoredStatistics) {
  const auto norm = norm_of(Norm::batch, 5);
  norm->eval();
  norm->collect(true);
  norm->forward(numbers({9, 5}));
  norm->collect(false);
  const torch::Tensor x = numbers({1, 5}, 8);
  const torch::Tensor evaluated = norm->forward(x);
  norm->train();
  EXPECT_TRUE(at::equal(norm->forward(x), evaluated));
  EXPECT_TRUE(at::isfinite(evaluated).all().item<bool>());
}

TEST(ChannelNorm, StatisticsAreCollectedOnceAndUsedFromThenOn) {
  const auto norm = norm_of(Norm::batch, 5);
  EXPECT_TRUE(norm->collects());
  norm->eval();
  const torch::Tensor seen = numbers({9, 5}) * 2 - 1, other = numbers({7, 5}, 6);
  const torch::Tensor before = norm->forward(other);
  EXPECT_LT(max_abs_difference(before, scaled(*norm, other, at::zeros({5}, torch::kFloat64), at::ones({5}, torch::kFloat64))),
            1e-12);
  norm->collect(true);
  const torch::Tensor while_collecting = norm->forward(seen);
  EXPECT_LT(max_abs_difference(of(*norm, "mean"), seen.mean(0)), 1e-14);
  EXPECT_LT(max_abs_difference(of(*norm, "variance"), seen.var(0, false)), 1e-14);
  EXPECT_LT(max_abs_difference(while_collecting, scaled(*norm, seen, seen.mean(0), seen.var(0, false))), 1e-12);
  norm->collect(false);
  EXPECT_LT(max_abs_difference(norm->forward(other), scaled(*norm, other, seen.mean(0), seen.var(0, false))), 1e-12);
  EXPECT_LT(max_abs_difference(of(*norm, "mean"), seen.mean(0)), 1e-14) << "later input was not collected";
}

TEST(ChannelNorm, StatisticsAreSavedButNotTrained) {
  const auto norm = norm_of(Norm::batch, 2);
  const auto parameters = norm->named_parameters();
  ASSERT_EQ(parameters.size(), 4u);
  for (const char* name : {"mean", "variance"}) EXPECT_FALSE(parameters[name].requires_grad()) << name;
  for (const char* name : {"weight", "bias"}) EXPECT_TRUE(parameters[name].requires_grad()) << name;
  norm->train();
  norm->forward(numbers({6, 2})).square().sum().backward();
  EXPECT_TRUE(parameters["weight"].grad().defined());
  EXPECT_FALSE(parameters["mean"].grad().defined());
  EXPECT_EQ(norm->parameters_per_channel(), 2) << "statistics are not counted";
}

TEST(ChannelNorm, NarrowingDoesNotChangeTheRemainingChannels) {
  const torch::Tensor kept = at::tensor(std::vector<int64_t>{0, 3, 4}, torch::kInt64), x = numbers({9, 5});
  for (const Norm kind : {Norm::batch, Norm::none}) {
    const auto norm = norm_of(kind, 5);
    norm->eval();
    norm->collect(true);
    const torch::Tensor before = norm->forward(x * 2 + 1);
    norm->collect(false);
    norm->narrow(kept);
    EXPECT_LT(max_abs_difference(norm->forward((x * 2 + 1).index_select(1, kept)), before.index_select(1, kept)), 1e-14);
    for (const torch::Tensor& parameter : norm->parameters()) EXPECT_EQ(parameter.size(0), 3);
  }
}

TEST(ChannelNorm, DropoutComesAfterTheActivation) {
  for (const Norm kind : {Norm::none, Norm::layer, Norm::batch}) {
    const auto norm = norm_of(kind, 6);
    const torch::Tensor x = numbers({9, 6}), ids = at::arange(50, 59, torch::kInt64);
    const torch::Tensor whole = norm->forward_relu(x.clone()), y = norm->forward_relu(x.clone(), {0.5, 77, ids});
    EXPECT_TRUE(at::equal(y, counter_dropout(whole, 0.5, 77, ids)));
    EXPECT_GT(whole.gt(0).sum().item<int64_t>(), y.gt(0).sum().item<int64_t>());
    EXPECT_TRUE(at::equal(norm->forward_relu(x.clone(), RowDropout{}), whole));
  }
}

}  // namespace
}  // namespace l0gm
