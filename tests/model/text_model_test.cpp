#include "model/text_model.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "encoders/text/reference_text.h"
#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using namespace testing_tools;

EncoderOptions tiny_options() {
  EncoderOptions options;
  options.max_tokens = 30;
  return options;
}

std::shared_ptr<Model> tiny_model(const TransformerConfig& config, UnitKind unit = UnitKind::dimension, uint64_t seed = 1) {
  GateOptions gate;
  gate.unit = unit;
  ModelOptions options;
  options.members = 2;
  return make_text_model(config, {{10, 20, 30}}, options, tiny_options(), gate, seed);
}

torch::Tensor logits_of(Model& model, const TextBatch& batch) {
  model.eval();
  GatePass pass = GatePass::evaluation({.phase = Phase::warmup}, batch.example_ids);
  return model.forward(batch, pass);
}

TEST(TextModel, IsDrawnFromItsSeed) {
  const TextReference reference("bert");
  const TransformerConfig config = read_transformer_config(reference_folder("bert"));
  const torch::Tensor logits = logits_of(*tiny_model(config), reference.batch);
  EXPECT_EQ(logits.sizes(), (std::vector<int64_t>{4, 2, 3}));
  EXPECT_TRUE(at::equal(logits, logits_of(*tiny_model(config), reference.batch)));
  EXPECT_FALSE(at::equal(logits, logits_of(*tiny_model(config, UnitKind::dimension, 2), reference.batch)));
}

TEST(TextModel, StartsFromAFolder) {
  const TextReference reference("bert");
  const auto model = tiny_model(read_transformer_config(reference_folder("bert")));
  EXPECT_EQ(load_pretrained(*model, reference_folder("bert")).size(), 2U);
  const torch::Tensor states = states_of(dynamic_cast<TextEncoder&>(model->encoder()).transformer(), reference.batch);
  EXPECT_LT(largest_difference(states, reference.expected.at("states")), 1e-4);
}

// A finished run has the configuration in its record and the weights in its checkpoint.
TEST(TextModel, IsBuiltAgainFromItsStoredConfiguration) {
  const TextReference reference("deberta");
  const auto model = tiny_model(read_transformer_config(reference_folder("deberta")));
  load_pretrained(*model, reference_folder("deberta"));
  const std::string stored = to_json(dynamic_cast<TextEncoder&>(model->encoder()).config()).dump();
  const auto again =
      tiny_model(parse_transformer_config(nlohmann::json::parse(stored), "the run's record"), UnitKind::dimension, 9);
  copy_into(model->state(), again->state(), "a checkpoint");
  EXPECT_TRUE(at::equal(logits_of(*model, reference.batch), logits_of(*again, reference.batch)));
}

TEST(TextModel, ClosedDimensionsAreLeftOutOfTheHead) {
  const TextReference reference("bert");
  const auto model = tiny_model(read_transformer_config(reference_folder("bert")));
  torch::Tensor mask = at::zeros({16}, torch::kBool);
  mask[2] = mask[11] = true;
  HardConcrete gate = model->interface_site()->gate;
  gate->force(mask, 0.5);
  model->eval();
  GatePass pass = GatePass::evaluation({}, reference.batch.example_ids);
  const torch::Tensor before = model->forward(reference.batch, pass);
  ASSERT_TRUE(model->narrow({}));
  EXPECT_EQ(model->selected().size(0), 2);
  GatePass after = GatePass::evaluation({}, reference.batch.example_ids);
  EXPECT_LT(largest_difference(before, model->forward(reference.batch, after)), 1e-6);
}

TEST(TextModel, EveryUnitKindTakesAStep) {
  const TextReference reference("bert");
  for (const UnitKind unit : {UnitKind::dimension, UnitKind::group, UnitKind::fine, UnitKind::none}) {
    const auto model = tiny_model(read_transformer_config(reference_folder("bert")), unit);
    model->train();
    GatePass pass({.phase = Phase::anneal, .tau = 1.0}, 1, 1, reference.batch.example_ids);
    torch::Tensor loss = model->forward(reference.batch, pass).pow(2).mean();
    if (pass.expected_cost().defined()) loss = loss + 1e-3 * pass.expected_cost();
    loss.backward();
    for (const auto& [name, gate] : model->gates()) EXPECT_TRUE(gate.grad().defined()) << name;
    EXPECT_GT(model->parameters().front().grad().abs().max().item<double>(), 0);
  }
}

TEST(TextModel, MoreTokensThanPositionsAreRefused) {
  EncoderOptions options;
  options.max_tokens = 41;
  const std::string message = message_of<UserError>(
      [&] { make_text_model(read_transformer_config(reference_folder("bert")), {{1, 1}}, {}, options, {}, 0); });
  EXPECT_NE(message.find("41"), std::string::npos);
  EXPECT_NE(message.find("40"), std::string::npos);
}

}  // namespace
}  // namespace l0gm
