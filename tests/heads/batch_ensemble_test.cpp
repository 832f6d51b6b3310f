#include "heads/batch_ensemble.h"

#include <torch/autograd.h>

#include "heads/deep.h"
#include "heads/head_tools.h"

namespace l0gm {
namespace {

using namespace testing_tools;

GatePass a_pass(int64_t examples, int64_t step = 0) { return {{Phase::anneal, 1, 1, 1}, 5, step, ids(0, examples)}; }

torch::Tensor run(Head& head, const torch::Tensor& x, int64_t step = 0) {
  GatePass pass = a_pass(x.size(0), step);
  return head.forward(x, Batch{}, pass);
}

// Vectors as training leaves them: none of them is 1.
void shake_parameters(Head& head) {
  torch::NoGradGuard no_grad;
  for (torch::Tensor& parameter : head.parameters()) parameter.add_(at::randn_like(parameter) * 0.3);
}

// What member m says, one layer and one multiplication after the other.
torch::Tensor written_out(const BatchEnsembleHead& head, const torch::Tensor& interface, int64_t m) {
  torch::Tensor x = interface;
  for (const BatchEnsembleHead::Layer& layer : head.layers()) {
    x = at::matmul(x * layer.in_factors[m], layer.weight) * layer.out_factors[m] + layer.bias[m];
    x = x.clamp_min(0);
  }
  return at::matmul(x, head.output()[m]);
}

TEST(BatchEnsembleHead, EqualsMembersWrittenOut) {
  for (const int64_t depth : {1, 2, 4}) {
    for (const int64_t examples : {3, 20}) {  // fewer and more than a layer has outputs
      BatchEnsembleHead head(4, depth, 7, 3, 5, 0);
      to_double(head);
      shake_parameters(head);
      const torch::Tensor x = at::randn({examples, 4}, torch::kFloat64), all = run(head, x);
      ASSERT_EQ(all.sizes(), (std::vector<int64_t>{examples, 5, 3}));
      for (int64_t m = 0; m < 5; ++m) EXPECT_LT(largest_difference(all.select(1, m), written_out(head, x, m)), 1e-12) << depth;
    }
  }
}

// With vectors of 1 a member is the plain net, dropout included.
TEST(BatchEnsembleHead, OneMemberWithUnitVectorsIsThePlainNet) {
  BatchEnsembleHead head(6, 2, 8, 2, 1, 0.3);
  DeepHead plain(6, 2, 8, 2, 1, 0.3);
  to_double(head);
  to_double(plain);
  {
    torch::NoGradGuard no_grad;
    head.named_parameters()["in0"].fill_(1);
    auto wanted = plain.named_parameters();
    for (const char* name : {"weight0", "weight1", "bias0", "bias1"}) {
      torch::Tensor& to = wanted[name];
      to.copy_(head.named_parameters()[name].view_as(to));
    }
    wanted["weight2"].copy_(head.output());
  }
  const torch::Tensor x = at::randn({30, 6}, torch::kFloat64);
  EXPECT_LT(largest_difference(run(head, x), run(plain, x)), 1e-12) << "training, with dropout";
  head.eval();
  plain.eval();
  EXPECT_LT(largest_difference(run(head, x), run(plain, x)), 1e-12);
}

TEST(BatchEnsembleHead, MembersStartApartByRandomSignsAlone) {
  const BatchEnsembleHead head(40, 2, 16, 1, 8, 0);
  const auto& layers = head.layers();
  EXPECT_TRUE(at::equal(layers[0].in_factors.abs(), at::ones({8, 40})));
  EXPECT_NEAR(layers[0].in_factors.mean().item<double>(), 0, 0.3);
  EXPECT_FALSE(at::equal(layers[0].in_factors[0], layers[0].in_factors[1]));
  EXPECT_TRUE(at::equal(layers[1].in_factors, at::ones({8, 16})));
  for (const auto& layer : layers) {
    EXPECT_TRUE(at::equal(layer.out_factors, at::ones({8, 16})));
    EXPECT_TRUE(at::equal(layer.bias[0], layer.bias[7]));
  }
  EXPECT_FALSE(at::equal(head.output()[0], head.output()[1]));
}

// Nothing depends on the order of members but the order of their logits.
TEST(BatchEnsembleHead, PermutedMembersSayTheSameOnAverage) {
  BatchEnsembleHead head(5, 2, 9, 2, 4, 0), other(5, 2, 9, 2, 4, 0);
  to_double(head);
  to_double(other);
  shake_parameters(head);
  const torch::Tensor order = at::tensor({2, 0, 3, 1}, torch::kInt64), x = at::randn({12, 5}, torch::kFloat64);
  {
    torch::NoGradGuard no_grad;
    auto from = head.named_parameters();
    for (auto& item : other.named_parameters()) {
      const bool of_members = !item.key().starts_with("weight");
      item.value().copy_(of_members ? from[item.key()].index_select(0, order) : from[item.key()]);
    }
  }
  const torch::Tensor logits = run(head, x), permuted = run(other, x);
  EXPECT_LT(largest_difference(permuted, logits.index_select(1, order)), 1e-12);
  EXPECT_LT(largest_difference(log_probabilities(permuted).exp().mean(1), log_probabilities(logits).exp().mean(1)), 1e-12);
}

TEST(BatchEnsembleHead, GradientsAreThoseOfMembersWrittenOut) {
  for (const int64_t examples : {4, 25}) {
    for (const int64_t outputs : {1, 3}) {
      BatchEnsembleHead head(6, 3, 10, outputs, 3, 0);
      to_double(head);
      shake_parameters(head);
      torch::Tensor x = at::randn({examples, 6}, torch::kFloat64).requires_grad_(true);
      const torch::Tensor weights = at::randn({examples, 3, outputs}, torch::kFloat64);
      std::vector<torch::Tensor> inputs = head.parameters();
      inputs.push_back(x);
      std::vector<torch::Tensor> loop;
      for (int64_t m = 0; m < 3; ++m) loop.push_back(written_out(head, x, m));
      const auto wanted = torch::autograd::grad({(at::stack(loop, 1) * weights).sum()}, inputs);
      const auto found = torch::autograd::grad({(run(head, x) * weights).sum()}, inputs);
      for (size_t i = 0; i < inputs.size(); ++i)
        EXPECT_LT(largest_difference(found[i], wanted[i]), 1e-10) << examples << " examples, tensor " << i;
    }
  }
}

TEST(BatchEnsembleHead, Gradients) {
  BatchEnsembleHead head(3, 2, 5, 2, 2, 0);
  to_double(head);
  shake_parameters(head);
  expect_gradients(head, at::randn({6, 3}, torch::kFloat64));
}

// Without gradients many rows are computed part by part.
TEST(BatchEnsembleHead, RowsWithoutGradientsAreThoseWith) {
  BatchEnsembleHead head(3, 2, 300, 1, 40, 0);
  head.eval();
  const torch::Tensor x = at::randn({200, 3}), with = run(head, x).detach();
  torch::NoGradGuard no_grad;
  EXPECT_LT(largest_difference(run(head, x), with), 1e-5);
}

// A row's numbers depend on its id alone: neither on the rows beside it nor on threads.
TEST(BatchEnsembleHead, DropoutFollowsTheExample) {
  BatchEnsembleHead head(4, 2, 32, 1, 6, 0.5);
  to_double(head);
  const torch::Tensor x = at::randn({64, 4}, torch::kFloat64), all = run(head, x);
  GatePass some({Phase::anneal, 1, 1, 1}, 5, 0, ids(40, 64));
  EXPECT_LT(largest_difference(head.forward(x.narrow(0, 40, 24), Batch{}, some), all.narrow(0, 40, 24)), 1e-12);
  EXPECT_GT(largest_difference(run(head, x, 1), all), 1e-3) << "another step draws anew";
  head.eval();
  EXPECT_GT(largest_difference(run(head, x), all), 1e-3);
}

TEST(BatchEnsembleHead, CountsWhatIsLeft) {
  const BatchEnsembleHead head(10, 2, 8, 3, 4, 0);
  EXPECT_EQ(head.parameters_with(at::ones({10}, torch::kBool)), parameter_total(head));
  torch::Tensor kept = at::zeros({10}, torch::kBool);
  kept[3] = kept[7] = true;
  EXPECT_EQ(head.parameters_with(kept), parameter_total(BatchEnsembleHead(2, 2, 8, 3, 4, 0)));
}

}  // namespace
}  // namespace l0gm
