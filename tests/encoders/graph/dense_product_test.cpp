#include "encoders/graph/dense_product.h"

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <gtest/gtest.h>

namespace l0gm {
namespace {

struct Outcome {
  torch::Tensor y, of_a, of_b, of_onto;
};

Outcome outcome(Matmul precision, torch::Dtype dtype, bool onto) {
  at::manual_seed(3);
  const torch::Tensor a = at::randn({40, 30}).to(dtype).requires_grad_(true),
                      b = at::randn({30, 20}).to(dtype).requires_grad_(true),
                      row = at::randn({20}).to(dtype).requires_grad_(true), mix = at::randn({40, 20}).to(dtype);
  const torch::Tensor y = dense_product(a, b, precision, onto ? row : torch::Tensor());
  (y * mix).sum().backward();
  return {y.detach(), a.grad(), b.grad(), row.grad()};
}

double relative_error(const torch::Tensor& found, const torch::Tensor& wanted) {
  return ((found.to(torch::kFloat64) - wanted).norm() / wanted.norm()).item<double>();
}

TEST(DenseProduct, EveryPrecisionIsTheProductUpToRounding) {
  for (const bool onto : {false, true}) {
    const Outcome exact = outcome(Matmul::float32, torch::kFloat64, onto);
    for (const auto& [precision, least, most] : {std::tuple{Matmul::float32, 0.0, 1e-6}, std::tuple{Matmul::tf32, 0.0, 1e-6},
                                                 std::tuple{Matmul::bfloat16, 1e-4, 1e-2}}) {
      const Outcome found = outcome(precision, torch::kFloat32, onto);
      EXPECT_EQ(found.y.scalar_type(), torch::kFloat32);
      for (const auto& [here, there] :
           {std::pair{found.y, exact.y}, std::pair{found.of_a, exact.of_a}, std::pair{found.of_b, exact.of_b}}) {
        EXPECT_LE(relative_error(here, there), most);
        EXPECT_GE(relative_error(here, there), least);
      }
      EXPECT_EQ(found.of_onto.defined(), onto);
      if (onto) {
        EXPECT_LT(relative_error(found.of_onto, exact.of_onto), 1e-6);
      }
    }
  }
}

TEST(DenseProduct, LeavesTheSettingsOfOthersAlone) {
  const bool before = at::globalContext().allowTF32CuBLAS();
  outcome(Matmul::tf32, torch::kFloat32, false);
  EXPECT_EQ(at::globalContext().allowTF32CuBLAS(), before);
}

TEST(DenseProduct, RefusesWhatHasNoSuchPrecision) { EXPECT_THROW(outcome(Matmul::bfloat16, torch::kFloat64, false), c10::Error); }

}  // namespace
}  // namespace l0gm
