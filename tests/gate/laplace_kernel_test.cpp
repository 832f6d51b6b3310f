#include "gate/laplace_kernel.h"

#include "gate/toy_gate.h"
#include "l0gm/coupling.h"

namespace l0gm {
namespace {

// All pairs at once, the meaning of it.
torch::Tensor all_pairs(const torch::Tensor& places, const torch::Tensor& weights, double width) {
  const torch::Tensor kernel = at::exp((places.unsqueeze(0) - places.unsqueeze(1)).abs() / -width);
  return (weights.unsqueeze(0) * weights.unsqueeze(1) * kernel).mean();
}

double apart(const torch::Tensor& a, const torch::Tensor& b) { return (a - b).abs().max().item<double>(); }

void expect_equal(const torch::Tensor& x, const torch::Tensor& g, double width) {
  torch::Tensor places = x.clone().requires_grad_(true), weights = g.clone().requires_grad_(true);
  const torch::Tensor wanted = all_pairs(places, weights, width);
  wanted.backward();
  const torch::Tensor to_places = places.grad().clone(), to_weights = weights.grad().clone();
  places.mutable_grad() = torch::Tensor();
  weights.mutable_grad() = torch::Tensor();
  const torch::Tensor found = laplace_energy(places, weights, width);
  found.backward();
  EXPECT_LT(apart(found, wanted), 1e-10) << width;
  EXPECT_LT(apart(places.grad(), to_places), 1e-10) << width;
  EXPECT_LT(apart(weights.grad(), to_weights), 1e-10) << width;
}

TEST(LaplaceKernel, EqualsTheSumOverAllPairsAlsoWithTies) {
  torch::manual_seed(1);
  for (const double width : {0.2, 1.0, 1e-2, 1e-4, 1e-8, 50.0}) {
    for (const int64_t count : {1, 2, 3, 50, 400}) {
      const torch::Tensor places = at::rand({count}, torch::kFloat64), weights = at::randn({count}, torch::kFloat64);
      expect_equal(places, weights, width);
      expect_equal((places * 10).round() / 10, weights, width);  // at most eleven different ones
      expect_equal(at::full_like(places, 0.5), weights, width);
      expect_equal(at::linspace(0, 1, count, torch::kFloat64), weights, width);
    }
  }
}

TEST(LaplaceKernel, IsFiniteForAnyWidthAndType) {
  for (const torch::ScalarType type : {torch::kFloat32, torch::kFloat64}) {
    for (const double width : {1e-300, 1e-30, 1e-3}) {
      torch::Tensor places = at::linspace(0, 1, 1001, type).requires_grad_(true);
      const torch::Tensor energy = laplace_energy(places, at::ones({1001}, type), width);
      energy.backward();
      EXPECT_EQ(energy.scalar_type(), type);
      EXPECT_NEAR(energy.item<double>() * 1001, 1, width == 1e-3 ? 1.2 : 1e-6);
      EXPECT_TRUE(at::isfinite(places.grad()).all().item<bool>()) << width;
    }
  }
  torch::Tensor unknown = at::full({3}, std::nan(""), torch::kFloat64);
  EXPECT_TRUE(std::isnan(laplace_energy(unknown, unknown, 0.2).item<double>()));
}

// All pairs would need 2 TB.
TEST(LaplaceKernel, HalfAMillionExamplesFitIntoMemory) {
  torch::manual_seed(2);
  const int64_t count = 500'000;
  torch::Tensor logits = at::randn({count, 2}, torch::kFloat64).requires_grad_(true);
  const torch::Tensor targets = at::randint(2, {count}, torch::kInt64);
  const torch::Tensor loss = coupling_loss(CouplingKind::mmce, at::log_softmax(logits, 1), targets);
  loss.backward();
  EXPECT_GT(loss.item<double>(), 0.1);
  EXPECT_LT(loss.item<double>(), 0.5);
  EXPECT_TRUE(at::isfinite(logits.grad()).all().item<bool>());
}

}  // namespace
}  // namespace l0gm
