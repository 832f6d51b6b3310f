#include "heads/cin.h"

#include "heads/fm.h"
#include "heads/head_tools.h"

namespace l0gm {
namespace {

using namespace testing_tools;

// The definition as a triple sum, in float64: maps [examples, all maps], each summed over coordinates.
torch::Tensor by_the_definition(const CinHead& head, const torch::Tensor& interface, const HeadShape& shape,
                                const std::vector<int64_t>& maps, int64_t rank) {
  const auto parameters = head.named_parameters();
  const int64_t examples = interface.size(0), fields = shape.fields, width = shape.width;
  const torch::Tensor base = interface.narrow(1, 0, fields * width).view({examples, fields, width});
  torch::Tensor previous = base;
  std::vector<torch::Tensor> sums;
  for (size_t k = 0; k < maps.size(); ++k) {
    const auto weight = [&](int64_t h, int64_t i, int64_t j) {
      if (rank == 0) return parameters["weight" + std::to_string(k)][j][i][h].item<double>();
      double sum = 0;
      for (int64_t l = 0; l < rank; ++l) {
        sum += parameters["left" + std::to_string(k)][i][h * rank + l].item<double>() *
               parameters["right" + std::to_string(k)][j][h * rank + l].item<double>();
      }
      return sum;
    };
    torch::Tensor next = at::zeros({examples, maps[k], width}, torch::kFloat64);
    for (int64_t h = 0; h < maps[k]; ++h) {
      for (int64_t i = 0; i < previous.size(1); ++i) {
        for (int64_t j = 0; j < fields; ++j) next.select(1, h).add_(previous.select(1, i) * base.select(1, j), weight(h, i, j));
      }
    }
    sums.push_back(next.sum(2));
    previous = next;
  }
  return at::cat(sums, 1);
}

TEST(CinHead, EqualsItsTripleSum) {
  const std::vector<int64_t> maps = {5, 3, 2};
  for (const int64_t rank : {0, 1, 3}) {
    const HeadShape shape = shape_of(4, 3, 2);
    CinHead head(shape, maps, rank);
    to_double(head);
    const torch::Tensor x = random_interface(shape, 6);
    EXPECT_LT(largest_difference(head.pooled(x), by_the_definition(head, x, shape, maps, rank)), 1e-12) << "rank " << rank;
  }
}

TEST(CinHead, EqualsItsTripleSumWhereFieldsAreTakenSeveralAtATime) {
  const HeadShape shape = shape_of(67, 2);  // maps of 3: 42 fields at a time
  CinHead head(shape, {3, 3}, 0);
  to_double(head);
  const torch::Tensor x = random_interface(shape, 2) * 0.2;
  EXPECT_LT(largest_difference(head.pooled(x), by_the_definition(head, x, shape, {3, 3}, 0)), 1e-11);
}

// Depth 1, width 1: W_ij = 1 for i < j is FM's pairwise sum; all ones is twice that and the squares.
TEST(CinHead, ReducesToFm) {
  const HeadShape shape = shape_of(5, 4);
  CinHead head(shape, {1}, 0);
  to_double(head);
  FmHead fm(shape, false);
  torch::NoGradGuard no_grad;
  auto parameters = head.named_parameters();
  parameters["output"].fill_(1);
  parameters["weight0"].zero_();
  for (int64_t i = 0; i < 5; ++i) {
    for (int64_t j = i + 1; j < 5; ++j) parameters["weight0"][j][i][0] = 1;
  }
  const torch::Tensor x = random_interface(shape, 7), pairs = logits_of(fm, x);
  EXPECT_LT(largest_difference(logits_of(head, x), pairs), 1e-12);
  parameters["weight0"].fill_(1);
  EXPECT_LT(largest_difference(logits_of(head, x), 2 * pairs + x.square().sum(1).view({7, 1, 1})), 1e-12);
}

TEST(CinHead, DepthKIsHomogeneousOfDegreeKPlusOne) {
  const HeadShape shape = shape_of(4, 3);
  for (const int64_t rank : {0, 2}) {
    CinHead head(shape, {3, 3, 3}, rank);
    to_double(head);
    const torch::Tensor x = random_interface(shape, 3), once = head.pooled(x), scaled = head.pooled(x * 1.5);
    for (int64_t k = 0; k < 3; ++k) {
      EXPECT_LT(largest_difference(scaled.narrow(1, 3 * k, 3), once.narrow(1, 3 * k, 3) * std::pow(1.5, k + 2)), 1e-11);
    }
  }
}

TEST(CinHead, WorksPerCoordinateOnTheFieldsOpenThere) {
  const HeadShape shape = shape_of(3, 2);
  CinHead head(shape, {4}, 0);
  to_double(head);
  torch::Tensor x = random_interface(shape, 2);
  // Coordinate 0 is open in fields 0 and 1, coordinate 1 in field 2: what field 2 holds at 0 must not matter.
  const torch::Tensor mask = at::tensor(std::vector<double>{1, 0, 1, 0, 0, 1}, torch::kFloat64);
  torch::Tensor other = x.clone();
  other.select(1, 4).add_(3);
  EXPECT_TRUE(at::equal(head.pooled(x * mask), head.pooled(other * mask)));
  EXPECT_FALSE(at::allclose(head.pooled(x), head.pooled(other)));
}

TEST(CinHead, ParameterCounts) {
  for (const int64_t width : {2, 7}) {  // none depends on the width
    CinHead full(shape_of(6, width, 3, 2, 3), {5, 4}, 0);
    EXPECT_EQ(parameter_total(full), 5 * 6 * 6 + 4 * 5 * 6 + 9 * 2 * 3);
    EXPECT_EQ(full.parameters_with(at::ones({6 * width + 3}, torch::kBool)), parameter_total(full));
    CinHead low(shape_of(6, width), {5, 4}, 2);
    EXPECT_EQ(parameter_total(low), 2 * 5 * (6 + 6) + 2 * 4 * (5 + 6) + 9);
    EXPECT_EQ(low.parameters_with(at::ones({6 * width}, torch::kBool)), parameter_total(low));
  }
  torch::Tensor kept = at::ones({12}, torch::kBool);
  kept.narrow(0, 2, 2).fill_(false);  // one of six fields
  EXPECT_EQ(CinHead(shape_of(6, 2), {5, 4}, 0).parameters_with(kept), 5 * 5 * 5 + 4 * 5 * 5 + 9);
}

TEST(CinHead, Gradients) {
  for (const int64_t rank : {0, 2}) {
    CinHead head(shape_of(3, 2, 1, 2, 2), {3, 2}, rank);
    to_double(head);
    expect_gradients(head, random_interface(shape_of(3, 2, 1), 3));
  }
}

TEST(CinHead, MapsStartAboutAsLargeAsTheEmbeddings) {
  const HeadShape shape = shape_of(20, 16);
  for (const int64_t rank : {0, 4}) {
    CinHead head(shape, {32, 32, 32}, rank);
    const torch::Tensor x = at::randn({256, 320});
    const torch::Tensor pooled = head.pooled(x) / 4;  // the sum of 16 coordinates
    for (int64_t k = 0; k < 3; ++k) {
      const double deviation = pooled.narrow(1, 32 * k, 32).std().item<double>();
      EXPECT_GT(deviation, 0.3) << "depth " << k << ", rank " << rank;
      EXPECT_LT(deviation, 4) << "depth " << k << ", rank " << rank;
    }
  }
}

// Each factor is dropped by itself: squares and cubes are right on average, where one mask for all would make them too large by
// 1 / .6 and 1 / .36.
TEST(CinHead, DroppedFactorsLeaveTheMean) {
  const HeadShape shape = shape_of(2, 2);
  CinHead head(shape, {2, 2}, 0);
  to_double(head);
  constexpr int64_t examples = 40000;
  const torch::Tensor one = at::tensor(std::vector<double>{1, -0.5, 0.5, 2}, torch::kFloat64).view({1, 4});
  const torch::Tensor x = one.expand({examples, 4}).contiguous();
  torch::NoGradGuard no_grad;
  auto parameters = head.named_parameters();
  for (const char* name : {"weight0", "weight1"}) parameters[name].fill_(0.5);
  parameters["output"].fill_(1);
  GatePass pass(GateState{}, 3, 5, at::arange(examples, torch::kInt64));
  const double wanted = head.forward(x.narrow(0, 0, 1), Batch{}, pass).item<double>();
  const torch::Tensor dropped = head.forward_dropping(x, 0.4, Batch{}, pass);
  EXPECT_GT(dropped.std().item<double>(), 0.1 * wanted);
  EXPECT_NEAR(dropped.mean().item<double>(), wanted, 5 * dropped.std().item<double>() / 200) << "within five standard errors";
}

}  // namespace
}  // namespace l0gm
