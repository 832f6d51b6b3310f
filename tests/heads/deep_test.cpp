#include "heads/deep.h"

#include "gate/toy_gate.h"

namespace l0gm {
namespace {

using namespace testing_tools;

GatePass a_pass(int64_t examples, int64_t step = 0) { return {{Phase::anneal, 1, 1, 1}, 5, step, ids(0, examples)}; }

torch::Tensor run(DeepHead& head, const torch::Tensor& x, int64_t step = 0) {
  GatePass pass = a_pass(x.size(0), step);
  return head.forward(x, Batch{}, pass);
}

TEST(DeepHead, EqualsLayersWrittenOut) {
  for (const int64_t depth : {0, 1, 3}) {
    DeepHead head(4, depth, 6, 3, 1, 0);
    head.to(torch::kFloat64);
    const torch::Tensor x = at::randn({5, 4}, torch::kFloat64);
    const auto parameters = head.named_parameters();
    torch::Tensor wanted = x;
    for (int64_t layer = 0; layer <= depth; ++layer) {
      const std::string number = std::to_string(layer);
      wanted = at::matmul(wanted, parameters["weight" + number][0]);
      if (layer < depth) wanted = (wanted + parameters["bias" + number][0][0]).clamp_min(0);
    }
    const torch::Tensor found = run(head, x);
    ASSERT_EQ(found.sizes(), (std::vector<int64_t>{5, 1, 3}));
    EXPECT_LT(largest_difference(found.squeeze(1), wanted), 1e-12) << depth;
  }
}

TEST(DeepHead, MembersEqualSeparateHeads) {
  DeepHead together(4, 2, 6, 2, 3, 0);
  together.to(torch::kFloat64);
  const torch::Tensor x = at::randn({7, 4}, torch::kFloat64);
  const torch::Tensor all = run(together, x);
  ASSERT_EQ(all.sizes(), (std::vector<int64_t>{7, 3, 2}));
  for (int64_t member = 0; member < 3; ++member) {
    DeepHead alone(4, 2, 6, 2, 1, 0);
    alone.to(torch::kFloat64);
    torch::NoGradGuard no_grad;
    const auto from = together.named_parameters();
    for (auto& item : alone.named_parameters()) item.value().copy_(from[item.key()].narrow(0, member, 1));
    EXPECT_LT(largest_difference(run(alone, x).select(1, 0), all.select(1, member)), 1e-12);
  }
  EXPECT_FALSE(at::allclose(all.select(1, 0), all.select(1, 1))) << "members start apart";
}

TEST(DeepHead, Gradients) {
  DeepHead head(3, 1, 4, 2, 2, 0);
  head.to(torch::kFloat64);
  torch::Tensor x = at::randn({5, 3}, torch::kFloat64).requires_grad_(true);
  const torch::Tensor weights = at::randn({5, 2, 2}, torch::kFloat64);
  const auto loss = [&] { return (log_probabilities(run(head, x)) * weights).sum(); };
  for (auto& item : head.named_parameters()) expect_gradient(item.key(), item.value(), loss, 1e-5);
  expect_gradient("interface", x, loss, 1e-5);
}

TEST(DeepHead, DropoutWorksInTrainingOnlyAndByExample) {
  DeepHead head(4, 2, 32, 1, 2, 0.5);
  const torch::Tensor x = at::randn({6, 4});
  head.eval();
  const torch::Tensor evaluated = run(head, x);
  EXPECT_TRUE(at::equal(run(head, x, 1), evaluated));
  head.train();
  const torch::Tensor trained = run(head, x);
  EXPECT_FALSE(at::allclose(trained, evaluated));
  EXPECT_TRUE(at::equal(run(head, x), trained)) << "the same step draws the same masks";
  EXPECT_FALSE(at::allclose(run(head, x, 1), trained));
  GatePass half({Phase::anneal, 1, 1, 1}, 5, 0, ids(3, 6));
  EXPECT_TRUE(at::allclose(head.forward(x.narrow(0, 3, 3), Batch{}, half), trained.narrow(0, 3, 3), 1e-5, 1e-6))
      << "independent of the batch";
}

TEST(DeepHead, ParametersGoWithANarrowerInterface) {
  for (const int64_t depth : {0, 2}) {
    const auto count = [&](int64_t width) {
      int64_t total = 0;
      for (const torch::Tensor& parameter : DeepHead(width, depth, 8, 3, 2, 0).parameters()) total += parameter.numel();
      return total;
    };
    EXPECT_EQ(DeepHead(5, depth, 8, 3, 2, 0).parameters_with(flags({1, 0, 1, 1, 0})), count(3)) << depth;
  }
}

}  // namespace
}  // namespace l0gm
