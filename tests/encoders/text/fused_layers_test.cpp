// Layers in few kernels are the layers themselves; they run on a GPU, and without one there is nothing to compare.
#include "encoders/text/fused_layers.h"

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "batches/text/text_batches.h"
#include "encoders/text/gather_rows.h"
#include "encoders/text/transformer.h"

namespace l0gm {
namespace {

const torch::Device gpu(torch::kCUDA);

class FusedOnDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (!at::hasCUDA()) GTEST_SKIP() << "no GPU here";
  }
};

TransformerConfig small_config(int64_t hidden, int64_t heads, double dropout) {
  TransformerConfig config;
  config.vocabulary = 500, config.hidden = hidden, config.layers = 3, config.heads = heads, config.intermediate = 2 * hidden;
  config.positions = 64, config.token_types = 2;
  config.hidden_dropout = config.attention_dropout = dropout;
  config.initial_range = 0.1;
  return config;
}

TextBatch some_texts() {
  std::vector<std::vector<int32_t>> texts;
  for (int32_t i = 0; i < 40; ++i) {
    texts.emplace_back();
    for (int32_t j = 0; j < 3 + i * 7 % 50; ++j) texts.back().push_back((i * 131 + j * j * 17) % 500);
  }
  const std::vector<std::span<const int32_t>> spans(texts.begin(), texts.end());
  TextBatch batch = make_text_batch(spans, gpu);
  batch.example_ids = at::arange(40, at::TensorOptions(torch::kInt64).device(gpu));
  return batch;
}

double relative_difference(const torch::Tensor& a, const torch::Tensor& b) {
  const torch::Tensor first = a.to(torch::kFloat64), second = b.to(torch::kFloat64);
  return ((first - second).norm() / (second.norm() + 1e-12)).item<double>();
}

struct Computed {
  torch::Tensor states;
  std::vector<std::pair<std::string, torch::Tensor>> gradients;
};

Computed compute(Transformer& transformer, const TextBatch& batch, torch::Dtype type, bool fused, bool training,
                 const std::vector<LayerGates>& gates = std::vector<LayerGates>(3)) {
  const GatePass pass({}, 7, 3, batch.example_ids);
  const LayerPass layer_pass{batch, pass, training ? batch.token_ids() : torch::Tensor(), type};
  torch::Tensor x = transformer.embed(layer_pass);
  if (fused) {
    x = transformer.first_layers(3, x, layer_pass, {}, gates);
  } else {
    for (int64_t i = 0; i < 3; ++i) x = transformer.layer(i, x, layer_pass, {}, false, gates[static_cast<size_t>(i)]);
  }
  Computed result{x.detach(), {}};
  for (torch::Tensor& parameter : transformer.parameters()) parameter.mutable_grad() = torch::Tensor();
  (x * at::sin(at::arange(x.numel(), x.options())).view(x.sizes())).sum().backward();
  for (const auto& item : transformer.named_parameters()) result.gradients.emplace_back(item.key(), item.value().grad());
  return result;
}

TEST_F(FusedOnDevice, LayersAndGradientsAreThoseOfSingleLayers) {
  const TextBatch batch = some_texts();
  for (const double dropout : {0.0, 0.1}) {
    for (const int64_t hidden : {64, 384, 1024}) {
      at::manual_seed(5);
      Transformer transformer(small_config(hidden, hidden / 32, dropout));
      transformer.draw_weights();
      transformer.to(gpu);
      const Computed exact = compute(transformer, batch, torch::kFloat32, false, true);
      const Computed plain = compute(transformer, batch, torch::kBFloat16, false, true);
      const Computed fused = compute(transformer, batch, torch::kBFloat16, true, true);
      // With dropout the exact one draws other attention weights: the two roundings are compared with each other.
      const double allowed = dropout > 0 ? 0.02 : 1.5 * relative_difference(plain.states, exact.states) + 1e-3;
      EXPECT_LT(relative_difference(fused.states, dropout > 0 ? plain.states : exact.states), allowed)
          << hidden << " " << dropout;
      for (size_t i = 0; i < plain.gradients.size(); ++i) {
        const auto& [name, gradient] = plain.gradients[i];
        const torch::Tensor wanted = dropout > 0 ? gradient : exact.gradients[i].second;
        const double limit = dropout > 0 ? 0.04 : 1.5 * relative_difference(gradient, wanted) + 1e-3;
        // Adding a number to all keys changes nothing: the gradient of their bias is rounding alone.
        if (name.ends_with("qkv.bias")) continue;
        EXPECT_LT(relative_difference(fused.gradients[i].second, wanted), limit) << name << " " << hidden << " " << dropout;
      }
    }
  }
}

// Factors of heads and neurons, a layer that counts in part, heads and neurons that are left out.
TEST_F(FusedOnDevice, GatedLayersAreThoseOfSingleLayers) {
  const TextBatch batch = some_texts();
  at::manual_seed(5);
  Transformer transformer(small_config(128, 4, 0));
  transformer.draw_weights();
  transformer.to(gpu);
  const auto real = at::TensorOptions(torch::kFloat32).device(gpu);
  const auto indices = [](const std::vector<int64_t>& values) { return at::tensor(values, torch::kInt64).to(gpu); };
  std::vector<LayerGates> gates(3);
  gates[0].heads = at::rand({4}, real).requires_grad_();
  gates[0].neurons = at::rand({256}, real).requires_grad_();
  gates[1].layer = at::full({}, 0.3, real).requires_grad_();
  gates[2].kept_heads = indices({0, 3});
  gates[2].kept_neurons = at::arange(0, 256, 4, at::TensorOptions(torch::kInt64).device(gpu));
  const auto factors = [&] {
    const torch::Tensor all = at::cat({gates[0].heads.grad(), gates[0].neurons.grad(), gates[1].layer.grad().view({1})}).clone();
    for (torch::Tensor* of : {&gates[0].heads, &gates[0].neurons, &gates[1].layer}) of->mutable_grad() = torch::Tensor();
    return all;
  };
  const Computed plain = compute(transformer, batch, torch::kBFloat16, false, true, gates);
  const torch::Tensor of_plain = factors();
  const Computed fused = compute(transformer, batch, torch::kBFloat16, true, true, gates);
  EXPECT_LT(relative_difference(factors(), of_plain), 0.03);
  EXPECT_LT(relative_difference(fused.states, plain.states), 0.02);
  for (size_t i = 0; i < plain.gradients.size(); ++i) {
    if (plain.gradients[i].first.ends_with("qkv.bias")) continue;
    EXPECT_LT(relative_difference(fused.gradients[i].second, plain.gradients[i].second), 0.04) << plain.gradients[i].first;
  }
  torch::InferenceMode inference;
  std::vector<LayerGates> fixed = gates;
  const GatePass pass({}, 7, 3, batch.example_ids);
  const LayerPass layer_pass{batch, pass, {}, torch::kBFloat16};
  const torch::Tensor on_the_fly = transformer.first_layers(3, transformer.embed(layer_pass), layer_pass, {}, fixed);
  EXPECT_LT(relative_difference(on_the_fly, plain.states), 0.02);
}

TEST_F(FusedOnDevice, WithoutGradientTheSameAndChangedWeightsAreNoticed) {
  const TextBatch batch = some_texts();
  at::manual_seed(5);
  Transformer transformer(small_config(128, 4, 0.1));
  transformer.draw_weights();
  transformer.to(gpu);
  const GatePass pass({}, 7, 3, batch.example_ids);
  const LayerPass layer_pass{batch, pass, {}, torch::kBFloat16};
  torch::Tensor first;
  {
    torch::InferenceMode inference;
    first = transformer.forward(layer_pass);
  }
  const torch::Tensor with_gradient = transformer.forward(layer_pass).detach();
  EXPECT_LT(relative_difference(first, with_gradient), 0.02);
  {
    torch::NoGradGuard no_grad;
    transformer.layers[0]->feed_forward->in->weight.mul_(0.5);
  }
  torch::InferenceMode inference;
  EXPECT_GT(relative_difference(transformer.forward(layer_pass), first), 0.03);
}

TEST_F(FusedOnDevice, RowsAreGatheredAndTheirGradientsSummed) {
  at::manual_seed(1);
  const torch::Tensor rows = at::randn({50, 70}).requires_grad_(), index = at::randint(50, {900}), probe = at::randn({900, 70});
  (gather_rows(rows, index) * probe).sum().backward();
  const torch::Tensor there = rows.detach().to(gpu).requires_grad_();
  const torch::Tensor gathered = gather_rows(there, index.to(gpu));
  EXPECT_TRUE(at::equal(gathered.detach().cpu(), rows.detach().index_select(0, index)));
  (gathered * probe.to(gpu)).sum().backward();
  EXPECT_LT((there.grad().cpu() - rows.grad()).abs().max().item<double>(), 1e-4);
}

}  // namespace
}  // namespace l0gm
