#include "gate/gate_sampling.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <cmath>

#include "gate/gate_kernels.h"
#include "gate/toy_hard_concrete.h"

// One pass of our own each way against the formulas in tensor operations and double precision.
namespace l0gm {
namespace {

using namespace testing_tools;

torch::Tensor some(at::IntArrayRef shape, uint64_t seed) {
  at::manual_seed(seed);
  return at::randn(shape, torch::kFloat32);
}

struct Outcome {
  torch::Tensor value, gates, of_r, of_logits;
};

// A loss that reads value and gates, or one of them.
template <class Sampler>
Outcome outcome(const Sampler& sampler, const torch::Tensor& r, const torch::Tensor& logits, const GateSampling& how,
                bool read_value, bool read_gates) {
  const torch::Tensor rows = r.defined() ? r.detach().clone().requires_grad_(true) : r;
  const torch::Tensor own = logits.detach().clone().requires_grad_(true);
  const GateSample sample = sampler(rows, own, how);
  torch::Tensor loss = at::zeros({}, logits.options());
  if (read_value) loss = loss + (sample.value * some(sample.value.sizes(), 7).to(loss.scalar_type())).sum();
  if (read_gates) loss = loss + (sample.gates * some(sample.gates.sizes(), 8).to(loss.scalar_type())).sum();
  loss.backward();
  return {sample.value, sample.gates, rows.defined() ? rows.grad() : torch::Tensor(), own.grad()};
}

double relative_error(const torch::Tensor& found, const torch::Tensor& wanted) {
  return (found.to(torch::kFloat64) - wanted).norm().item<double>() / (wanted.norm().item<double>() + 1e-30);
}

void expect_alike(const Outcome& found, const Outcome& wanted) {
  if (wanted.value.defined()) {
    EXPECT_LT(largest_difference(found.value, wanted.value), 1e-5);
  }
  EXPECT_LT(largest_difference(found.gates, wanted.gates), 3e-6);
  EXPECT_TRUE(at::equal(found.gates.eq(0), wanted.gates.eq(0))) << "closed is exactly 0";
  EXPECT_TRUE(at::equal(found.gates.eq(1), wanted.gates.eq(1))) << "open is exactly 1";
  EXPECT_EQ(found.of_r.defined(), wanted.of_r.defined());
  if (wanted.of_r.defined()) {
    EXPECT_LT(relative_error(found.of_r, wanted.of_r), 2e-5);
  }
  EXPECT_GT(wanted.of_logits.abs().max().item<double>(), 1e-3) << "a gradient of zero proves nothing";
  EXPECT_LT(relative_error(found.of_logits, wanted.of_logits), 2e-5);
}

TEST(GateSampling, IsTheFormulasInTensorOperations) {
  constexpr int64_t rows = 70;
  for (const int64_t width : {1, 3, 8, 37, 130}) {
    for (const bool by_element : {false, true}) {
      for (const bool top_k : {false, true}) {
        SCOPED_TRACE(fmt::format("width {} by element {} top-k {}", width, by_element, top_k));
        const torch::Tensor r = some({rows, width}, 1);
        const torch::Tensor logits = by_element ? some({rows, width}, 2) : some({width}, 2);
        GateSampling how{0.7, -0.1, 1.1, 99, ids(1000, 1000 + rows), {}};
        if (top_k) how.keep = some(logits.sizes(), 3).gt(-0.3).to(torch::kFloat32);
        GateSampling exact = how;
        if (top_k) exact.keep = how.keep.to(torch::kFloat64);
        for (const auto& [value, gates] : {std::pair{true, true}, std::pair{true, false}, std::pair{false, true}}) {
          const Outcome wanted =
              outcome(sample_gates_by_tensors, r.to(torch::kFloat64), logits.to(torch::kFloat64), exact, value, gates);
          expect_alike(outcome(sample_gates, r, logits, how, value, gates), wanted);
        }
        const Outcome alone = outcome(sample_gates_by_tensors, {}, logits.to(torch::kFloat64), exact, false, true);
        expect_alike(outcome(sample_gates, {}, logits, how, false, true), alone);
      }
    }
  }
}

TEST(GateSampling, AMaskOfUnitsGoesWithLogitsOfExamples) {
  const torch::Tensor r = some({9, 5}, 1), logits = some({9, 5}, 2);
  GateSampling how{0.7, -0.1, 1.1, 99, ids(0, 9), at::tensor(std::vector<float>{1, 0, 1, 0, 1})};
  GateSampling exact = how;
  exact.keep = how.keep.to(torch::kFloat64);
  const Outcome wanted = outcome(sample_gates_by_tensors, r.to(torch::kFloat64), logits.to(torch::kFloat64), exact, true, true);
  expect_alike(outcome(sample_gates, r, logits, how, true, true), wanted);
}

TEST(GateSampling, ExtremeTemperaturesAndLogitsStayFinite) {
  const torch::Tensor logits = at::tensor(std::vector<float>{-80, -20, 0, 20, 80});
  for (const double tau : {0.01, 0.5, 10.0}) {
    const GateSampling how{tau, -0.1, 1.1, 5, ids(0, 50), {}};
    const torch::Tensor gates = sample_gates({}, logits, how).gates,
                        wanted = sample_gates_by_tensors({}, logits.to(torch::kFloat64), how).gates;
    EXPECT_LT(largest_difference(gates, wanted), 1e-4)
        << tau;  // at .01 a rounded number of the noise is a hundred times as large
  }
}

TEST(GateSampling, NotANumberStaysOne) {
  const torch::Tensor logits = at::tensor(std::vector<float>{0.3F, NAN, 0.5F});
  const torch::Tensor gates = sample_gates({}, logits, {0.7, -0.1, 1.1, 5, ids(0, 4), {}}).gates;
  EXPECT_TRUE(gates.select(1, 1).isnan().all().item<bool>());
  EXPECT_FALSE(gates.select(1, 0).isnan().any().item<bool>());
}

TEST(GateSampling, ThreadsDoNotChangeAnything) {
  const int before = at::get_num_threads();
  const torch::Tensor r = some({3001, 65}, 1), logits = some({65}, 2);
  const GateSampling how{0.7, -0.1, 1.1, 99, ids(0, 3001), {}};
  std::vector<Outcome> found;
  for (const int threads : {1, 3, 8}) {
    at::set_num_threads(threads);
    found.push_back(outcome(sample_gates, r, logits, how, true, true));
  }
  at::set_num_threads(before);
  for (const Outcome& other : found) {
    EXPECT_TRUE(at::equal(other.value, found[0].value));
    EXPECT_TRUE(at::equal(other.of_r, found[0].of_r));
    EXPECT_TRUE(at::equal(other.of_logits, found[0].of_logits));
  }
}

TEST(GateSampling, NoRows) {
  const torch::Tensor logits = some({4}, 1).requires_grad_(true);
  const GateSample sample = sample_gates(some({0, 4}, 2), logits, {0.7, -0.1, 1.1, 99, ids(0, 0), {}});
  EXPECT_EQ(sample.value.sizes(), (std::vector<int64_t>{0, 4}));
  sample.value.sum().backward();
  EXPECT_TRUE(at::equal(logits.grad(), at::zeros({4})));
}

// The gate itself in float32, which takes this path, against the same in float64, which does not.
TEST(GateSampling, GatesOfEveryKindAreThoseOfDoublePrecision) {
  constexpr int64_t rows = 40, width = 12;
  const torch::Tensor groups = at::tensor(std::vector<int64_t>{0, 2, 2, 1, 0, 1, 1, 2, 0, 0, 1, 2}, torch::kInt64);
  at::manual_seed(4);
  const torch::Tensor fine = at::randint(0, 9, {rows, width}, torch::kInt64);
  struct Kind {
    const char* name;
    int64_t units;
    torch::Tensor index;
    LogitKind logits;
  };
  const std::vector<Kind> kinds = {{"dimension", width, {}, LogitKind::global},
                                   {"group", 3, groups, LogitKind::global},
                                   {"fine", 9, fine, LogitKind::global},
                                   {"instance", width, {}, LogitKind::instance},
                                   {"instance groups", 3, groups, LogitKind::instance}};
  for (const Kind& kind : kinds) {
    for (const Noise noise : {Noise::example, Noise::batch}) {
      for (const double keep : {1.0, 0.5}) {
        SCOPED_TRACE(fmt::format("{} noise {} keep {}", kind.name, name_of_enum(noise), keep));
        GateOptions options;
        options.noise = noise;
        options.logits = kind.logits;
        GateState state = anneal(0.8);
        state.keep = keep;
        HardConcrete exact = gate_with(options, some({kind.units}, 5), {}, width);
        HardConcrete gate(options, at::ones({kind.units}), width);
        {
          torch::NoGradGuard no_grad;
          for (auto& item : gate->named_parameters()) item.value().copy_(exact->named_parameters()[item.key()]);
          for (auto& item : exact->named_parameters()) item.value().copy_(gate->named_parameters()[item.key()]);
        }
        const Draw draw{3, 14, 1, ids(100, 100 + rows)};
        const auto run = [&](HardConcrete& which, torch::Dtype dtype) {
          const torch::Tensor r = some({rows, width}, 1).to(dtype).requires_grad_(true);
          const Gated gated = which->forward(r, state, draw, kind.index);
          ((gated.value * some({rows, width}, 7).to(dtype)).sum() + 0.3 * gated.gates.square().sum()).backward();
          return Outcome{gated.value, gated.gates, r.grad(), which->logits().grad()};
        };
        expect_alike(run(gate, torch::kFloat32), run(exact, torch::kFloat64));
      }
    }
  }
}

TEST(GateKernels, EveryInstructionSetComputesTheSame) {
  constexpr int64_t count = 103;
  const torch::Tensor logits = some({count}, 1), r = some({count}, 2), of_value = some({count}, 3), of_kept = some({count}, 4);
  at::manual_seed(5);
  const torch::Tensor u = at::rand({count}).clamp(1e-6, 1 - 1e-6), keep = at::rand({count}).gt(0.3).to(torch::kFloat32);
  const GateNumbers numbers{1 / 0.7F, -0.1F, 1.1F};
  std::vector<torch::Tensor> first;
  for (const GateKernels& kernels : usable_gate_kernels()) {
    SCOPED_TRACE(kernels.name);
    std::vector<torch::Tensor> made;
    for (int i = 0; i < 5; ++i) made.push_back(at::full({count}, NAN, torch::kFloat32));
    const auto in = [](const torch::Tensor& tensor) { return tensor.const_data_ptr<float>(); };
    const auto out = [&](size_t i) { return made[i].data_ptr<float>(); };
    kernels.forward(numbers, count, in(logits), in(u), in(keep), in(r), out(0), out(1), out(2));
    kernels.backward(numbers, count, in(made[0]), in(keep), in(r), in(of_value), in(of_kept), out(3), out(4));
    if (first.empty()) first = made;
    for (size_t i = 0; i < made.size(); ++i) EXPECT_LT(largest_difference(made[i], first[i]), 1e-6) << i;
  }
  ASSERT_FALSE(first.empty());
}

}  // namespace
}  // namespace l0gm
