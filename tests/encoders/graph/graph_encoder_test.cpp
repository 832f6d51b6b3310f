#include "encoders/graph/graph_encoder.h"

#include <gtest/gtest.h>

#include "encoders/graph/reference_models.h"
#include "encoders/graph/toy_blocks.h"
#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using namespace testing_tools;

const GateState hardened{Phase::harden, 0.5, 1, 1}, annealing{Phase::anneal, 1, 1, 1};

// The reference's graph with these attributes, two layers over all nodes.
std::shared_ptr<GraphBatch> batch_with(const torch::Tensor& x, bool sparse, size_t layers = 2) {
  auto batch = std::make_shared<GraphBatch>();
  batch->attributes = layer_rows(x, sparse).rows;
  batch->input_ids = at::arange(x.size(0), torch::kInt64);
  batch->blocks.assign(layers, reference_adjacency());
  batch->output_ids.assign(layers, batch->input_ids);
  batch->example_ids = batch->input_ids;
  return batch;
}

GraphShape shape_of(ConvolutionKind kind, std::vector<int64_t> widths = {4, 6}) {
  GraphShape shape;
  shape.attributes = 5;
  shape.attribute_names = {"v", "w", "x", "y", "z"};
  shape.widths = std::move(widths);
  shape.kind = kind;
  shape.convolution.heads = 2;
  shape.blocks = 4;
  return shape;
}

std::shared_ptr<GraphEncoder> encoder_of(GraphShape shape) {
  auto encoder = std::make_shared<GraphEncoder>(std::move(shape));
  encoder->to(torch::kFloat64);
  torch::NoGradGuard no_grad;
  for (auto& item : encoder->named_parameters()) item.value().add_(0.3 * numbers(item.value().sizes(), item.key().size()).abs());
  return encoder;
}

GateOptions gate_of(UnitKind unit, Attach attach = Attach::interface, Noise noise = Noise::batch) {
  GateOptions options;
  options.unit = unit;
  options.attach = attach;
  options.noise = noise;
  return options;
}

// The sites that an encoder makes, in double precision, with these logits in the first.
std::vector<std::shared_ptr<GateSite>> sites_of(GraphEncoder& encoder, const GateOptions& options,
                                                const std::vector<double>& logits) {
  auto sites = encoder.make_sites(options);
  torch::NoGradGuard no_grad;
  for (const auto& site : sites) site->gate->to(torch::kFloat64);
  sites.at(0)->gate->logits().copy_(at::tensor(logits, torch::kFloat64));
  encoder.to(torch::kFloat64);
  return sites;
}

torch::Tensor run(GraphEncoder& encoder, const GraphBatch& batch, const GateState& state = hardened, int64_t step = 0) {
  torch::NoGradGuard no_grad;
  GatePass pass(state, 3, step, batch.example_ids);
  return encoder.forward(batch, pass);
}

TEST(GraphEncoder, TwoLayersWithNormsAndResidualEqualTheReference) {
  ASSERT_EQ(graph_reference()["models"].size(), 30u);
  for (const auto& model : graph_reference()["models"]) {
    const auto encoder = reference_encoder(model);
    const auto [hidden, result] = reference_results(model);
    for (const bool sparse : {false, true}) {
      if (sparse && model["kind"] == "sage-max") continue;
      const auto batch = batch_with(reference_attributes(), sparse);
      SCOPED_TRACE(model["kind"].get<std::string>() + " " + model["layers"].dump().substr(0, 20) +
                   (sparse ? " sparse" : " dense"));
      EXPECT_LT(max_abs_difference(run(*encoder, *batch), result), 1e-12);
      GatePass pass = GatePass::evaluation(hardened, batch->example_ids);
      torch::NoGradGuard no_grad;
      const torch::Tensor convolved = encoder->convolve(0, batch->blocks[0], encoder->input(*batch, pass), pass);
      EXPECT_LT(max_abs_difference(encoder->finish(0, convolved, batch->input_ids, pass), hidden), 1e-12);
      batch->propagated = encoder->propagate_ahead(*batch);
      EXPECT_LT(max_abs_difference(run(*encoder, *batch), result), 1e-12) << "aggregated ahead";
    }
  }
}

TEST(GraphEncoder, ExamplesAreRowsOfTheLastLayer) {
  const auto encoder = encoder_of(shape_of(ConvolutionKind::gcn));
  const auto batch = batch_with(reference_attributes(), false);
  const torch::Tensor all = run(*encoder, *batch);
  batch->examples = at::tensor(std::vector<int64_t>{7, 3, 3}, torch::kInt64);
  EXPECT_TRUE(at::equal(run(*encoder, *batch), all.index_select(0, batch->examples)));
}

TEST(GraphEncoder, UnitsCostsAndNames) {
  const auto encoder = encoder_of(shape_of(ConvolutionKind::gcn, {4, 8, 6}));
  const InterfaceUnits dimension = encoder->units(UnitKind::dimension, Attach::interface);
  EXPECT_TRUE(at::equal(dimension.cost, at::ones({6})));
  EXPECT_FALSE(dimension.index.defined());
  EXPECT_EQ(dimension.unit_name(5), "channel 5");
  const InterfaceUnits group = encoder->units(UnitKind::group, Attach::interface);  // 6 channels in 4 blocks
  EXPECT_TRUE(at::equal(group.index, at::tensor(std::vector<int64_t>{0, 0, 1, 2, 2, 3}, torch::kInt64)));
  EXPECT_TRUE(at::equal(group.cost, at::tensor(std::vector<float>{2, 1, 2, 1})));
  EXPECT_EQ(group.unit_name(2), "channel block 2");
  const InterfaceUnits fine = encoder->units(UnitKind::fine, Attach::interface);
  EXPECT_EQ(fine.cost.size(0), 6);
  EXPECT_TRUE(encoder->make_sites(gate_of(UnitKind::dimension)).empty());
  EXPECT_TRUE(encoder->make_sites(gate_of(UnitKind::group)).empty());
  EXPECT_EQ(encoder->fine_units(), nullptr);
}

TEST(GraphEncoder, FineUnitsAreChannelsOfEveryLayerAndCostTheWidthTogether) {
  const auto encoder = encoder_of(shape_of(ConvolutionKind::gcn, {6, 6, 6}));
  const auto sites = encoder->make_sites(gate_of(UnitKind::fine));
  ASSERT_EQ(sites.size(), 2u);
  double cost = encoder->units(UnitKind::fine, Attach::interface).cost.sum().item<double>();
  for (const auto& site : sites) cost += site->gate->cost().sum().item<double>();
  EXPECT_NEAR(cost, 6, 1e-5);
  EXPECT_EQ(sites[0]->name, "layer1");
  EXPECT_EQ(sites[0]->unit_name(3), "layer 1 channel 3");
  EXPECT_EQ(sites[1]->unit_name(0), "layer 2 channel 0");
  EXPECT_EQ(sites[1]->gate->units(), 6);
}

TEST(GraphEncoder, UnitsOfTheInputAreAttributes) {
  const auto encoder = encoder_of(shape_of(ConvolutionKind::gcn));
  const auto sites = encoder->make_sites(gate_of(UnitKind::dimension, Attach::input));
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_EQ(sites[0]->name, "input");
  EXPECT_TRUE(at::equal(sites[0]->gate->cost(), at::ones({5})));
  EXPECT_EQ(sites[0]->unit_name(3), "y");
  EXPECT_FALSE(encoder->gated_at_interface(gate_of(UnitKind::dimension, Attach::input)));
  EXPECT_TRUE(encoder->gated_at_interface(gate_of(UnitKind::fine)));
  const auto grouped = encoder_of(shape_of(ConvolutionKind::gcn))->make_sites(gate_of(UnitKind::group, Attach::input));
  EXPECT_TRUE(at::equal(grouped[0]->index, at::tensor(std::vector<int64_t>{0, 0, 1, 2, 3}, torch::kInt64)));
  EXPECT_TRUE(at::equal(grouped[0]->gate->cost(), at::ones({4})));
  GateOptions by_width = gate_of(UnitKind::group, Attach::input);
  by_width.cost = UnitCost::memory;
  const auto priced = encoder_of(shape_of(ConvolutionKind::gcn))->make_sites(by_width);
  EXPECT_TRUE(at::equal(priced[0]->gate->cost(), at::tensor(std::vector<float>{2, 1, 1, 1})));
  EXPECT_EQ(grouped[0]->unit_name(1), "attribute block 1");
}

TEST(GraphEncoder, OptionsThatCannotGateTheInputAreRefused) {
  const auto refusal = [&](const GateOptions& options) {
    return message_of<UserError>([&] { encoder_of(shape_of(ConvolutionKind::gcn))->make_sites(options); });
  };
  EXPECT_NE(refusal(gate_of(UnitKind::fine, Attach::input)).find("gate.unit is dimension or group"), std::string::npos);
  GateOptions instance = gate_of(UnitKind::dimension, Attach::input);
  instance.logits = LogitKind::instance;
  EXPECT_NE(refusal(instance).find("gate.logits global or static"), std::string::npos);
  const auto encoder = encoder_of(shape_of(ConvolutionKind::gcn));
  const auto sites = sites_of(*encoder, gate_of(UnitKind::dimension, Attach::input, Noise::example), {1, 1, 1, 1, 1});
  encoder->train();
  const auto batch = batch_with(reference_attributes(), true);
  const std::string message = message_of<UserError>([&] { run(*encoder, *batch, annealing); });
  EXPECT_NE(message.find("gate.noise = batch"), std::string::npos) << message;
  encoder->eval();
  EXPECT_NO_THROW(run(*encoder, *batch)) << "evaluation draws nothing";
}

TEST(GraphEncoder, AClosedAttributeIsAColumnOfZeros) {
  for (const ConvolutionKind kind :
       {ConvolutionKind::linear, ConvolutionKind::gcn, ConvolutionKind::sage, ConvolutionKind::gat}) {
    const auto dense = encoder_of(shape_of(kind)), gated = encoder_of(shape_of(kind));
    torch::NoGradGuard no_grad;
    for (auto& item : gated->named_parameters()) item.value().copy_(dense->named_parameters()[item.key()]);
    const auto sites = sites_of(*gated, gate_of(UnitKind::dimension, Attach::input), {9, -9, 9, -9, 9});
    dense->eval();
    gated->eval();
    torch::Tensor zeroed = reference_attributes();
    zeroed.select(1, 1).zero_();
    zeroed.select(1, 3).zero_();
    const torch::Tensor expected = run(*dense, *batch_with(zeroed, false));
    ASSERT_GT(max_abs_difference(expected, run(*dense, *batch_with(reference_attributes(), false))), 0.01);
    for (const bool sparse : {false, true}) {
      const auto batch = batch_with(reference_attributes(), sparse);
      EXPECT_LT(max_abs_difference(run(*gated, *batch), expected), 1e-12) << name_of_enum(kind);
      batch->propagated = gated->propagate_ahead(*batch);
      EXPECT_LT(max_abs_difference(run(*gated, *batch), expected), 1e-12) << name_of_enum(kind);
    }
  }
}

// The factor is the test rule's value itself, independent of the sizes that attributes are ranked by: a loaded run does not have
// them.
TEST(GraphEncoder, AnInputGateDoesNotDependOnTheSizesOfAttributes) {
  GateOptions options = gate_of(UnitKind::dimension, Attach::input);
  options.test_rule = TestRule::median;
  GraphShape sized = shape_of(ConvolutionKind::gcn);
  sized.attribute_sizes = {0.3F, 1.7F, 0.11F, 0.013F, 3.3F};
  const auto with = encoder_of(sized), without = encoder_of(shape_of(ConvolutionKind::gcn));
  torch::NoGradGuard no_grad;
  for (auto& item : without->named_parameters()) item.value().copy_(with->named_parameters()[item.key()]);
  const std::vector<double> start = {0, 0, 0, 0, 0};
  const auto some_sites = sites_of(*with, options, start), other_sites = sites_of(*without, options, start);
  with->eval();
  without->eval();
  const auto batch = batch_with(reference_attributes(), false);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    for (const auto& site : {some_sites[0], other_sites[0]}) site->gate->logits().copy_(0.4 * numbers({5}, seed));
    EXPECT_TRUE(at::equal(run(*with, *batch), run(*without, *batch))) << seed;
    GatePass pass = GatePass::evaluation(hardened, batch->example_ids);
    EXPECT_TRUE(at::equal(with->input(*batch, pass).factor, some_sites[0]->gate->test_values(hardened))) << seed;
  }
}

TEST(GraphEncoder, InputNoiseIsOneDrawOrOnePerNode) {
  const auto batch = batch_with(at::ones({12, 5}, torch::kFloat64), false);
  for (const Noise noise : {Noise::batch, Noise::example}) {
    const auto encoder = encoder_of(shape_of(ConvolutionKind::gcn));
    const auto sites = sites_of(*encoder, gate_of(UnitKind::dimension, Attach::input, noise), {0, 0, 0, 0, 0});
    encoder->train();
    GatePass pass(annealing, 3, 0, batch->example_ids);
    const LayerRows x = encoder->input(*batch, pass);
    EXPECT_EQ(x.factor.defined(), noise == Noise::batch);
    EXPECT_EQ(encoder->propagate_ahead(*batch).defined(), false) << "5 attributes, 4 channels: multiplies first";
    if (noise == Noise::batch) {
      EXPECT_EQ(x.factor.sizes(), (std::vector<int64_t>{5}));
      continue;
    }
    EXPECT_FALSE(at::equal(x.rows.dense[0], x.rows.dense[1]));
    const auto two = batch_with(at::ones({12, 5}, torch::kFloat64), false);  // other nodes, but one that was there before
    two->input_ids = at::arange(7, 19, torch::kInt64);
    GatePass again(annealing, 3, 0, batch->example_ids);
    EXPECT_TRUE(at::equal(encoder->input(*two, again).rows.dense[1], x.rows.dense[8])) << "node 8";
  }
}

TEST(GraphEncoder, NothingIsAggregatedAheadWithNoisePerNode) {
  const auto batch = batch_with(reference_attributes(), false);
  const auto wide = [] { return encoder_of(shape_of(ConvolutionKind::gcn, {8, 6})); };
  EXPECT_TRUE(wide()->propagate_ahead(*batch).defined());
  const auto shared = wide(), own = wide();
  const auto shared_sites = sites_of(*shared, gate_of(UnitKind::dimension, Attach::input, Noise::batch), {0, 0, 0, 0, 0});
  const auto own_sites = sites_of(*own, gate_of(UnitKind::dimension, Attach::input, Noise::example), {0, 0, 0, 0, 0});
  EXPECT_TRUE(shared->propagate_ahead(*batch).defined());
  EXPECT_FALSE(own->propagate_ahead(*batch).defined());
}

// Hidden gates and dropout are keyed by node, wherever its row is.
TEST(GraphEncoder, HiddenNoiseIsKeyedByNode) {
  GraphShape shape = shape_of(ConvolutionKind::linear);
  shape.norm = Norm::none;
  shape.dropout = 0.5;
  const auto encoder = encoder_of(shape);
  const auto sites = sites_of(*encoder, gate_of(UnitKind::fine, Attach::interface, Noise::example), {0, 0, 0, 0});
  encoder->train();
  const torch::Tensor x = at::ones({12, 5}, torch::kFloat64);
  const auto all = batch_with(x, false, 0), some = batch_with(x.narrow(0, 0, 3), false, 0);
  some->input_ids = some->example_ids = at::tensor(std::vector<int64_t>{9, 2, 11}, torch::kInt64);
  const torch::Tensor whole = run(*encoder, *all, annealing);
  EXPECT_TRUE(at::equal(run(*encoder, *some, annealing), whole.index_select(0, some->input_ids)));
  EXPECT_FALSE(at::equal(whole[9], whole[2])) << "there is noise";
  EXPECT_FALSE(at::equal(run(*encoder, *all, annealing, 1), whole));
}

TEST(GraphEncoder, ParametersOfDimensionsAndSharedOnesAddUp) {
  for (const Norm last : {Norm::none, Norm::batch, Norm::layer}) {
    for (const ConvolutionKind kind :
         {ConvolutionKind::linear, ConvolutionKind::gcn, ConvolutionKind::sage, ConvolutionKind::gat}) {
      GraphShape shape = shape_of(kind);
      shape.last_norm = last;
      shape.residual = Residual::linear;
      const auto encoder = encoder_of(shape);
      int64_t count = 0, reported = encoder->shared_parameters();
      for (const auto& item : encoder->named_parameters()) count += item.value().requires_grad() ? item.value().numel() : 0;
      for (const int64_t of_dimension : encoder->parameters_of_dimension()) reported += of_dimension;
      EXPECT_EQ(reported, count) << name_of_enum(kind);
      EXPECT_EQ(encoder->parameters_of_dimension()[0] == 0, last == Norm::layer) << "layer norm needs every channel";
    }
  }
}

TEST(GraphEncoder, OnlyBatchNormHasStatistics) {
  GraphShape shape = shape_of(ConvolutionKind::gcn);
  EXPECT_FALSE(encoder_of(shape)->collect_statistics(true));
  shape.norm = Norm::batch;
  const auto encoder = encoder_of(shape);
  encoder->eval();
  ASSERT_TRUE(encoder->collect_statistics(true));
  const auto batch = batch_with(reference_attributes(), false);
  const torch::Tensor collecting = run(*encoder, *batch);
  EXPECT_TRUE(encoder->collect_statistics(false));
  EXPECT_TRUE(at::equal(run(*encoder, *batch), collecting));
  const torch::Tensor mean = encoder->named_parameters()["norm0.mean"].clone();
  run(*encoder, *batch_with(reference_attributes() * 2, false));
  EXPECT_TRUE(at::equal(encoder->named_parameters()["norm0.mean"], mean)) << "collected only when asked";
}

TEST(GraphEncoder, ClosedHiddenChannelsAreRemovedWhereTheirNormAllowsIt) {
  for (const Norm norm : {Norm::none, Norm::batch, Norm::layer}) {
    for (const ConvolutionKind kind :
         {ConvolutionKind::linear, ConvolutionKind::gcn, ConvolutionKind::sage, ConvolutionKind::gat}) {
      GraphShape shape = shape_of(kind);
      shape.norm = norm;
      shape.residual = Residual::linear;
      const auto encoder = encoder_of(shape);
      GateOptions options = gate_of(UnitKind::fine);
      options.test_rule = TestRule::median;
      const auto sites = sites_of(*encoder, options, {0.4, -9, 0.1, -9});
      encoder->eval();
      const auto batch = batch_with(reference_attributes(), false);
      const torch::Tensor before = run(*encoder, *batch);
      encoder->narrow_hidden(hardened);
      EXPECT_LT(max_abs_difference(run(*encoder, *batch), before), 1e-12) << name_of_enum(kind) << " " << name_of_enum(norm);
      EXPECT_EQ(encoder->shape().widths[0], norm == Norm::layer ? 4 : 2);
    }
  }
}

}  // namespace
}  // namespace l0gm
