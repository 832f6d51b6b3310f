#include "heads/member_layers.h"

#include <ATen/Parallel.h>
#include <torch/autograd.h>

#include "gate/toy_gate.h"

namespace l0gm {
namespace {

using namespace testing_tools;

struct Case {
  torch::Tensor z, scale, bias, next;
};

Case make_case(int64_t examples, int64_t members, int64_t width, torch::Dtype dtype) {
  const auto random = [&](std::vector<int64_t> shape) { return at::randn(shape, dtype).requires_grad_(true); };
  return {random({examples, members, width}), random({members, width}), random({members, width}), random({members, width})};
}

// Kernels and tensor operations agree, forwards and backwards, for widths that are no multiple of a vector.
TEST(MemberActivation, EqualsTensorOperations) {
  for (const torch::Dtype dtype : {torch::kFloat32, torch::kFloat64}) {
    for (const int64_t width : {1, 5, 16, 67}) {
      for (const double share : {0.0, 0.4}) {
        for (const bool with_next : {true, false}) {
          Case c = make_case(9, 3, width, dtype);
          if (!with_next) c.next = torch::Tensor{};
          const GatePass pass({Phase::anneal, 1, 1, 1}, 7, 3, ids(100, 109));
          const MemberDropout dropout{share, 2, pass.example_ids()};
          const torch::Tensor found = member_activation(c.z, c.scale, c.bias, c.next, dropout, pass);
          const torch::Tensor wanted = member_activation_by_tensors(c.z, c.scale, c.bias, c.next, dropout, pass);
          const double tolerance = dtype == torch::kFloat32 ? 1e-5 : 1e-13;
          EXPECT_LT(largest_difference(found, wanted), tolerance);
          const torch::Tensor weights = at::randn_like(wanted);
          std::vector<torch::Tensor> inputs = {c.z, c.scale, c.bias};
          if (with_next) inputs.push_back(c.next);
          const auto gradient = torch::autograd::grad({(found * weights).sum()}, inputs);
          const auto by_tensors = torch::autograd::grad({(wanted * weights).sum()}, inputs);
          for (size_t i = 0; i < inputs.size(); ++i)
            EXPECT_LT(largest_difference(gradient[i], by_tensors[i]), 10 * tolerance) << width << " " << share << " " << i;
        }
      }
    }
  }
}

// An input factor of 0 closes nothing: its own gradient still sees what it multiplies.
TEST(MemberActivation, AFactorOfZeroHasAGradient) {
  Case c = make_case(8, 2, 6, torch::kFloat64);
  {
    torch::NoGradGuard no_grad;
    c.next.zero_();
  }
  const GatePass pass({Phase::anneal, 1, 1, 1}, 7, 3, ids(0, 8));
  const torch::Tensor out = member_activation(c.z, c.scale, c.bias, c.next, {}, pass);
  const auto gradient = torch::autograd::grad({out.sum()}, {c.next});
  const torch::Tensor wanted = (c.z * c.scale + c.bias).clamp_min(0).sum(0);
  EXPECT_GT(wanted.max().item<double>(), 0);
  EXPECT_LT(largest_difference(gradient[0], wanted), 1e-12);
}

TEST(MemberActivation, WhatIsNoNumberStaysVisible) {
  Case c = make_case(2, 1, 4, torch::kFloat32);
  {
    torch::NoGradGuard no_grad;
    c.z[1][0][2] = std::numeric_limits<float>::quiet_NaN();
  }
  const GatePass pass({Phase::anneal, 1, 1, 1}, 7, 3, ids(0, 2));
  EXPECT_TRUE(at::isnan(member_activation(c.z, c.scale, c.bias, c.next, {}, pass)[1][0][2]).item<bool>());
}

// Bit for bit: sums are formed in the same order whoever forms them.
TEST(MemberLayers, DoNotDependOnThreads) {
  const int threads = at::get_num_threads();
  const Case c = make_case(64, 8, 40, torch::kFloat32);
  const torch::Tensor x = at::randn({64, 70}).requires_grad_(true), factors = at::randn({8, 70}).requires_grad_(true),
                      weight = at::randn({70, 100}).requires_grad_(true);
  const GatePass pass({Phase::anneal, 1, 1, 1}, 7, 3, ids(0, 64));
  std::vector<std::vector<torch::Tensor>> results;
  for (const int count : {1, 3}) {
    at::set_num_threads(count);
    const torch::Tensor out = member_activation(c.z, c.scale, c.bias, c.next, {0.2, 1, pass.example_ids()}, pass);
    auto all = torch::autograd::grad({out.sum()}, {c.z, c.scale, c.bias, c.next});
    all.push_back(out.detach());
    all.push_back(torch::autograd::grad({first_product(x, factors, weight).square().sum()}, {factors})[0]);
    results.push_back(all);
  }
  at::set_num_threads(threads);
  for (size_t i = 0; i + 1 < results[0].size(); ++i) EXPECT_TRUE(at::equal(results[0][i], results[1][i])) << i;
  EXPECT_LT(largest_difference(results[0].back(), results[1].back()) / results[0].back().abs().max().item<double>(), 1e-5)
      << "products are the library's";
}

TEST(FirstProduct, BothFormsAreTheSame) {
  const torch::Tensor factors = at::randn({3, 6}, torch::kFloat64).requires_grad_(true);
  const torch::Tensor weight = at::randn({6, 10}, torch::kFloat64).requires_grad_(true);
  for (const int64_t examples : {4, 10, 30}) {
    const torch::Tensor x = at::randn({examples, 6}, torch::kFloat64).requires_grad_(true);
    const torch::Tensor found = first_product(x, factors, weight), wanted = at::matmul(x.unsqueeze(1) * factors, weight);
    EXPECT_LT(largest_difference(found, wanted), 1e-12);
    const torch::Tensor weights = at::randn_like(wanted);
    const auto gradient = torch::autograd::grad({(found * weights).sum()}, {x, factors, weight});
    const auto loop = torch::autograd::grad({(wanted * weights).sum()}, {x, factors, weight});
    for (size_t i = 0; i < 3; ++i) EXPECT_LT(largest_difference(gradient[i], loop[i]), 1e-11) << examples << " " << i;
  }
}

}  // namespace
}  // namespace l0gm
