#include "encoders/text/structure_gates.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "encoders/text/reference_text.h"
#include "encoders/text/text_encoder.h"
#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using namespace testing_tools;

const EnumSet<Attach> every_part = {Attach::heads, Attach::ffn, Attach::layers};
const GateState hard{.phase = Phase::harden, .tau = 0.5}, soft{.phase = Phase::anneal, .tau = 0.8};

// A reference encoder with gates on its structure, all in float64.
struct Gated {
  std::shared_ptr<TextEncoder> encoder;
  std::vector<std::shared_ptr<GateSite>> sites;

  explicit Gated(const EnumSet<Attach>& attach, const std::string& name = "bert", Pooling pooling = Pooling::mean,
                 bool checkpointed = false, UnitCost cost = UnitCost::flops) {
    EncoderOptions options;
    options.pooling = pooling;
    options.checkpoint_activations = checkpointed;
    GateOptions gate;
    gate.attach = attach;
    gate.cost = cost;
    encoder = std::make_shared<TextEncoder>(reference_encoder(name), options);
    encoder->set_part_costs(part_costs(encoder->config(), {pooling, 1}, {10, 120}, cost, {}));
    torch::manual_seed(1);
    sites = encoder->make_sites(gate);
    for (const auto& site : sites) site->gate->to(torch::kFloat64);
    train(false);
  }
  void train(bool on) const {
    encoder->train(on);
    for (const auto& site : sites) site->gate->train(on);
  }
  GateSite& site(const std::string& name) const {
    for (const auto& site : sites) {
      if (site->name == name) return *site;
    }
    throw std::logic_error(name);
  }
  // Opens just these units of a site.
  void open(const std::string& name, const std::vector<int64_t>& units) const {
    torch::Tensor mask = at::zeros({site(name).gate->units()}, torch::kBool);
    for (const int64_t unit : units) mask[unit] = true;
    site(name).gate->force(mask, hard.tau);
  }
  torch::Tensor interface(const TextBatch& batch, const GateState& state = hard) const {
    GatePass pass(state, 5, 2, batch.example_ids);
    return encoder->forward(batch, pass);
  }
  // The same where closed parts are computed and multiplied by 0.
  torch::Tensor masked(const TextBatch& batch) const {
    encoder->compute_closed_parts(true);
    const torch::Tensor r = interface(batch);
    encoder->compute_closed_parts(false);
    return r;
  }
};

std::vector<int64_t> every_third(int64_t units, int64_t first) {
  std::vector<int64_t> some;
  for (int64_t u = first; u < units; u += 3) some.push_back(u);
  return some;
}

TEST(StructureGates, UnitsNamesAndCosts) {
  const Gated gated(every_part);  // 2 layers of 2 heads and 24 neurons, 16 dimensions
  ASSERT_EQ(gated.sites.size(), 3U);
  EXPECT_EQ(gated.site("layers").gate->units(), 2);
  EXPECT_EQ(gated.site("heads").gate->units(), 4);
  EXPECT_EQ(gated.site("ffn").gate->units(), 48);
  EXPECT_EQ(gated.site("heads").unit_name(3), "layer 1 head 1");
  EXPECT_EQ(gated.site("ffn").unit_name(25), "layer 1 neuron 1");
  double sum = 0;
  for (const auto& site : gated.sites) sum += site->gate->cost().sum().item<double>();
  EXPECT_NEAR(sum, 54, 1e-4) << "1 on average";
  // 10 tokens, 120 pairs: a head 8 * 16 * 8 * 10 + (4 * 8 + 5) * 120 operations, a neuron (4 * 16 + 8) * 10.
  EXPECT_NEAR((gated.site("heads").gate->cost()[0] / gated.site("ffn").gate->cost()[0]).item<double>(), 14680.0 / 720, 1e-3);
  EXPECT_EQ(gated.site("heads").outer, &gated.site("layers"));
  EXPECT_EQ(gated.site("heads").outer_unit[2].item<int64_t>(), 1);
  EXPECT_TRUE(gated.site("layers").cost_besides.has_value());
}

// What is not gated by itself belongs to its layer, or to what no gate saves.
TEST(StructureGates, CostsAddUpWhateverIsGated) {
  const auto whole = [](const EnumSet<Attach>& attach) {
    const Gated gated(attach);
    double sum = 0;
    for (const auto& site : gated.sites) sum += site->gate->cost().sum().item<double>() + site->cost_besides.value_or(0);
    return sum / gated.encoder->structure()->cost_of_dimension();
  };
  const double all = whole(every_part);
  EXPECT_NEAR(whole(Attach::layers) / all, 1, 1e-5);
  EXPECT_NEAR(whole(Attach::heads) / all, 1, 1e-5);
  EXPECT_NEAR(whole({Attach::ffn, Attach::layers}) / all, 1, 1e-5);
}

TEST(StructureGates, WarmUpIsTheDenseEncoderBitForBit) {
  const TextReference reference("bert");
  const Gated gated(every_part);
  EncoderOptions options;
  TextEncoder dense(reference_encoder("bert"), options);
  dense.eval();
  GatePass pass = GatePass::evaluation({}, reference.batch.example_ids);
  const torch::Tensor expected = dense.forward(reference.batch, pass);
  EXPECT_TRUE(at::equal(gated.interface(reference.batch, {.phase = Phase::warmup}), expected));
  EXPECT_TRUE(at::equal(gated.interface(reference.batch), expected)) << "open by the test rule";
  gated.train(true);
  gated.encoder->eval();  // no dropout
  for (const auto& site : gated.sites) HardConcrete(site->gate)->logits().data().fill_(100);
  EXPECT_TRUE(at::equal(gated.interface(reference.batch, soft), expected)) << "sampled, and open";
}

TEST(StructureGates, AClosedLayerIsTheIdentity) {
  const TextReference reference("bert");
  const auto transformer = reference_encoder("bert");
  const GatePass pass = GatePass::evaluation({}, reference.batch.example_ids);
  const LayerPass layer_pass{reference.batch, pass, {}, torch::kFloat64};
  const torch::Tensor x = transformer->embed(layer_pass);
  LayerGates closed;
  closed.closed = true;
  EXPECT_TRUE(at::equal(transformer->layer(0, x, layer_pass, {}, false, closed), x));
  LayerGates blended;
  blended.layer = at::zeros({}, torch::kFloat64);
  EXPECT_TRUE(at::equal(transformer->layer(0, x, layer_pass, {}, false, blended), x));
  EXPECT_TRUE(at::equal(transformer->layer(1, x, layer_pass, {}, true, closed), x.index_select(0, reference.batch.first)));
  blended.layer = at::ones({}, torch::kFloat64);
  EXPECT_TRUE(
      at::equal(transformer->layer(0, x, layer_pass, {}, false, blended), transformer->layer(0, x, layer_pass, {}, false)));
}

TEST(StructureGates, ClosingAllHeadsOrNeuronsOfALayerIsTheMaskedEncoder) {
  for (const std::string& name : reference_names()) {
    const TextReference reference(name);
    for (const Pooling pooling : {Pooling::mean, Pooling::cls}) {
      SCOPED_TRACE(name);
      const Gated heads(Attach::heads, name, pooling), neurons(Attach::ffn, name, pooling);
      const torch::Tensor open = heads.interface(reference.batch);
      heads.open("heads", {0});  // of layer 1 all are closed
      EXPECT_LT(largest_difference(heads.interface(reference.batch), heads.masked(reference.batch)), 1e-12);
      EXPECT_GT(largest_difference(heads.interface(reference.batch), open), 1e-6);
      neurons.open("ffn", {24, 30});  // of layer 0 all are closed
      EXPECT_LT(largest_difference(neurons.interface(reference.batch), neurons.masked(reference.batch)), 1e-12);
      EXPECT_GT(largest_difference(neurons.interface(reference.batch), open), 1e-6);
    }
  }
}

TEST(StructureGates, ANarrowedEncoderIsTheMaskedOne) {
  for (const std::string& name : reference_names()) {
    const TextReference reference(name);
    for (const Pooling pooling : {Pooling::mean, Pooling::cls}) {
      for (const bool last_layer : {false, true}) {
        SCOPED_TRACE(name + (last_layer ? " without the first layer" : " without the last layer"));
        const Gated gated(every_part, name, pooling);
        const int64_t kept = last_layer ? 1 : 0;
        gated.open("layers", {kept});
        gated.open("heads", {2 * kept + 1});
        gated.open("ffn", every_third(48, kept));
        const torch::Tensor masked = gated.masked(reference.batch);
        EXPECT_LT(largest_difference(gated.interface(reference.batch), masked), 1e-12) << "on the fly";
        gated.encoder->narrow_structure(hard);
        EXPECT_EQ(gated.encoder->config().layers, 1);
        EXPECT_EQ(gated.encoder->config().shape_of(0), (LayerShape{1, 8}));
        EXPECT_LT(largest_difference(gated.interface(reference.batch), masked), 1e-12);
        int64_t count = 0;
        for (const torch::Tensor& parameter : gated.encoder->parameters()) count += parameter.numel();
        EXPECT_EQ(count, gated.encoder->config().parameters());
      }
    }
  }
}

TEST(StructureGates, AnEncoderOfTheSameShapeSaysTheSame) {
  const TextReference reference("bert");
  const Gated gated(every_part);
  gated.open("layers", {1});
  gated.open("heads", {2});
  gated.open("ffn", every_third(48, 1));
  const torch::Tensor masked = gated.masked(reference.batch);
  gated.encoder->narrow_structure(hard, true);
  EXPECT_EQ(gated.encoder->config().layers, 1);
  EXPECT_TRUE(gated.encoder->config().narrowed.empty());
  EXPECT_LT(largest_difference(gated.interface(reference.batch), masked), 1e-12);
}

// d loss / d logit of every kind of site, with the noise of the pass held still.
TEST(StructureGates, GradientsAreFiniteDifferences) {
  const TextReference reference("bert");
  for (const Attach attach : {Attach::heads, Attach::ffn, Attach::layers}) {
    const Gated gated(attach);
    for (const auto& site : gated.sites) site->gate->train();
    HardConcrete gate = gated.sites[0]->gate;
    gate->logits().data().copy_(at::linspace(-0.4, 0.4, gate->units(), torch::kFloat64));
    const auto loss = [&] { return gated.interface(reference.batch, soft).pow(3).sum(); };
    loss().backward();
    const torch::Tensor gradient = gate->logits().grad().clone();
    EXPECT_GT(gradient.abs().max().item<double>(), 1e-6) << name_of_enum(attach);
    torch::NoGradGuard no_grad;
    for (int64_t unit = 0; unit < gate->units(); ++unit) {
      const double step = 1e-5;
      gate->logits()[unit] += step;
      const double above = loss().item<double>();
      gate->logits()[unit] -= 2 * step;
      const double below = loss().item<double>();
      gate->logits()[unit] += step;
      EXPECT_NEAR(gradient[unit].item<double>(), (above - below) / (2 * step),
                  1e-5 * (1 + std::abs(gradient[unit].item<double>())))
          << name_of_enum(attach) << " " << unit;
    }
  }
}

TEST(StructureGates, RecomputedLayersHaveTheSameGradients) {
  const TextReference reference("bert");
  const auto gradient = [&](bool checkpointed) {
    const Gated gated(every_part, "bert", Pooling::cls, checkpointed);
    gated.train(true);
    gated.interface(reference.batch, soft).pow(3).sum().backward();
    std::vector<torch::Tensor> all;
    for (const auto& site : gated.sites) all.push_back(HardConcrete(site->gate)->logits().grad());
    all.push_back(gated.encoder->transformer().layers[0]->attention->qkv->weight.grad().reshape(-1));
    return at::cat(all);
  };
  const torch::Tensor plain = gradient(false);
  EXPECT_GT(plain.abs().max().item<double>(), 1e-6);
  EXPECT_LT(largest_difference(plain, gradient(true)), 1e-9);
}

TEST(StructureGates, HardenedTrainingReachesWhatIsLeftOnly) {
  const TextReference reference("bert");
  const Gated gated(every_part);
  gated.open("layers", {0});
  gated.open("heads", {1});
  gated.open("ffn", {0, 1, 2, 3, 4, 5, 6, 7});
  gated.train(true);
  gated.interface(reference.batch).pow(3).sum().backward();
  const auto& layers = gated.encoder->transformer().layers;
  EXPECT_FALSE(layers[1]->attention->qkv->weight.grad().defined());
  const torch::Tensor of_out = layers[0]->attention->out->weight.grad();  // columns of heads 0 and 1
  EXPECT_EQ(of_out.narrow(1, 0, 8).abs().max().item<double>(), 0);
  EXPECT_GT(of_out.narrow(1, 8, 8).abs().max().item<double>(), 0);
  const torch::Tensor of_wide = layers[0]->feed_forward->in->weight.grad();
  EXPECT_GT(of_wide.narrow(0, 0, 8).abs().max().item<double>(), 0);
  EXPECT_EQ(of_wide.narrow(0, 8, 16).abs().max().item<double>(), 0);
}

TEST(StructureGates, TheReportCountsWhatIsLeft) {
  const Gated gated(every_part);
  EXPECT_DOUBLE_EQ(gated.encoder->structure()->report(hard).speedup, 1);
  gated.open("layers", {1});
  gated.open("heads", {0, 3});  // one of them inside the closed layer
  gated.open("ffn", every_third(48, 0));
  const StructureReport report = gated.encoder->structure()->report(hard);
  EXPECT_EQ(report.layers, 1);
  EXPECT_EQ(report.heads, 1);
  EXPECT_EQ(report.neurons, 8);
  EXPECT_EQ(report.neurons_dense, 48);
  EXPECT_GT(report.speedup, 2);
}

TEST(StructureGates, UnitsAreRankedByTheSizeOfTheirWeights) {
  const TextReference reference("bert");
  GateOptions gate;
  gate.attach = Attach::ffn;
  gate.logits = LogitKind::fixed;
  gate.static_by = StaticBy::magnitude;
  TextEncoder encoder(reference_encoder("bert"), EncoderOptions{});
  encoder.set_part_costs(part_costs(encoder.config(), {}, {10, 120}, UnitCost::flops, {}));
  const auto sites = encoder.make_sites(gate);
  {
    torch::NoGradGuard no_grad;
    encoder.transformer().layers[1]->feed_forward->out->weight.select(1, 5).fill_(9);
  }
  GatePass pass({.phase = Phase::warmup}, 0, 0, reference.batch.example_ids);
  encoder.forward(reference.batch, pass);
  EXPECT_EQ(pass.record(*sites[0])->representation[0].argmax().item<int64_t>(), 24 + 5);
}

TEST(StructureGates, WhatDoesNotGoTogetherIsRefused) {
  const auto refusal = [](const std::function<void(GateOptions&)>& change) {
    GateOptions gate;
    gate.attach = every_part;
    change(gate);
    TextEncoder encoder(reference_encoder("bert"), EncoderOptions{});
    encoder.set_part_costs({});
    return message_of<UserError>([&] { encoder.make_sites(gate); });
  };
  EXPECT_NE(refusal([](GateOptions& g) { g.unit = UnitKind::fine; }).find("gate.unit"), std::string::npos);
  EXPECT_NE(refusal([](GateOptions& g) { g.logits = LogitKind::instance; }).find("gate.logits"), std::string::npos);
  EXPECT_NE(refusal([](GateOptions& g) { g.test_rule = TestRule::median; }).find("gate.test_rule"), std::string::npos);
}

}  // namespace
}  // namespace l0gm
