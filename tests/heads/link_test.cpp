#include "heads/link.h"

#include <cmath>

#include "batches/graph/graph_batches.h"
#include "heads/head_tools.h"

namespace l0gm {
namespace {

using namespace testing_tools;

constexpr int64_t nodes = 7, width = 6, hidden = 5;

class LinkHeads : public testing::TestWithParam<LinkScorer> {
 protected:
  LinkHeads() : head_(width, GetParam(), hidden) {
    at::manual_seed(1);
    to_double(head_);
    torch::NoGradGuard no_grad;
    for (torch::Tensor& parameter : head_.parameters()) parameter.normal_();
  }
  static torch::Tensor logits(LinkHead& head, const torch::Tensor& interface, const torch::Tensor& pairs) {
    GraphBatch batch;
    batch.pairs = pairs;
    GatePass pass = GatePass::evaluation({}, ids(0, interface.size(0)));
    return head.forward(interface, batch, pass);
  }
  torch::Tensor parameter(const std::string& name) { return head_.named_parameters()[name]; }

  LinkHead head_;
  torch::Tensor x_ = at::randn({nodes, width}, torch::kFloat64);
  torch::Tensor pairs_ = at::tensor({0, 1, 5, 2, 3, 3, 6, 0}, torch::kInt64).view({4, 2});
};

TEST_P(LinkHeads, EqualsItsFormula) {
  const torch::Tensor found = logits(head_, x_, pairs_);
  ASSERT_EQ(found.sizes(), (std::vector<int64_t>{4, 1, 1}));
  for (int64_t i = 0; i < 4; ++i) {
    const torch::Tensor product = x_[pairs_[i][0].item<int64_t>()] * x_[pairs_[i][1].item<int64_t>()];
    torch::Tensor wanted;
    if (GetParam() == LinkScorer::dot) {
      wanted = (product * parameter("weight")).sum();
    } else {
      const torch::Tensor hidden_row = at::relu(at::mv(parameter("weight0").t(), product) + parameter("bias0"));
      wanted = (hidden_row * parameter("weight1").squeeze(1)).sum();
    }
    EXPECT_NEAR(found[i][0][0].item<double>(), (wanted + parameter("bias")[0]).item<double>(), 1e-12);
  }
}

TEST_P(LinkHeads, DoesNotDependOnTheOrderOfThePair) {
  const torch::Tensor one_way = logits(head_, x_, pairs_);
  EXPECT_TRUE(at::equal(one_way, logits(head_, x_, pairs_.flip(1))));
  EXPECT_GT(largest_difference(one_way, logits(head_, x_, pairs_.roll(1, 0))), 1e-3) << "pairs differ";
}

TEST_P(LinkHeads, Gradients) {
  torch::Tensor x = x_.clone().requires_grad_(true);
  const torch::Tensor weights = at::randn({4, 1, 1}, torch::kFloat64);
  const auto loss = [&] { return (logits(head_, x, pairs_) * weights).sum(); };
  for (auto& item : head_.named_parameters()) expect_gradient(item.key(), item.value(), loss, 1e-5);
  expect_gradient("interface", x, loss, 1e-5);
}

TEST_P(LinkHeads, NarrowingDoesNotChangeTheScores) {
  const torch::Tensor values = reals({1, 0, 0.5, 0, 0, 2});
  const torch::Tensor before = logits(head_, x_ * values, pairs_);
  const torch::Tensor kept = at::tensor({0, 2, 5}, torch::kInt64);
  EXPECT_EQ(head_.parameters_with(values.gt(0)), GetParam() == LinkScorer::dot ? 3 + 1 : 3 * hidden + 2 * hidden + 1);
  head_.narrow(kept, values.index_select(0, kept));
  EXPECT_LT(largest_difference(before, logits(head_, x_.index_select(1, kept), pairs_)), 1e-12);
  EXPECT_EQ(parameter_total(head_), GetParam() == LinkScorer::dot ? 3 + 1 : 3 * hidden + 2 * hidden + 1);
}

TEST_P(LinkHeads, CountsItsParameters) {
  EXPECT_EQ(head_.parameters_with(at::ones({width}, torch::kBool)), parameter_total(head_));
}

INSTANTIATE_TEST_SUITE_P(Scorers, LinkHeads, testing::Values(LinkScorer::dot, LinkScorer::mlp),
                         [](const auto& scorer) { return std::string(name_of_enum(scorer.param)); });

}  // namespace
}  // namespace l0gm
