#include "encoders/graph/propagate.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "encoders/graph/attention_kernels.h"
#include "encoders/graph/attention_tensors.h"
#include "encoders/graph/propagate_attention.h"
#include "encoders/graph/propagate_max.h"
#include "encoders/graph/row_kernels.h"
#include "encoders/graph/row_product.h"
#include "encoders/graph/toy_blocks.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

using namespace testing_tools;

const std::vector<ToyBlock>& blocks() {
  static const std::vector<ToyBlock> all = {
      {},  // rectangular
      {.weighted = true},
      {.weighted = true, .own = true, .seed = 3},
      {.targets = 8, .sources = 8, .symmetric = true},
      {.targets = 8, .sources = 8, .weighted = true, .symmetric = true},
      {.targets = 3, .sources = 300, .density = 0.9, .weighted = true, .own = true},  // long rows
      {.targets = 4, .sources = 6, .density = 0},                                     // no edges at all
  };
  return all;
}

torch::Tensor dense_propagation(const MessageBlock& block, const torch::Tensor& x, const MessageScales& scales) {
  torch::Tensor matrix = dense_matrix(block);
  if (scales.target.defined()) matrix = scales.target.unsqueeze(1) * matrix;
  if (scales.source.defined()) matrix = matrix * scales.source;
  if (scales.self.defined()) matrix = matrix + scales.self.unsqueeze(1) * own_matrix(block);
  return at::mm(matrix, x);
}

// Largest difference between the gradient of sum(f(x) * mix) and central differences, over all of x.
double gradient_error(torch::Tensor x, const std::function<torch::Tensor()>& f) {
  x.set_requires_grad(true);
  const torch::Tensor y = f(), mix = numbers(y.sizes(), 99);
  if (x.grad().defined()) x.mutable_grad() = torch::Tensor();
  (y * mix).sum().backward();
  const torch::Tensor gradient = x.grad().clone();
  x.set_requires_grad(false);
  torch::NoGradGuard no_grad;
  double worst = 0;
  double* values = x.data_ptr<double>();
  for (int64_t i = 0; i < x.numel(); ++i) {
    const double step = 1e-5, before = values[i];
    values[i] = before + step;
    const double up = (f() * mix).sum().item<double>();
    values[i] = before - step;
    const double down = (f() * mix).sum().item<double>();
    values[i] = before;
    worst = std::max(worst, std::abs((up - down) / (2 * step) - gradient.view(-1)[i].item<double>()));
  }
  return worst;
}

TEST(Propagate, IsTheDenseProduct) {
  for (size_t b = 0; b < blocks().size(); ++b) {
    const auto block = toy_block(blocks()[b]);
    const auto adjacency = Adjacency::of(block, torch::kCPU, torch::kFloat64);
    const torch::Tensor target = numbers({block->targets}, 6), source = numbers({block->sources}, 7),
                        self = numbers({block->targets}, 8);
    for (const int64_t width :
         {1, 3, 8, 19, 71, 72, 200}) {  // narrower than a vector, whole vectors, a rest, one vector more than a tile
      const torch::Tensor x = numbers({block->sources, width});
      const std::vector<MessageScales> all = {{}, {target, {}, {}}, {{}, source, self}, {target, source, self}};
      for (const MessageScales& scales : all) {
        const torch::Tensor y = propagate(adjacency, x, scales), expected = dense_propagation(*block, x, scales);
        EXPECT_LT(max_abs_difference(y, expected), 1e-10) << "block " << b << " width " << width;
      }
    }
  }
}

TEST(Propagate, GradientIsTheTransposedProduct) {
  for (const ToyBlock& toy : blocks()) {
    const auto block = toy_block(toy);
    const auto adjacency = Adjacency::of(block, torch::kCPU, torch::kFloat64);
    const MessageScales scales = {numbers({toy.targets}, 6), numbers({toy.sources}, 7), numbers({toy.targets}, 8)};
    torch::Tensor x = numbers({toy.sources, 2});
    EXPECT_LT(gradient_error(x, [&] { return propagate(adjacency, x, scales); }), 1e-7);
  }
}

TEST(Propagate, TorchMatricesGiveTheSame) {
  for (const ToyBlock& toy : blocks()) {
    const auto adjacency = toy_adjacency(toy);
    for (const bool back : {false, true}) {
      RowProduct product;
      product.transposed = back;
      product.target = numbers({back ? toy.sources : toy.targets}, 6);
      product.source = numbers({back ? toy.targets : toy.sources}, 7);
      product.self = numbers({toy.targets, 3}, 8);
      const torch::Tensor x = numbers({back ? toy.targets : toy.sources, 3, 5});
      const auto by_matrix = [&](const torch::Tensor& rows) {
        return row_product_by_matrix(*adjacency, product, rows, torch::kFloat64);
      };
      product.weights = numbers({adjacency->edges(), 3}, 9);
      EXPECT_LT(max_abs_difference(by_matrix(x), row_product_by_kernels(*adjacency, product, x)), 1e-12);
      product.weights = torch::Tensor();
      product.self = numbers({toy.targets, 1}, 8);
      const torch::Tensor one = x.reshape({x.size(0), 1, 15});
      EXPECT_LT(max_abs_difference(by_matrix(one), row_product_by_kernels(*adjacency, product, one)), 1e-12);
    }
  }
}

TEST(Propagate, EveryInstructionSetGivesTheSameSums) {
  const auto block = toy_block({.targets = 5, .sources = 200, .density = 0.8, .weighted = true});
  for (const int64_t width : {1, 5, 16, 33, 65, 129, 144, 145, 300}) {
    const torch::Tensor x = numbers({200, width}).to(torch::kFloat32),
                        expected = at::mm(dense_matrix(*block), x.to(torch::kFloat64));
    RowSums<float> sums;
    sums.offsets = block->offsets.data();
    sums.neighbours = block->neighbours.data();
    sums.weights = block->weights.data();
    sums.width = width;
    sums.x = x.const_data_ptr<float>();
    for (const RowKernels<float>& kernels : usable_row_kernels<float>()) {
      torch::Tensor y = at::full({5, width}, -1e6, torch::kFloat32);
      sums.y = y.data_ptr<float>();
      kernels.sum(sums, 0, 2);
      kernels.sum(sums, 2, 5);
      EXPECT_LT(max_abs_difference(y, expected), 1e-3) << kernels.name << " width " << width;
    }
  }
}

TEST(PropagateMax, EveryInstructionSetGivesTheSameMaximum) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const RowKernels<float>& kernels : usable_row_kernels<float>()) {
    for (const size_t width : {3, 37}) {
      std::vector<float> best(width, 1), candidate(width, 0), sum(width, 10), gradient(width, 2);
      std::vector<int32_t> from(width, 4);
      candidate[1] = 1;  // as large: the first stays
      candidate[2] = nan;
      best[0] = nan;  // stays
      candidate[width - 1] = width == 3 ? nan : 5;
      kernels.take_larger({best.data(), from.data(), candidate.data(), 9, static_cast<int64_t>(width)});
      EXPECT_TRUE(std::isnan(best[0]) && std::isnan(best[2])) << kernels.name;
      EXPECT_EQ(best[1], 1);
      EXPECT_EQ(from[0], 4);
      EXPECT_EQ(from[1], 4);
      EXPECT_EQ(from[2], 9);
      EXPECT_EQ(from[width - 1], 9);
      EXPECT_TRUE(width == 3 || best[36] == 5);
      kernels.add_taken({sum.data(), gradient.data(), from.data(), 9, static_cast<int64_t>(width)});
      EXPECT_EQ(sum[1], 10);
      EXPECT_EQ(sum[2], 12);
      EXPECT_EQ(sum[width - 1], 12);
    }
  }
}

TEST(Propagate, ResultsDoNotDependOnThreads) {
  const int threads = at::get_num_threads();
  const auto block = toy_block({.targets = 400, .sources = 500, .density = 0.3, .weighted = true, .own = true});
  const auto results = [&](int number) {
    at::set_num_threads(number);
    const auto fresh = Adjacency::of(block, torch::kCPU, torch::kFloat32);  // transposed anew, by as many threads
    torch::Tensor x = numbers({500, 40}).to(torch::kFloat32).set_requires_grad(true);
    const torch::Tensor score = x.narrow(1, 0, 2), target_score = x.narrow(0, 0, 400).narrow(1, 2, 2);
    const torch::Tensor y =
        propagate(fresh, x, {{}, numbers({500}, 2).to(torch::kFloat32), numbers({400}, 3).to(torch::kFloat32)});
    const torch::Tensor z = propagate_attention(fresh, x.view({500, 2, 20}), target_score, score, 0.2, true, {});
    const torch::Tensor m = propagate_max(fresh, x);
    (y.square().sum() + z.square().sum() + m.square().sum()).backward();
    return std::vector<torch::Tensor>{y.detach(), z.detach(), m.detach(), x.grad()};
  };
  const auto one = results(1), several = results(4);
  at::set_num_threads(threads);
  for (size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(at::equal(one[i], several[i])) << i;
}

TEST(Propagate, SparseAttributesTimesWeights) {
  SparseRows rows;
  rows.offsets = std::vector<int64_t>{0, 2, 2, 3};
  rows.columns = std::vector<int32_t>{0, 3, 1};
  rows.values = std::vector<float>{2, 0.5, -1};
  const auto attributes = Adjacency::of(rows, nullptr, 4, torch::kCPU, torch::kFloat64);
  torch::Tensor weight = numbers({4, 6});
  const torch::Tensor dense =
      at::tensor({2.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0}, torch::kFloat64).view({3, 4});
  EXPECT_LT(max_abs_difference(propagate(attributes, weight, {}), at::mm(dense, weight)), 1e-12);
  EXPECT_LT(gradient_error(weight, [&] { return propagate(attributes, weight, {}); }), 1e-8);
}

TEST(Propagate, RefusesWhatItCannotDo) {
  const auto adjacency = toy_adjacency({}, torch::kFloat32);
  EXPECT_THROW(propagate(adjacency, at::ones({9, 2}), {}, true), UserError) << "bfloat16 on the processor";
  EXPECT_ANY_THROW(propagate(adjacency, at::ones({8, 2}), {}));
  EXPECT_ANY_THROW(propagate(adjacency, at::ones({9, 2}), {at::ones({9}), {}, {}}));
  EXPECT_ANY_THROW(propagate(adjacency, at::ones({9, 2}), {at::ones({7}).set_requires_grad(true), {}, {}}));
  EXPECT_ANY_THROW(propagate(adjacency, at::ones({9, 2}), {at::ones({7}, torch::kFloat64), {}, {}})) << "another precision";
}

TEST(PropagateMax, TakesTheLargestNeighbour) {
  for (const ToyBlock& toy : blocks()) {
    const auto block = toy_block(toy);
    const auto adjacency = Adjacency::of(block, torch::kCPU, torch::kFloat64);
    torch::Tensor x = numbers({toy.sources, 3}) - 3;  // mostly below 0: 0 is not the start of the maximum
    const torch::Tensor absent = dense_matrix(*block).eq(0).unsqueeze(2);
    torch::Tensor expected = x.unsqueeze(0).expand({toy.targets, -1, -1}).masked_fill(absent, -1e9).amax(1);
    expected = expected.masked_fill(absent.all(1), 0);
    EXPECT_LT(max_abs_difference(propagate_max(adjacency, x), expected), 1e-15);
    const torch::Tensor wide = x.repeat({1, 7}).to(torch::kFloat32).set_requires_grad(true);
    const torch::Tensor largest = propagate_max(adjacency, wide);
    EXPECT_LT(max_abs_difference(largest, expected.repeat({1, 7})), 1e-6);
    largest.sum().backward();
    EXPECT_EQ(wide.grad().sum().item<double>(), 21.0 * absent.logical_not().any(1).sum().item<double>())
        << "each maximum has one source";
    EXPECT_LT(gradient_error(x, [&] { return propagate_max(adjacency, x); }), 1e-8);
  }
}

TEST(PropagateMax, TensorOperationsGiveTheSame) {
  for (const ToyBlock& toy : blocks()) {
    const auto adjacency = toy_adjacency(toy);
    const torch::Tensor x = numbers({toy.sources, 3}).round();  // with ties
    const Largest one = largest_by_kernels(*adjacency, x), other = largest_by_tensors(*adjacency, x);
    EXPECT_TRUE(at::equal(one.values, other.values));
    EXPECT_TRUE(at::equal(one.sources, other.sources));
    const torch::Tensor gradient = numbers({toy.targets, 3}, 6);
    const torch::Tensor back = largest_back_by_kernels(*adjacency, one.sources, gradient);
    EXPECT_LT(max_abs_difference(back, largest_back_by_tensors(*adjacency, one.sources, gradient)), 1e-12);
  }
}

TEST(PropagateMax, TheFirstOfEqualsGetsTheGradientOnce) {
  MessageBlock block;
  block.targets = 2;
  block.sources = 3;
  block.offsets = std::vector<int64_t>{0, 4, 4};
  block.neighbours = std::vector<int32_t>{1, 1, 2, 0};  // the first neighbour twice, as samplers may draw it
  const auto adjacency = Adjacency::of(std::make_shared<MessageBlock>(block), torch::kCPU, torch::kFloat64);
  torch::Tensor x = at::ones({3, 1}, torch::kFloat64).set_requires_grad(true);
  propagate_max(adjacency, x).sum().backward();
  EXPECT_TRUE(at::equal(x.grad().view(-1), at::tensor({0.0, 1.0, 0.0}, torch::kFloat64)));
}

// Attention by a dense formula, [targets, sources + 1 (own), heads].
torch::Tensor dense_attention(const MessageBlock& block, const torch::Tensor& x, const torch::Tensor& target,
                              const torch::Tensor& source, bool self, const torch::Tensor& keep) {
  const torch::Tensor own = own_matrix(block);
  const torch::Tensor own_source = at::matmul(own, source), own_x = at::einsum("vu,uhw->vhw", {own, x});
  const torch::Tensor scores =
      at::leaky_relu(at::cat({target.unsqueeze(1) + source.unsqueeze(0), (target + own_source).unsqueeze(1)}, 1), 0.2);
  const torch::Tensor present =
      at::cat({dense_matrix(block).ne(0), at::full({block.targets, 1}, self, torch::kBool)}, 1).unsqueeze(2);
  torch::Tensor attention = at::softmax(scores.masked_fill(present.logical_not(), -1e9), 1) * present;
  int64_t row = 0;
  for (int64_t v = 0; keep.defined() && v < block.targets; ++v) {
    for (int64_t e = block.offsets[v]; e < block.offsets[v + 1]; ++e, ++row) attention[v][block.neighbours[e]] *= keep[row];
    if (self) attention[v][block.sources] *= keep[block.neighbours.size() + v];
  }
  return at::einsum("vuh,uhw->vhw", {attention.narrow(1, 0, block.sources), x}) +
         attention.select(1, block.sources).unsqueeze(2) * own_x;
}

TEST(PropagateAttention, IsTheDenseFormula) {
  for (const ToyBlock& toy : blocks()) {
    const auto block = toy_block(toy);
    const auto adjacency = Adjacency::of(block, torch::kCPU, torch::kFloat64);
    // exp alone would overflow
    const torch::Tensor target = 3 * numbers({toy.targets, 2}, 11), source = 3 * numbers({toy.sources, 2}, 12) + 800;
    for (const int64_t width : {0, 3, 20}) {
      const torch::Tensor x = numbers({toy.sources, 2, width});
      for (const bool self : {false, true}) {
        const torch::Tensor keep = numbers({adjacency->edges() + (self ? toy.targets : 0), 2}, 13);
        for (const torch::Tensor& factors : {torch::Tensor(), keep}) {
          const torch::Tensor y = propagate_attention(adjacency, x, target, source, 0.2, self, factors);
          EXPECT_LT(max_abs_difference(y, dense_attention(*block, x, target, source, self, factors)), 1e-10) << width << self;
        }
      }
    }
  }
}

TEST(PropagateAttention, Gradients) {
  for (const ToyBlock& toy : blocks()) {
    if (toy.sources > 100) continue;  // finite differences are slow here, and the sums are tested above
    const auto adjacency = toy_adjacency(toy);
    for (const bool self : {false, true}) {
      torch::Tensor x = numbers({toy.sources, 2, 3}), target = numbers({toy.targets, 2}, 11),
                    source = numbers({toy.sources, 2}, 12);
      const torch::Tensor keep = numbers({adjacency->edges() + (self ? toy.targets : 0), 2}, 13);
      const auto f = [&] { return propagate_attention(adjacency, x, target, source, 0.2, self, keep); };
      if (adjacency->edges() == 0 && !self) {
        EXPECT_EQ(f().abs().max().item<double>(), 0);
        continue;
      }
      EXPECT_LT(gradient_error(x, f), 1e-7);
      EXPECT_LT(gradient_error(target, f), 1e-7);
      EXPECT_LT(gradient_error(source, f), 1e-7);
    }
  }
}

TEST(PropagateAttention, TensorOperationsGiveTheSame) {
  for (const ToyBlock& toy : blocks()) {
    const auto adjacency = toy_adjacency(toy);
    for (const bool self : {false, true}) {
      const AttentionScores scores = {numbers({toy.targets, 2}, 11), numbers({toy.sources, 2}, 12), 0.2, self};
      const torch::Tensor attention = attention_by_kernels(*adjacency, scores);
      EXPECT_LT(max_abs_difference(attention, attention_by_tensors(*adjacency, scores)), 1e-14);
      const torch::Tensor x = numbers({toy.sources, 2, 5}), gradient = numbers({toy.targets, 2, 5}, 6);
      const torch::Tensor dots = attention_dots_by_kernels(*adjacency, self, gradient, x);
      EXPECT_LT(max_abs_difference(dots, attention_dots_by_tensors(*adjacency, self, gradient, x)), 1e-13);
      const ScoreGradients one = scores_back_by_kernels(*adjacency, scores, attention, dots.clone());
      const ScoreGradients other = scores_back_by_tensors(*adjacency, scores, attention, dots.clone());
      EXPECT_LT(max_abs_difference(one.target, other.target), 1e-12);
      EXPECT_LT(max_abs_difference(one.source, other.source), 1e-12);
    }
  }
}

}  // namespace
}  // namespace l0gm
