#include "gate/counter_dropout.h"

#include <ATen/Parallel.h>

#include "gate/noise.h"
#include "gate/toy_gate.h"

namespace l0gm {
namespace {

using namespace testing_tools;

const Draw draw{5, 2, 77, at::tensor(std::vector<int64_t>{9, 0, 123456789012, 4, 9, 31}, torch::kInt64)};

torch::Tensor some(at::IntArrayRef shape, torch::Dtype dtype = torch::kFloat32) {
  at::manual_seed(1);
  return at::randn(shape, torch::kFloat64).to(dtype);
}

// The mask as a tensor, made from the numbers that gates draw.
torch::Tensor mask_of(double share, const Draw& drawn, const torch::Tensor& like) {
  const torch::Tensor u = uniform_noise(drawn, like.numel() / like.size(0), torch::kCPU);
  return u.ge(static_cast<float>(share)).to(like.scalar_type()).mul(1 / (1 - share)).view(like.sizes());
}

TEST(CounterDropout, IsTheMaskOfUniformNoiseBitForBit) {
  for (const torch::Dtype dtype : {torch::kFloat32, torch::kFloat64}) {
    for (const int64_t width : {1, 3, 4, 37, 20000}) {  // the last: more than one block of rows
      const torch::Tensor x = some({6, width}, dtype);
      for (const double share : {0.1, 0.5, 0.875}) {
        const torch::Tensor y = counter_dropout(x, share, draw);
        EXPECT_EQ(y.scalar_type(), dtype);
        EXPECT_TRUE(at::equal(y, x * mask_of(share, draw, x))) << width << " " << share;
      }
    }
  }
  EXPECT_GT(counter_dropout(some({6, 37}), 0.5, draw).eq(0).sum().item<int64_t>(), 60);
}

TEST(CounterDropout, EqualRowsHaveEqualMasks) {
  const torch::Tensor y = counter_dropout(at::ones({6, 40}), 0.5, draw);
  EXPECT_TRUE(at::equal(y[0], y[4])) << "both have id 9";
  EXPECT_FALSE(at::equal(y[0], y[1]));
}

TEST(CounterDropout, ManyRowsInSeveralThreads) {
  const int before = at::get_num_threads();
  const torch::Tensor x = some({5000, 33});
  const Draw many{1, 2, 3, ids(0, 5000)};
  at::set_num_threads(1);
  const torch::Tensor one = counter_dropout(x, 0.3, many);
  at::set_num_threads(4);
  const torch::Tensor four = counter_dropout(x, 0.3, many);
  at::set_num_threads(before);
  EXPECT_TRUE(at::equal(one, four));
  EXPECT_TRUE(at::equal(one, x * mask_of(0.3, many, x)));
}

TEST(CounterDropout, TheGradientHasTheSameMask) {
  for (const torch::Dtype dtype : {torch::kFloat32, torch::kFloat64}) {
    const torch::Tensor x = some({6, 21}, dtype).requires_grad_(true), given = at::flip(some({6, 21}, dtype), {1});
    counter_dropout(x, 0.4, draw).backward(given);
    EXPECT_TRUE(at::equal(x.grad(), given * mask_of(0.4, draw, x)));
  }
}

TEST(CounterDropout, AGradientThatIsNotContiguous) {
  const torch::Tensor x = some({6, 5}).requires_grad_(true), given = some({5, 6}).t();
  counter_dropout(x, 0.4, draw).backward(given);
  EXPECT_TRUE(at::equal(x.grad(), given * mask_of(0.4, draw, x)));
}

TEST(CounterDropout, AnotherSeedStepOrSiteIsAnotherMask) {
  const torch::Tensor x = at::ones({6, 40});
  const torch::Tensor y = counter_dropout(x, 0.5, draw);
  EXPECT_TRUE(at::equal(counter_dropout(x, 0.5, draw), y));
  for (const Draw& other :
       {Draw{6, 2, 77, draw.example_ids}, Draw{5, 3, 77, draw.example_ids}, Draw{5, 2, 78, draw.example_ids}}) {
    EXPECT_FALSE(at::equal(counter_dropout(x, 0.5, other), y));
  }
}

TEST(CounterDropout, ReadsWhatIsNotContiguous) {
  const torch::Tensor wide = some({6, 30}), turned = some({30, 6}).t(), skipped = wide.slice(1, 1, 30, 3);
  EXPECT_TRUE(at::equal(counter_dropout(turned, 0.5, draw), turned * mask_of(0.5, draw, turned)));
  EXPECT_TRUE(at::equal(counter_dropout(skipped, 0.5, draw), skipped * mask_of(0.5, draw, skipped)));
  const torch::Tensor ids_apart = at::stack({draw.example_ids, draw.example_ids + 1}, 1).select(1, 0);
  EXPECT_TRUE(at::equal(counter_dropout(wide, 0.5, {5, 2, 77, ids_apart}), counter_dropout(wide, 0.5, draw)));
}

// Heads pass [examples, members, width]: a row is an example with all its members.
TEST(CounterDropout, ThreeDimensions) {
  const torch::Tensor x = some({6, 3, 5});
  EXPECT_TRUE(at::equal(counter_dropout(x, 0.5, draw), x * mask_of(0.5, draw, x)));
  const torch::Tensor turned = some({3, 6, 5}).transpose(0, 1);
  EXPECT_TRUE(at::equal(counter_dropout(turned, 0.5, draw), turned * mask_of(0.5, draw, turned)));
}

TEST(CounterDropout, NothingToMask) {
  EXPECT_EQ(counter_dropout(at::empty({0, 5}), 0.5, {1, 1, 1, at::empty({0}, torch::kInt64)}).sizes(),
            (std::vector<int64_t>{0, 5}));
  EXPECT_EQ(counter_dropout(at::empty({6, 0}), 0.5, draw).sizes(), (std::vector<int64_t>{6, 0}));
}

TEST(GatePassDropout, RowsThatAreNotExamplesHaveTheirOwnIds) {
  const GatePass pass({}, 8, 3, ids(0, 6));
  const torch::Tensor x = some({6, 12});
  EXPECT_TRUE(at::equal(pass.dropout(x, 0.5, 1), pass.dropout(x, 0.5, 1, ids(0, 6))));
  EXPECT_FALSE(at::equal(pass.dropout(x, 0.5, 1), pass.dropout(x, 0.5, 1, ids(6, 12))));
  EXPECT_FALSE(at::equal(pass.dropout(x, 0.5, 1), pass.dropout(x, 0.5, 2)));
  EXPECT_TRUE(at::equal(pass.dropout(x, 0, 1), x));
}

}  // namespace
}  // namespace l0gm
