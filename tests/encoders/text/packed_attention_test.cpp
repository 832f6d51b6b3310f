#include "encoders/text/packed_attention.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <torch/autograd.h>

#include "batches/text/text_batches.h"
#include "encoders/text/reference_text.h"

namespace l0gm {
namespace {

using namespace testing_tools;

const std::vector<int64_t> lengths = {5, 1, 17, 3};
constexpr int64_t total = 26, heads = 3, width = 4;
constexpr double scale = 0.4;

struct Tensors {
  torch::Tensor qkv = at::randn({total, 3, heads, width}, torch::kFloat64).requires_grad_(true);
  torch::Tensor q() const { return qkv.select(1, 0); }
  torch::Tensor k() const { return qkv.select(1, 1); }
  torch::Tensor v() const { return qkv.select(1, 2); }
};

// One sequence, one head, one query at a time.
torch::Tensor by_hand(const Tensors& x) {
  std::vector<torch::Tensor> rows;
  int64_t begin = 0;
  for (const int64_t length : lengths) {
    for (int64_t i = begin; i < begin + length; ++i) {
      std::vector<torch::Tensor> of_heads;
      for (int64_t h = 0; h < heads; ++h) {
        const torch::Tensor keys = x.k().select(1, h).narrow(0, begin, length),
                            values = x.v().select(1, h).narrow(0, begin, length);
        of_heads.push_back(at::softmax(keys.mv(x.q()[i][h]) * scale, 0).matmul(values));
      }
      rows.push_back(at::stack(of_heads));
    }
    begin += length;
  }
  return at::stack(rows);
}

torch::Tensor gradient_of(const torch::Tensor& y, const Tensors& x) {
  const torch::Tensor probe = at::arange(y.numel(), torch::kFloat64).view(y.sizes()).sin();
  return torch::autograd::grad({y}, {x.qkv}, {probe})[0];
}

TEST(PackedAttention, IsSoftmaxAttentionWithinEachSequence) {
  torch::manual_seed(0);
  const Tensors x;
  const SequenceRows rows = make_sequence_rows(lengths, torch::kCPU);
  const torch::Tensor expected = by_hand(x);
  const torch::Tensor packed = packed_attention(x.q(), x.k(), x.v(), rows, rows, scale, {}),
                      padded = padded_attention(x.q(), x.k(), x.v(), rows, rows, scale, {});
  EXPECT_LT(largest_difference(packed, expected), 1e-12);
  EXPECT_LT(largest_difference(padded, expected), 1e-12);
  const torch::Tensor gradient = gradient_of(expected, x);
  EXPECT_LT(largest_difference(gradient_of(packed, x), gradient), 1e-12);
  EXPECT_LT(largest_difference(gradient_of(padded, x), gradient), 1e-12);
}

TEST(PackedAttention, OneQueryPerSequence) {
  torch::manual_seed(0);
  const Tensors x;
  const SequenceRows keys = make_sequence_rows(lengths, torch::kCPU), queries = make_sequence_rows({1, 1, 1, 1}, torch::kCPU);
  const torch::Tensor first = at::tensor({0, 5, 6, 23}, torch::kInt64);
  const torch::Tensor expected = by_hand(x).index_select(0, first), q = x.q().index_select(0, first);
  const torch::Tensor packed = packed_attention(q, x.k(), x.v(), queries, keys, scale, {});
  EXPECT_LT(largest_difference(packed, expected), 1e-12);
  EXPECT_LT(largest_difference(gradient_of(packed, x), gradient_of(expected, x)), 1e-12);
}

// A third of the weights are dropped and the others scaled up: outputs keep their mean over many draws.
TEST(PackedAttention, DropoutKeepsTheMean) {
  torch::manual_seed(0);
  const Tensors x;
  torch::NoGradGuard no_grad;
  const SequenceRows rows = make_sequence_rows(lengths, torch::kCPU);
  const torch::Tensor plain = packed_attention(x.q(), x.k(), x.v(), rows, rows, scale, {});
  torch::Tensor sum = at::zeros_like(plain);
  constexpr int64_t draws = 600;
  for (int64_t step = 0; step < draws; ++step) {
    const GatePass pass({}, 1, step, {});
    sum += packed_attention(x.q(), x.k(), x.v(), rows, rows, scale, {1.0 / 3, &pass, 0, at::arange(total, torch::kInt64)});
  }
  EXPECT_LT(largest_difference(sum / draws, plain), 0.35);
  const GatePass pass({}, 1, 0, {});
  EXPECT_GT(largest_difference(packed_attention(x.q(), x.k(), x.v(), rows, rows, scale,
                                                {1.0 / 3, &pass, 0, at::arange(total, torch::kInt64)}),
                               plain),
            0.1);
}

}  // namespace
}  // namespace l0gm
