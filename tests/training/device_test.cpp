// What a GPU computes is what the processor computes; without a GPU there is nothing to compare.
#include <ATen/Context.h>
#include <ATen/Functions.h>

#include "batches/graph/thinned_edges.h"
#include "encoders/graph/channel_norm.h"
#include "encoders/graph/row_product.h"
#include "encoders/graph/toy_blocks.h"
#include "gate/counter_dropout.h"
#include "gate/gate_sampling.h"
#include "gate/noise.h"
#include "heads/largest_gates.h"
#include "training/graph/graph_run.h"
#include "training/tiny_run.h"

namespace l0gm {
namespace {

using testing_tools::toy_block;
using testing_tools::ToyBlock;
using testing_tools::Watcher;

const torch::Device gpu(torch::kCUDA);

class OnDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (!at::hasCUDA()) GTEST_SKIP() << "no GPU here";
  }
};

torch::Tensor some(at::IntArrayRef shape, uint64_t seed) {
  at::manual_seed(seed);
  return at::randn(shape);
}

double largest_difference(const torch::Tensor& a, const torch::Tensor& b) {
  return (a.cpu() - b.cpu()).abs().max().item<double>();
}

TEST_F(OnDevice, SumsOverNeighbours) {
  for (const bool weighted : {false, true}) {
    for (const bool own : {false, true}) {
      const auto block =
          toy_block({.targets = 211, .sources = 300, .density = 0.1, .weighted = weighted, .own = own, .symmetric = false});
      const auto host = Adjacency::of(block, torch::kCPU, torch::kFloat32), device = Adjacency::of(block, gpu, torch::kFloat32);
      for (const int64_t width : {1, 3, 32, 100, 256, 257}) {
        for (const bool transposed : {false, true}) {
          const int64_t rows = transposed ? 300 : 211, read = transposed ? 211 : 300;
          const RowProduct product{transposed, {}, some({rows}, 1), some({read}, 2), some({211}, 3)};
          const RowProduct there{transposed, {}, product.target.to(gpu), product.source.to(gpu), product.self.to(gpu)};
          const torch::Tensor x = some({read, 1, width}, 4), wanted = row_product(*host, product, x);
          EXPECT_LT(largest_difference(row_product(*device, there, x.to(gpu)), wanted), 1e-4)
              << width << transposed << weighted << own;
          const double rounded = largest_difference(row_product_bfloat16(*device, there, x.to(gpu)), wanted);
          EXPECT_LT(rounded, 0.05 * wanted.abs().max().item<double>()) << width << transposed;
          EXPECT_GT(rounded, 0) << "messages are bfloat16";
        }
      }
    }
  }
}

// Rows longer than a segment, rows of many lengths: by the plan, without it, and by the plan of the graph that edges were picked
// from.
TEST_F(OnDevice, SumsOfLongRows) {
  const auto block = toy_block({.targets = 60, .sources = 60, .density = 0.4, .symmetric = false});
  auto longer = std::make_shared<MessageBlock>(*block);
  std::vector<int64_t> offsets = {0};
  std::vector<int32_t> neighbours;
  for (int64_t row = 0; row < 60; ++row) {
    for (int64_t i = 0; i < row * row; ++i) neighbours.push_back(static_cast<int32_t>((i * 7 + row) % 60));
    offsets.push_back(static_cast<int64_t>(neighbours.size()));
  }
  longer->offsets = offsets;
  longer->neighbours = neighbours;
  const auto host = Adjacency::of(longer, torch::kCPU, torch::kFloat64), plain = Adjacency::of(longer, gpu, torch::kFloat32),
             planned = Adjacency::of(longer, gpu, torch::kFloat32);
  planned->plan_sums();
  ASSERT_GT(planned->row_plan(false)->segments, planned->row_plan(false)->cut_rows);
  at::manual_seed(9);
  const torch::Tensor keep = at::rand({planned->edges()}).gt(0.3).to(gpu);
  const auto picked = keep_edges(planned, keep), picked_plain = keep_edges(plain, keep);
  ASSERT_EQ(picked->row_plan(false), planned->row_plan(false));
  for (const int64_t width : {3, 4, 64, 72, 200, 512}) {
    for (const bool transposed : {false, true}) {
      const RowProduct product{transposed, {}, some({60}, 1).to(torch::kFloat64), some({60}, 2).to(torch::kFloat64), {}};
      const RowProduct there{
          transposed, {}, product.target.to(gpu, torch::kFloat32), product.source.to(gpu, torch::kFloat32), {}};
      const torch::Tensor x = some({60, 1, width}, 4).to(torch::kFloat64), on_device = x.to(gpu, torch::kFloat32);
      const torch::Tensor wanted = row_product(*host, product, x), first = row_product(*planned, there, on_device);
      const double size = wanted.abs().max().item<double>();
      EXPECT_LT(largest_difference(first.to(torch::kFloat64), wanted), 1e-5 * size) << width << transposed;
      EXPECT_LT(largest_difference(row_product(*plain, there, on_device).to(torch::kFloat64), wanted), 1e-5 * size) << width;
      for (int again = 0; again < 3; ++again)
        EXPECT_TRUE(at::equal(first, row_product(*planned, there, on_device))) << "sums are the same every time";
      EXPECT_LT(largest_difference(row_product(*picked, there, on_device), row_product(*picked_plain, there, on_device)),
                1e-5 * size);
    }
  }
}

TEST_F(OnDevice, GatesAreThoseOfTheProcessor) {
  for (const int64_t width : {1, 5, 64, 300}) {
    for (const bool by_element : {false, true}) {
      for (const bool top_k : {false, true}) {
        const torch::Tensor r = some({301, width}, 1), mix = some({301, width}, 3);
        const torch::Tensor logits = by_element ? some({301, width}, 2) : some({width}, 2);
        GateSampling how{0.7, -0.1, 1.1, 99, at::arange(1000, 1301, torch::kInt64), {}};
        if (top_k) how.keep = some(logits.sizes(), 4).gt(-0.3).to(torch::kFloat32);
        const auto run = [&](torch::Device device) {
          const auto leaf = [&](const torch::Tensor& x) { return x.clone().to(device).requires_grad_(true); };
          const torch::Tensor rows = leaf(r), own = leaf(logits);
          GateSampling there = how;
          if (top_k) there.keep = how.keep.to(device);
          const GateSample sample = sample_gates(rows, own, there);
          ((sample.value * mix.to(device)).sum() + sample.gates.square().sum()).backward();
          return std::vector<torch::Tensor>{sample.value, sample.gates, rows.grad(), own.grad()};
        };
        const auto here = run(torch::kCPU), there = run(gpu), again = run(gpu);
        for (size_t i = 0; i < here.size(); ++i) {
          EXPECT_LT(largest_difference(here[i], there[i]), 1e-4 * (1 + here[i].abs().max().item<double>())) << i << " " << width;
          EXPECT_TRUE(at::equal(there[i], again[i])) << i;
        }
      }
    }
  }
}

TEST_F(OnDevice, LargestGatesAreThoseOfTheProcessor) {
  SourcesOfDimensions here({0, 2, 2, 0, 3, 2, 0}, 4);
  SourcesOfDimensions there = here;
  there.offsets = here.offsets.to(gpu);
  there.dimensions = here.dimensions.to(gpu);
  const torch::Tensor gates = some({500, 7}, 1).clamp(0, 1), mix = some({500, 4}, 2);  // many are equal
  const torch::Tensor a = gates.clone().requires_grad_(true), b = gates.to(gpu).requires_grad_(true);
  const torch::Tensor found = largest_gates(b, there), wanted = largest_gates(a, here);
  EXPECT_TRUE(at::equal(found.cpu(), wanted));
  (found * mix.to(gpu)).sum().backward();
  (wanted * mix).sum().backward();
  EXPECT_LT(largest_difference(a.grad(), b.grad()), 1e-6);
}

TEST_F(OnDevice, NormActivationAndDropoutAreThoseOfTheProcessor) {
  for (const int64_t width : {4, 7, 36, 128, 256, 516, 1024, 1028}) {
    for (const double share : {0.0, 0.4}) {
      ChannelNorm norm(Norm::layer, width);
      at::manual_seed(3);
      {
        torch::NoGradGuard no_grad;
        for (torch::Tensor& parameter : norm.parameters()) parameter.normal_();
      }
      const torch::Tensor x = 3 * some({301, width}, 5) + 2, mix = some({301, width}, 6),
                          nodes = at::arange(7, 308, torch::kInt64);
      const auto run = [&](torch::Device device) {
        norm.to(device);
        norm.zero_grad();
        const torch::Tensor rows = x.clone().to(device).requires_grad_(true);
        const torch::Tensor y = norm.forward_relu(rows, share > 0 ? RowDropout{share, 11, nodes.to(device)} : RowDropout{});
        (y * mix.to(device)).sum().backward();
        std::vector<torch::Tensor> made = {y.detach().cpu(), rows.grad().cpu()};
        for (const torch::Tensor& parameter : norm.parameters()) made.push_back(parameter.grad().cpu().clone());
        return made;
      };
      const auto here = run(torch::kCPU), there = run(gpu), again = run(gpu);
      for (size_t i = 0; i < here.size(); ++i) {
        EXPECT_LT(largest_difference(here[i], there[i]), 1e-4 * (1 + here[i].abs().max().item<double>())) << i << " " << width;
        EXPECT_TRUE(at::equal(there[i], again[i])) << i << " " << width;
      }
      torch::NoGradGuard no_grad;  // the same without a gradient
      const torch::Tensor on_device = norm.forward_relu(x.to(gpu));
      norm.to(torch::kCPU);
      EXPECT_LT(largest_difference(on_device, norm.forward_relu(x)), 1e-4) << width;
    }
  }
}

TEST_F(OnDevice, DrawsAreTheSameNumbers) {
  const Draw here{5, 2, 77, at::tensor(std::vector<int64_t>{9, 0, 123456789012, 4, 9, 31}, torch::kInt64)};
  const Draw there{5, 2, 77, here.example_ids.to(gpu)};
  EXPECT_TRUE(at::equal(uniform_noise(here, 37, torch::kCPU), uniform_noise(there, 37, gpu).cpu()));
  const torch::Tensor x = some({6, 37}, 1);
  EXPECT_TRUE(at::equal(counter_dropout(x, 0.3, here), counter_dropout(x.to(gpu), 0.3, there).cpu()));
}

TEST_F(OnDevice, ARunEndsWhereTheProcessorsEnds) {
  const std::vector<std::vector<std::string>> kinds = {{"model.name=gcn"},
                                                       {"model.name=sage"},
                                                       {"model.name=gat"},
                                                       {"model.name=gcn", "gate.attach=input"},
                                                       {"model.name=sage", "graph.sampler=neighbour"},
                                                       {"model.name=gcn", "graph.task=links"}};
  for (const auto& kind : kinds) {
    const TemporaryFolder folder;
    const auto path = folder.write(
        "graph.toml",
        "[data]\nsource = 'planted-graph'\nrows = 300\n[model]\nhidden = 16\ndepth = 2\n[gate]\ntarget_active = 0.5\n"
        "[train]\nepochs = 12\nbatch = 24\nlr = 0.01\nema = 0.5\n");
    std::vector<double> losses;
    for (const char* device : {"cpu", "cuda"}) {
      Watcher watcher;
      const Machine machine = prepare_machine(device, 1, true);
      train(modalities(), read_config(path, kind), folder.path() / device, false, machine, {&watcher}, watcher.stop);
      losses.push_back(
          GraphRun(folder.path() / device, machine).folder.read_json(folder.path() / device / "summary.json")["best_valid_nll"]);
    }
    EXPECT_NEAR(losses[0], losses[1], 0.01) << kind[0] << (kind.size() > 1 ? kind[1] : "");
  }
}

// Steps that are replayed, as they are, and stopped in between, end in the same bytes; without live numbers close by.
TEST_F(OnDevice, ReplayedStepsAreThoseOfTheirKernels) {
  const std::vector<std::vector<std::string>> kinds = {
      {"gate.target_active=0.25"}, {"gate.lambda=0.01"}, {"gate.unit=none"}, {"gate.k=9"}, {"gate.unit=group", "gate.target_active=0.3"},
      {"model.name=deepfm", "gate.target_active=0.3"}, {"model.members=4", "gate.target_active=0.3"},
      {"gate.logits=static", "gate.static_by=random", "gate.test_rule=median", "gate.k=9"}};
  const Machine machine = prepare_machine("cuda", 1, true);
  for (const auto& kind : kinds) {
    const TemporaryFolder folder;
    const auto end = [&](const std::string& name, bool capture, int64_t stop_at) {
      std::vector<std::string> settings = kind;
      settings.push_back(capture ? "train.capture=true" : "train.capture=false");
      const Config config = testing_tools::tiny_config(settings);
      Watcher watcher, again;
      watcher.stop_at = stop_at;
      if (!train(modalities(), config, folder.path() / name, false, machine, {&watcher}, watcher.stop))
        train(modalities(), config, folder.path() / name, true, machine, {&again}, again.stop);
      return testing_tools::result_of(folder.path() / name);
    };
    const auto whole = end("whole", true, -1), stopped = end("stopped", true, 17), plain = end("plain", false, -1);
    EXPECT_EQ(testing_tools::differences(whole, stopped), std::vector<std::string>{}) << kind[0];
    const auto loss = [](const auto& result) { return nlohmann::json::parse(result.at("summary"))["best_valid_nll"].template get<double>(); };
    EXPECT_NEAR(loss(whole), loss(plain), 0.01) << kind[0];
  }
}

TEST_F(OnDevice, DenseProductsOfOtherPrecisionsEndNearby) {
  const TemporaryFolder folder;
  const auto path = folder.write(
      "graph.toml",
      "[data]\nsource = 'planted-graph'\nrows = 300\n[model]\nname = 'gcn'\nhidden = 16\ndepth = 2\n[gate]\ntarget_active = 0.5\n"
      "[train]\nepochs = 12\nlr = 0.01\nema = 0.5\n");
  std::vector<double> losses;
  for (const std::string precision : {"float32", "tf32", "bfloat16"}) {
    Watcher watcher;
    const Machine machine = prepare_machine("cuda", 1, true);
    train(modalities(), read_config(path, {"train.matmul=" + precision}), folder.path() / precision, false, machine, {&watcher},
          watcher.stop);
    losses.push_back(GraphRun(folder.path() / precision, machine)
                         .folder.read_json(folder.path() / precision / "summary.json")["best_valid_nll"]);
  }
  EXPECT_NEAR(losses[1], losses[0], 0.02);
  EXPECT_NEAR(losses[2], losses[0], 0.05);
  EXPECT_NE(losses[2], losses[0]) << "products are rounded";
}

}  // namespace
}  // namespace l0gm
