#include "heads/largest_gates.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

namespace l0gm {
namespace {

TEST(LargestGates, AreThoseOfEachSource) {
  const torch::Tensor gates = at::tensor(std::vector<float>{0.2F, 0.9F, 0, 0.4F, 1, 0.1F, 0, 0.3F}).view({2, 4});
  const SourcesOfDimensions where({2, 0, 2, 0}, 3);
  const torch::Tensor wanted = at::tensor(std::vector<float>{0.9F, 0, 0.2F, 0.3F, 0, 1}).view({2, 3});
  EXPECT_TRUE(at::equal(largest_gates(gates, where), wanted)) << "source 1 has no dimension";
}

TEST(LargestGates, TheGradientGoesToTheLargest) {
  const torch::Tensor gates =
      at::tensor(std::vector<float>{0.2F, 0.9F, 0, 0.4F, 1, 0.1F, 1, 0.3F}).view({2, 4}).requires_grad_(true);
  const SourcesOfDimensions where({2, 0, 2, 0}, 3);
  const torch::Tensor mix = at::tensor(std::vector<float>{5, 7, 11, 13, 17, 19}).view({2, 3});
  (largest_gates(gates, where) * mix).sum().backward();
  const torch::Tensor wanted = at::tensor(std::vector<float>{11, 5, 0, 0, 9.5F, 0, 9.5F, 13}).view({2, 4});
  EXPECT_TRUE(at::equal(gates.grad(), wanted)) << "equal ones share it" << gates.grad();
}

// Many rows, in several threads, against torch's own operations.
TEST(LargestGates, IsAmaxOfTheSourcesDimensions) {
  at::manual_seed(1);
  const torch::Tensor gates = at::rand({3000, 12}).requires_grad_(true), other = gates.detach().clone().requires_grad_(true);
  const SourcesOfDimensions where({0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}, 3);
  const torch::Tensor mix = at::rand({3000, 3});
  const torch::Tensor found = largest_gates(gates, where), wanted = other.view({3000, 3, 4}).amax(2);
  EXPECT_TRUE(at::equal(found, wanted));
  (found * mix).sum().backward();
  (wanted * mix).sum().backward();
  EXPECT_TRUE(at::equal(gates.grad(), other.grad()));
}

}  // namespace
}  // namespace l0gm
