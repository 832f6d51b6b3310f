#include "encoders/text/transformer.h"

#include <gtest/gtest.h>

#include "encoders/text/encoder_shape.h"
#include "encoders/text/reference_text.h"

namespace l0gm {
namespace {

using namespace testing_tools;

class EveryFamily : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Text, EveryFamily, ::testing::ValuesIn(reference_names()), [](const auto& family) {
  std::string name = family.param;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

TEST_P(EveryFamily, StatesAreTheReferences) {
  const TextReference reference(GetParam());
  EXPECT_LT(largest_difference(states_of(*reference_encoder(GetParam()), reference.batch), reference.expected.at("states")),
            1e-6);
  const auto single = reference_encoder(GetParam(), torch::kFloat32);
  EXPECT_LT(largest_difference(states_of(*single, reference.batch), reference.expected.at("states")), 1e-4);
}

TEST_P(EveryFamily, StatesWithoutGradientAreTheSame) {
  const TextReference reference(GetParam());
  const auto encoder = reference_encoder(GetParam(), torch::kFloat32);
  torch::InferenceMode inference;
  EXPECT_LT(largest_difference(states_of(*encoder, reference.batch), reference.expected.at("states")), 1e-4);
  // Many texts go another way, by blocks of rows.
  std::vector<std::vector<int32_t>> texts;
  for (int i = 0; i < 20; ++i) texts.insert(texts.end(), reference.texts.begin(), reference.texts.end());
  const torch::Tensor many = states_of(*encoder, batch_of(texts));
  EXPECT_EQ(many.size(0), 1000);
  EXPECT_LT(largest_difference(many, reference.expected.at("states").repeat({20, 1})), 1e-4);
}

// The gradient of sum(probe * mean state of each text), as the reference took it.
void expect_reference_gradients(const TextReference& reference, Transformer& encoder) {
  const torch::Tensor states = states_of(encoder, reference.batch);
  const torch::Tensor means = at::stack([&] {
    std::vector<torch::Tensor> rows;
    for (const torch::Tensor& part : states.split_with_sizes(reference.batch.texts.lengths)) rows.push_back(part.mean(0));
    return rows;
  }());
  (means * reference.expected.at("probe")).sum().backward();
  // Weights and their gradients have the same views under the reference's names.
  torch::NoGradGuard no_grad;
  for (torch::Tensor& parameter : encoder.parameters()) {
    if (parameter.grad().defined()) {
      parameter.set_data(parameter.grad().clone());
    } else {
      parameter.set_data(at::zeros_like(parameter));
    }
  }
  size_t compared = 0;
  for (const auto& [name, gradient] : encoder.named_tensors()) {
    const auto found = reference.expected.find("gradient." + name);
    if (found == reference.expected.end()) {
      EXPECT_EQ(gradient.abs().max().item<double>(), 0) << name;
      continue;
    }
    EXPECT_LT(largest_difference(gradient, found->second), 1e-5) << name;
    ++compared;
  }
  EXPECT_GT(compared, 30U);
}

TEST_P(EveryFamily, GradientsAreTheReferences) {
  const TextReference reference(GetParam());
  expect_reference_gradients(reference, *reference_encoder(GetParam()));
}

TEST_P(EveryFamily, LayersComputedAgainHaveTheSameGradients) {
  const TextReference reference(GetParam());
  const auto encoder = reference_encoder(GetParam());
  encoder->keep_layers_for_gradient(false);
  expect_reference_gradients(reference, *encoder);
}

TEST_P(EveryFamily, TextsDoNotSeeTheirNeighbours) {
  const TextReference reference(GetParam());
  const auto encoder = reference_encoder(GetParam());
  const torch::Tensor together = states_of(*encoder, reference.batch);
  int64_t begin = 0;
  for (const std::vector<int32_t>& text : reference.texts) {
    const torch::Tensor alone = states_of(*encoder, batch_of({text}));
    EXPECT_LT(largest_difference(together.narrow(0, begin, alone.size(0)), alone), 1e-12);
    begin += alone.size(0);
  }
}

TEST_P(EveryFamily, TheFirstTokensAloneAreThoseOfAllTokens) {
  const TextReference reference(GetParam());
  const auto encoder = reference_encoder(GetParam());
  const GatePass pass = GatePass::evaluation({}, reference.batch.example_ids);
  const LayerPass layer_pass{reference.batch, pass, {}, torch::kFloat64};
  const torch::Tensor x = encoder->embed(layer_pass), relative = encoder->relative(layer_pass);
  const torch::Tensor all = encoder->layer(1, x, layer_pass, relative, false),
                      first = encoder->layer(1, x, layer_pass, relative, true);
  ASSERT_EQ(first.size(0), reference.batch.examples());
  EXPECT_LT(largest_difference(all.index_select(0, reference.batch.first), first), 1e-12);
}

// With dropout, layers that are computed again must draw what they drew before, or gradients belong to another function.
TEST_P(EveryFamily, DropoutIsRepeatedWhenLayersAreComputedAgain) {
  const TextReference reference(GetParam());
  const auto gradients = [&](bool kept) {
    const auto encoder = reference_encoder(GetParam());
    encoder->keep_layers_for_gradient(kept);
    const GatePass pass({}, 7, 3, reference.batch.example_ids);
    const torch::Tensor states = encoder->forward({reference.batch, pass, reference.batch.token_ids(), torch::kFloat64});
    states.pow(2).sum().backward();
    std::vector<torch::Tensor> parts = {states.detach().reshape(-1)};
    for (const torch::Tensor& parameter : encoder->parameters()) {
      if (parameter.grad().defined()) parts.push_back(parameter.grad().reshape(-1));
    }
    return at::cat(parts);
  };
  const torch::Tensor plain = gradients(true);
  EXPECT_LT(largest_difference(plain, gradients(false)), 1e-9);
  EXPECT_GT(largest_difference(plain.narrow(0, 0, 16), reference.expected.at("states").reshape(-1).narrow(0, 0, 16)), 1e-3);
}

// Noise is keyed by example and position: a split batch draws the same.
TEST_P(EveryFamily, DropoutDoesNotDependOnTheBatch) {
  const TextReference reference(GetParam());
  const auto encoder = reference_encoder(GetParam());
  const GatePass pass({}, 7, 3, reference.batch.example_ids);
  const torch::Tensor together = encoder->forward({reference.batch, pass, reference.batch.token_ids(), torch::kFloat64});
  TextBatch last = batch_of({reference.texts.back()});
  last.example_ids = reference.batch.example_ids.narrow(0, 3, 1);
  const GatePass other({}, 7, 3, last.example_ids);
  const torch::Tensor alone = encoder->forward({last, other, last.token_ids(), torch::kFloat64});
  EXPECT_LT(largest_difference(together.narrow(0, together.size(0) - alone.size(0), alone.size(0)), alone), 1e-9);
}

TEST(Transformer, BucketsOfDistances) {
  // By the reference's formula for 8 buckets up to a distance of 40.
  EXPECT_EQ(relative_bucket(0, 8, 40), 0);
  EXPECT_EQ(relative_bucket(4, 8, 40), 4);
  EXPECT_EQ(relative_bucket(-3, 8, 40), -3);
  EXPECT_EQ(relative_bucket(5, 8, 40), 5);
  EXPECT_EQ(relative_bucket(9, 8, 40), 6);
  EXPECT_EQ(relative_bucket(39, 8, 40), 7);
  for (int64_t distance = 1; distance < 40; ++distance) {
    EXPECT_EQ(relative_bucket(-distance, 8, 40), -relative_bucket(distance, 8, 40));
    EXPECT_LE(relative_bucket(distance - 1, 8, 40), relative_bucket(distance, 8, 40));
  }
}

TEST(Transformer, DrawnWeightsHaveTheConfigsDeviation) {
  EncoderOptions options;
  Transformer encoder(transformer_from_scratch(options, 500));
  encoder.draw_weights();
  EXPECT_NEAR(encoder.embeddings->words.std().item<double>(), 0.02, 1e-3);
  EXPECT_EQ(encoder.layers[0]->attention->qkv->bias.abs().max().item<double>(), 0);
  EXPECT_EQ(encoder.layers[0]->attention_norm->weight.min().item<double>(), 1);
}

}  // namespace
}  // namespace l0gm
