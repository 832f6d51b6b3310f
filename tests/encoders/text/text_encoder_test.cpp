#include "encoders/text/text_encoder.h"

#include <gtest/gtest.h>

#include "encoders/text/encoder_shape.h"
#include "encoders/text/reference_text.h"
#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using namespace testing_tools;

std::shared_ptr<TextEncoder> text_encoder(Pooling pooling, bool checkpointed = false) {
  EncoderOptions options;
  options.pooling = pooling;
  options.checkpoint_activations = checkpointed;
  auto encoder = std::make_shared<TextEncoder>(reference_encoder("bert"), options);
  encoder->eval();
  return encoder;
}

torch::Tensor interface_of(TextEncoder& encoder, const TextBatch& batch) {
  GatePass pass = GatePass::evaluation({}, batch.example_ids);
  return encoder.forward(batch, pass);
}

TEST(TextEncoder, TheInterfaceIsTheMeanOrTheFirstState) {
  const TextReference reference("bert");
  const torch::Tensor states = reference.expected.at("states");
  EXPECT_LT(largest_difference(interface_of(*text_encoder(Pooling::cls), reference.batch),
                               states.index_select(0, reference.batch.first)),
            1e-9);
  const torch::Tensor means = interface_of(*text_encoder(Pooling::mean), reference.batch);
  int64_t i = 0;
  for (const torch::Tensor& part : states.split_with_sizes(reference.batch.texts.lengths))
    EXPECT_LT(largest_difference(means[i++], part.mean(0)), 1e-9);
}

TEST(TextEncoder, GivenVectorsReplaceTheTokensOwn) {
  TextReference reference("bert");
  const auto encoder = text_encoder(Pooling::mean);
  const torch::Tensor plain = interface_of(*encoder, reference.batch);
  reference.batch.word_vectors = encoder->word_vectors(reference.batch.tokens);
  EXPECT_TRUE(at::equal(interface_of(*encoder, reference.batch), plain));
  reference.batch.word_vectors = reference.batch.word_vectors * 0.9;
  EXPECT_GT(largest_difference(interface_of(*encoder, reference.batch), plain), 1e-4);
}

TEST(TextEncoder, TextsLongerThanThePositionsAreRefused) {
  const auto encoder = text_encoder(Pooling::mean);
  const TextBatch batch = batch_of({std::vector<int32_t>(41, 5)});
  EXPECT_NE(message_of<UserError>([&] { interface_of(*encoder, batch); }).find("max_tokens"), std::string::npos);
}

TEST(TextEncoder, HalfPrecisionProductsComeNear) {
  const TextReference reference("bert");
  const auto encoder = text_encoder(Pooling::mean);
  encoder->to(torch::kFloat32);
  const torch::Tensor plain = interface_of(*encoder, reference.batch);
  encoder->compute_in(torch::kBFloat16);
  const torch::Tensor rounded = interface_of(*encoder, reference.batch);
  EXPECT_EQ(rounded.scalar_type(), torch::kFloat32);
  EXPECT_GT(largest_difference(rounded, plain), 0);
  EXPECT_LT(largest_difference(rounded, plain), 0.1);
}

TEST(TextEncoder, UnitsOfTheInterface) {
  const auto encoder = text_encoder(Pooling::mean);
  EXPECT_EQ(encoder->units(UnitKind::dimension, Attach::interface).cost.sum().item<double>(), 16);
  EncoderOptions options;
  options.blocks = 3;
  const TextEncoder grouped(reference_encoder("bert"), options);
  const InterfaceUnits units = grouped.units(UnitKind::group, Attach::interface);
  EXPECT_EQ(units.cost.size(0), 3);
  EXPECT_EQ(units.cost.sum().item<double>(), 16);
  EXPECT_EQ(units.index[15].item<int64_t>(), 2);
  GateOptions input;
  input.attach = Attach::input;
  EXPECT_NE(message_of<UserError>([&] { encoder->make_sites(input); }).find("tokens"), std::string::npos);
}

TEST(TextEncoder, FineUnitsGateTokensByPosition) {
  EncoderOptions options;
  auto encoder = std::make_shared<TextEncoder>(
      [] {
        EncoderOptions scratch;
        scratch.width = 8;
        scratch.heads = 2;
        scratch.max_tokens = 300;
        auto transformer = std::make_shared<Transformer>(transformer_from_scratch(scratch, 50));
        transformer->draw_weights();
        transformer->to(torch::kFloat64);
        return transformer;
      }(),
      options);
  encoder->eval();
  GateOptions gate;
  gate.unit = UnitKind::fine;
  const auto sites = encoder->make_sites(gate);
  ASSERT_EQ(sites.size(), 1U);
  sites[0]->gate->eval();
  sites[0]->gate->to(torch::kFloat64);
  EXPECT_EQ(sites[0]->gate->units(), 32);
  EXPECT_NEAR((sites[0]->gate->cost().sum() + encoder->units(UnitKind::fine, Attach::interface).cost.sum()).item<double>(), 8,
              1e-5);
  EXPECT_EQ(sites[0]->unit_name(8 + 3), "positions 64-127 dimension 3");
  EXPECT_EQ(sites[0]->unit_name(24), "positions 256 and beyond dimension 0");

  const TextBatch batch = batch_of({std::vector<int32_t>(60, 5), std::vector<int32_t>(100, 7), std::vector<int32_t>(290, 9)});
  const GateState hardened{.phase = Phase::harden};
  const auto interface = [&] {
    GatePass pass = GatePass::evaluation(hardened, batch.example_ids);
    const torch::Tensor r = encoder->forward(batch, pass);
    EXPECT_NE(pass.record(*sites[0]), nullptr);
    return r;
  };
  const torch::Tensor open = interface();
  torch::Tensor mask = at::ones({32}, torch::kBool);
  mask[8 + 3] = false;  // of positions 64-127
  sites[0]->gate->force(mask, 1.0);
  const torch::Tensor closed = interface();
  EXPECT_TRUE(at::equal(open[0], closed[0]));  // too short to have them
  EXPECT_FALSE(at::equal(open[1], closed[1]));
  EXPECT_FALSE(at::equal(open[2], closed[2]));
}

TEST(TextEncoder, RecomputedLayersRecordAGateOnce) {
  const TextReference reference("bert");
  const auto gradient = [&](bool checkpointed) {
    const auto encoder = text_encoder(Pooling::cls, checkpointed);
    GateOptions gate;
    gate.unit = UnitKind::fine;
    torch::manual_seed(1);
    const auto sites = encoder->make_sites(gate);
    encoder->train();
    GatePass pass({.phase = Phase::anneal, .tau = 1.0}, 5, 2, reference.batch.example_ids);
    const torch::Tensor r = encoder->forward(reference.batch, pass);
    r.pow(3).sum().backward();
    EXPECT_NE(pass.record(*sites[0]), nullptr);
    return at::cat({sites[0]->gate->logits().grad(), encoder->transformer().embeddings->words.grad().reshape(-1)});
  };
  const torch::Tensor plain = gradient(false);
  EXPECT_GT(plain.abs().max().item<double>(), 1e-6);
  EXPECT_LT(largest_difference(plain, gradient(true)), 1e-9);
}

TEST(TextEncoder, CountsItsParametersAndTheirDepth) {
  const auto encoder = text_encoder(Pooling::mean);
  EXPECT_EQ(encoder->shared_parameters(), encoder->config().parameters());
  const auto depths = encoder->depth_of_parameters();
  EXPECT_EQ(depths.size(), encoder->parameters().size());
  EXPECT_EQ(depths.at("transformer.embeddings.words"), 0);
  EXPECT_EQ(depths.at("transformer.layer1.feed_forward.out.bias"), 2);
  for (const auto& item : encoder->named_parameters()) EXPECT_TRUE(depths.contains(item.key())) << item.key();
}

}  // namespace
}  // namespace l0gm
