#include "gate/noise.h"

#include <ATen/Parallel.h>

#include "base/random.h"
#include "gate/toy_gate.h"

namespace l0gm {
namespace {

using namespace testing_tools;

const torch::Device cpu = torch::kCPU;

TEST(UniformNoise, EqualsTheReference) {
  for (const auto& entry : gate_reference()["noise"]) {
    const Draw draw{entry["seed"].get<uint64_t>(), entry["step"].get<int64_t>(), entry["site"].get<int64_t>(),
                    at::tensor(entry["ids"].get<std::vector<int64_t>>(), torch::kInt64)};
    const torch::Tensor u = uniform_noise(draw, entry["width"].get<int64_t>(), cpu);
    EXPECT_EQ(u.scalar_type(), torch::kFloat32);
    EXPECT_EQ(largest_difference(u, tensor_of(entry["u"])), 0);  // multiples of 2^-24 are exact in both
  }
}

TEST(UniformNoise, TensorOperationsGiveTheSameNumbers) {
  const torch::Tensor some =
      at::tensor(std::vector<int64_t>{0, 1, -1, 77, (int64_t{1} << 32) - 1, int64_t{1} << 32, INT64_MAX, INT64_MIN},
                 torch::kInt64);
  for (const int64_t width : {1, 3, 4, 5, 64, 131}) {
    for (const uint64_t seed : {uint64_t{0}, uint64_t{42}, UINT64_MAX}) {
      const Draw draw{seed, 9, 1234567, some};
      EXPECT_TRUE(at::equal(uniform_noise_by_tensors(draw, width, cpu), uniform_noise(draw, width, cpu))) << width << " " << seed;
    }
  }
  const Draw many{3, 2, 1, ids(0, 20000)};  // enough elements to meet every branch of the rounding
  EXPECT_TRUE(at::equal(uniform_noise_by_tensors(many, 30, cpu), uniform_noise(many, 30, cpu)));
}

// Edges are numbered by two nodes: both words of an id count.
TEST(UniformOfKey, IdsOfSixtyFourBits) {
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < 200; ++i) ids.push_back((i * 10'737'418 << 32) | (i * 7'654'321));
  const torch::Tensor given = at::tensor(ids, torch::kInt64);
  std::vector<float> wanted(ids.size() * 5);
  fill_uniform(0xFEDCBA9876543210, ids.data(), std::ssize(ids), 5, wanted.data());
  const torch::Tensor numbers = uniform_of_key(0xFEDCBA9876543210, given, 5, torch::kCPU);
  EXPECT_TRUE(at::equal(numbers, at::tensor(wanted).view({-1, 5})));
  EXPECT_TRUE(at::equal(uniform_of_key_by_tensors(0xFEDCBA9876543210, given, 5, torch::kCPU), numbers));
}

TEST(UniformNoise, StaysWithinItsBoundsAndLooksUniform) {
  const torch::Tensor u = uniform_noise({1, 2, 3, ids(0, 10000)}, 400, cpu);  // 4 million: about a quarter of the 2^24 values
  EXPECT_GE(u.min().item<double>(), 0x1p-24);
  EXPECT_LE(u.max().item<double>(), 1 - 0x1p-24);
  EXPECT_LT(u.min().item<double>(), 1e-5);
  EXPECT_GT(u.max().item<double>(), 1 - 1e-5);
  EXPECT_TRUE(at::isfinite(at::logit(u)).all().item<bool>());
  EXPECT_NEAR(u.to(torch::kFloat64).mean().item<double>(), 0.5, 5 * std::sqrt(1.0 / 12 / 4e6));
  EXPECT_NEAR(u.to(torch::kFloat64).square().mean().item<double>(), 1.0 / 3, 1e-3);
}

TEST(UniformNoise, AnElementDependsOnItsExampleAndColumnOnly) {
  const torch::Tensor all = uniform_noise({8, 5, 2, ids(0, 50)}, 37, cpu);
  EXPECT_TRUE(at::equal(uniform_noise({8, 5, 2, ids(20, 50)}, 37, cpu), all.narrow(0, 20, 30)));
  const torch::Tensor order = ids(0, 50).flip(0);
  EXPECT_TRUE(at::equal(uniform_noise({8, 5, 2, order}, 37, cpu), all.index_select(0, order)));
  EXPECT_TRUE(at::equal(uniform_noise({8, 5, 2, ids(0, 50)}, 21, cpu), all.narrow(1, 0, 21)));
  const torch::Tensor strided = at::stack({ids(0, 50), ids(100, 150)}, 1).select(1, 0);  // not contiguous
  EXPECT_TRUE(at::equal(uniform_noise({8, 5, 2, strided}, 37, cpu), all));
}

TEST(UniformNoise, SeedStepAndSiteEachChangeIt) {
  const torch::Tensor base = uniform_noise({1, 1, 1, ids(0, 8)}, 8, cpu);
  for (const Draw& other : {Draw{2, 1, 1, ids(0, 8)}, Draw{1, 2, 1, ids(0, 8)}, Draw{1, 1, 2, ids(0, 8)}}) {
    EXPECT_LT(uniform_noise(other, 8, cpu).eq(base).sum().item<int64_t>(), 3);
  }
}

TEST(UniformNoise, ThreadsDoNotMatter) {
  const int before = at::get_num_threads();
  const Draw draw{4, 4, 4, ids(0, 3000)};
  at::set_num_threads(1);
  const torch::Tensor one = uniform_noise(draw, 61, cpu);
  at::set_num_threads(4);
  const torch::Tensor four = uniform_noise(draw, 61, cpu);
  at::set_num_threads(before);
  EXPECT_TRUE(at::equal(one, four));
}

TEST(UniformNoise, NoExamplesGiveAnEmptyTensor) {
  EXPECT_EQ(uniform_noise({0, 0, 0, ids(0, 0)}, 5, cpu).sizes(), (std::vector<int64_t>{0, 5}));
}

}  // namespace
}  // namespace l0gm
