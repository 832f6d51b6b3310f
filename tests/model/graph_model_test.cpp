#include "model/graph_model.h"

#include "data/graph/attributes.h"
#include "data/graph/sampler.h"
#include "encoders/graph/graph_encoder.h"
#include "l0gm/error.h"
#include "support/temporary_folder.h"
#include "training/tiny_graph.h"

namespace l0gm {
namespace {

using namespace testing_tools;

const GateState warming{Phase::warmup, 2, 0, 1};
constexpr double exact = 1e-12;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
GraphEncoder& encoder_of(Model& model) { return dynamic_cast<GraphEncoder&>(model.encoder()); }

double apart(const torch::Tensor& a, const torch::Tensor& b) {
  return a.sizes() == b.sizes() ? (a - b).abs().max().item<double>() : 1e30;
}

void set_logits(const GateSite& site, const std::vector<double>& values) {
  torch::NoGradGuard no_grad;
  HardConcrete gate = site.gate;
  gate->logits().copy_(at::tensor(values, torch::kFloat64));
}

// Half of the units closed; the others, by the median rule, open by fractions.
void close_half(const GateSite& site) {
  std::vector<double> logits;
  for (int64_t unit = 0; unit < site.gate->units(); ++unit)
    logits.push_back(unit % 2 != 0 ? -6 : 0.1 + 0.1 * static_cast<double>(unit));
  set_logits(site, logits);
}

// What encoder and head would train: statistics of batch norm are stored, not trained.
int64_t count(const Model& model) {
  int64_t parameters = 0;
  for (const auto& item : model.named_parameters()) {
    const bool served = item.key().starts_with("encoder.") || item.key().starts_with("head.");
    if (served && item.value().requires_grad()) parameters += item.value().numel();
  }
  return parameters;
}

TEST(GraphModel, NamesOfTableModelsAreRefused) {
  const Graph graph = tiny_graph();
  for (const std::string name : {"linear", "fm", "wide-deep", "deepfm", "xdeepfm"}) {
    const std::string message =
        message_of<UserError>([&] { tiny_model(graph, tiny_options({name}), gate_of_units(UnitKind::none)); });
    EXPECT_TRUE(contains(message, "model.name is '" + name + "', and a graph model is one of ")) << message;
  }
  GraphModelOptions options = tiny_options({"gcn"});
  options.model.depth = 0;
  EXPECT_TRUE(contains(message_of<UserError>([&] { tiny_model(graph, options, {}); }), "model.depth is 0"));
  options = tiny_options({"gcn"});
  options.graph.task = GraphTaskKind::links;
  options.model.members = 2;
  EXPECT_TRUE(contains(message_of<UserError>([&] { tiny_model(graph, options, {}); }), "model.members"));
}

TEST(GraphModel, IsWhatItsOptionsSay) {
  GraphModelOptions options = tiny_options({"sage", Aggregate::pool});
  options.model.depth = 3;
  options.model.members = 2;
  options.graph.last_width = 5;
  options.graph.last_norm = Norm::batch;
  options.graph.residual = Residual::linear;
  const Graph graph = tiny_graph();
  const auto model = tiny_model(graph, options, gate_of_units(UnitKind::none));
  const GraphShape& shape = encoder_of(*model).shape();
  EXPECT_EQ(shape.widths, (std::vector<int64_t>{8, 8, 5}));
  EXPECT_EQ(shape.kind, ConvolutionKind::sage);
  EXPECT_FALSE(shape.convolution.self_loops) << "gcn and gat have them unless told otherwise";
  EXPECT_EQ(shape.attribute_names, graph.attribute_names);
  EXPECT_EQ(logits_of(*model, *whole_batch(graph, 3)).sizes(), (std::vector<int64_t>{40, 2, 3}));
  EXPECT_EQ(model->parameter_count(), count(*model));
  EXPECT_TRUE(encoder_of(*tiny_model(graph, tiny_options({"gcn"}), {})).shape().convolution.self_loops);
  options.graph.self_loops = true;
  EXPECT_TRUE(encoder_of(*tiny_model(graph, options, {})).shape().convolution.self_loops);
}

TEST(GraphModel, LogitsStartAtTheBaseRateOrAtEqualOdds) {
  GraphModelOptions options = tiny_options({"gcn"});
  const auto bias = [&] {
    return make_graph_model({{"x"}, {}, {30, 10, 0}}, options, {}, 1)->named_parameters()["head.bias"].flatten();
  };
  EXPECT_NEAR((bias()[0] - bias()[1]).item<double>(), std::log(30.5 / 10.5), 1e-6);
  EXPECT_TRUE(at::isfinite(bias()).all().item<bool>()) << "also of a class without training nodes";
  options.balanced = true;
  EXPECT_TRUE(at::equal(bias()[0], bias()[1]));
}

TEST(GraphModel, WithoutAGateItIsTheDenseModelBitForBit) {
  const Graph graph = tiny_graph();
  const auto batch = whole_batch(graph, 2, torch::kFloat32);
  const auto run = [&](Model& model, const GateState& state) {
    GatePass pass(state, 3, 0, batch->example_ids);
    return model.forward(*batch, pass);
  };
  for (const GraphKind& kind : graph_kinds()) {
    GraphModelOptions options = tiny_options(kind);
    options.model.dropout = options.model.interface_dropout = 0.3;
    const GraphFacts facts{graph.attribute_names, {}, {10, 10, 0}};
    const auto dense = make_graph_model(facts, options, gate_of_units(UnitKind::none), 1);
    EXPECT_TRUE(dense->sites().empty());
    for (const UnitKind unit : {UnitKind::dimension, UnitKind::group, UnitKind::fine}) {
      const auto gated = make_graph_model(facts, options, gate_of_units(unit), 1);
      ASSERT_EQ(gated->sites().size(), unit == UnitKind::fine ? 2u : 1u);
      for (const bool training : {true, false}) {
        dense->train(training);
        gated->train(training);
        EXPECT_TRUE(at::equal(run(*gated, warming), run(*dense, warming))) << kind.text() << " in warm-up";
        EXPECT_TRUE(at::equal(run(*gated, hardened_gates), run(*dense, hardened_gates))) << kind.text() << ", all open";
      }
    }
  }
}

// Both models see a node among different others; its gates are the same numbers.
TEST(GraphModel, NoiseIsKeyedByNodeWhateverTheBatch) {
  const Graph graph = tiny_graph();
  GraphModelOptions options = tiny_options({"sage"});
  options.graph.sampler = SamplerKind::neighbour;
  options.graph.fanout = {2, 2};
  const auto model = tiny_model(graph, options, gate_of_units(UnitKind::dimension));
  set_logits(*model->sites()[0], std::vector<double>(8, 0.0));
  model->train();
  const GraphTensors tensors(graph, torch::kCPU, torch::kFloat64);
  const auto gates_of = [&](const MessagePlan& plan, int64_t step) {
    const auto batch = tensors.batch(plan);
    GatePass pass(annealing_gates, 5, step, batch->example_ids);
    model->interface(*batch, pass);
    torch::Tensor by_node = at::full({graph.nodes, 8}, -1.0, torch::kFloat64);
    by_node.index_copy_(0, batch->example_ids, pass.interface_record()->gated.gates.detach());
    return by_node;
  };
  MessagePlan full;
  full.blocks.assign(2, whole_block(graph));
  const torch::Tensor everywhere = gates_of(full, 0);
  EXPECT_FALSE(at::equal(everywhere[0], everywhere[1]));
  EXPECT_FALSE(at::equal(gates_of(full, 1), everywhere)) << "every step draws anew";
  const auto sampler = make_sampler(graph, options.graph, 2, 6, 1);
  const std::vector<int64_t> nodes = {31, 2, 9};
  for (const MessagePlan& plan : {complete_plan(graph, full.blocks[0], nodes, 2), sampler->draw(0, 0), sampler->draw(1, 1)}) {
    const torch::Tensor some = gates_of(plan, 0), seen = some.select(1, 0).ge(0);
    const int64_t examples = seen.sum().item<int64_t>();
    EXPECT_TRUE(examples >= 3 && examples < 20) << examples;
    EXPECT_TRUE(at::equal(some.index({seen}), everywhere.index({seen})));
  }
}

struct NarrowCase {
  GraphKind kind;
  Norm last_norm;
  Residual residual;
  UnitKind unit;
  TestRule rule;
  std::string text() const {
    return kind.text() + ", norm " + std::string(name_of_enum(last_norm)) + ", residual " + std::string(name_of_enum(residual)) +
           ", " + std::string(name_of_enum(unit)) + ", " + std::string(name_of_enum(rule));
  }
};

std::vector<NarrowCase> narrow_cases(const std::vector<Norm>& norms) {
  std::vector<NarrowCase> cases;
  for (const GraphKind& kind : graph_kinds())
    for (const Norm norm : norms)
      for (const Residual residual : {Residual::none, Residual::linear})
        for (const UnitKind unit : {UnitKind::dimension, UnitKind::group, UnitKind::fine})
          for (const TestRule rule : {TestRule::threshold, TestRule::median}) cases.push_back({kind, norm, residual, unit, rule});
  return cases;
}

std::shared_ptr<Model> half_closed(const Graph& graph, const NarrowCase& wanted) {
  GraphModelOptions options = tiny_options(wanted.kind);
  options.graph.norm = Norm::batch;
  options.graph.last_norm = wanted.last_norm;
  options.graph.residual = wanted.residual;
  options.model.members = 2;
  auto model = tiny_model(graph, options, gate_of_units(wanted.unit, wanted.rule));
  for (const GateSite* site : model->sites()) close_half(*site);
  return model;
}

TEST(GraphModel, NarrowedItSaysTheSameAndComputesNoClosedChannel) {
  const Graph graph = tiny_graph();
  const auto batch = whole_batch(graph, 2);
  for (const NarrowCase& wanted : narrow_cases({Norm::none, Norm::batch})) {
    SCOPED_TRACE(wanted.text());
    const auto model = half_closed(graph, wanted);
    const torch::Tensor before = logits_of(*model, *batch), open = model->open_dimensions(hardened_gates);
    ASSERT_EQ(open.sum().item<int64_t>(), 4);
    EXPECT_EQ(model->parameter_count(), count(*model));
    const int64_t expected = model->parameter_count(open);
    ASSERT_TRUE(model->narrow(hardened_gates));
    EXPECT_LT(apart(logits_of(*model, *batch), before), exact);
    EXPECT_EQ(model->encoder().width(), 4);
    const auto parameters = model->named_parameters();
    const char* weight = wanted.kind.name == "sage" ? "encoder.convolution1.weight_root" : "encoder.convolution1.weight";
    EXPECT_EQ(parameters[weight].size(1), 4);
    EXPECT_EQ(model->interface_site(), nullptr);
    EXPECT_FALSE(model->selected().defined());
    EXPECT_EQ(model->parameter_count(), count(*model));
    // Attention's scores move from the channels to the input when channels go: only then are they counted there.
    if (wanted.kind.name != "gat") {
      EXPECT_EQ(count(*model), expected);
    }
    EXPECT_TRUE(model->narrow(hardened_gates)) << "nothing is left to do";
    if (wanted.unit != UnitKind::fine) continue;
    encoder_of(*model).narrow_hidden(hardened_gates);
    EXPECT_LT(apart(logits_of(*model, *batch), before), exact);
    EXPECT_EQ(encoder_of(*model).shape().widths, (std::vector<int64_t>{4, 4}));
  }
}

TEST(GraphModel, WithLayerNormAtTheInterfaceTheEncoderKeepsItsWidth) {
  const Graph graph = tiny_graph();
  const auto batch = whole_batch(graph, 2);
  for (const NarrowCase& wanted : narrow_cases({Norm::layer})) {
    SCOPED_TRACE(wanted.text());
    const auto model = half_closed(graph, wanted);
    const torch::Tensor before = logits_of(*model, *batch);
    const int64_t expected = model->parameter_count(model->open_dimensions(hardened_gates));
    ASSERT_TRUE(model->narrow(hardened_gates));
    EXPECT_LT(apart(logits_of(*model, *batch), before), exact);
    EXPECT_EQ(model->encoder().width(), 8);
    ASSERT_TRUE(model->selected().defined());
    EXPECT_EQ(model->selected().size(0), 4);
    EXPECT_EQ(count(*model), expected) << "the head is narrower";
    EXPECT_EQ(model->parameter_count(), expected);
  }
}

TEST(GraphModel, GatesThatDependOnTheExampleAreNotNarrowed) {
  const Graph graph = tiny_graph();
  GateOptions gate = gate_of_units(UnitKind::dimension);
  gate.logits = LogitKind::instance;
  const auto model = tiny_model(graph, tiny_options({"gcn"}), gate);
  const auto batch = whole_batch(graph, 2);
  const torch::Tensor before = logits_of(*model, *batch);
  EXPECT_FALSE(model->narrow(hardened_gates));
  EXPECT_EQ(model->encoder().width(), 8);
  EXPECT_TRUE(at::equal(logits_of(*model, *batch), before));
}

// Two heads of four channels.
TEST(GraphModel, HeadsOfAttentionMayLoseDifferentNumbersOfChannelsOrAll) {
  const Graph graph = tiny_graph();
  const auto batch = whole_batch(graph, 2);
  const std::vector<std::vector<double>> all = {{1, -5, -5, 1, -5, 1, 1, 1},
                                                {-5, -5, -5, -5, 1, 1, -5, 1},
                                                {1, 1, 1, 1, -5, -5, -5, -5},
                                                {-5, -5, -5, 1, -5, -5, -5, -5},
                                                {-9, -9, -9, -9, -9, -5, -9, -9}};  // none is open by itself: the largest is
  for (const std::vector<double>& logits : all) {
    const auto model = tiny_model(graph, tiny_options({"gat"}), gate_of_units(UnitKind::dimension));
    set_logits(*model->sites()[0], logits);
    const torch::Tensor before = logits_of(*model, *batch);
    const int64_t open = model->open_dimensions(hardened_gates).sum().item<int64_t>();
    ASSERT_TRUE(model->narrow(hardened_gates));
    EXPECT_EQ(model->encoder().width(), open);
    EXPECT_LT(apart(logits_of(*model, *batch), before), exact) << open << " open";
    EXPECT_EQ(model->parameter_count(), count(*model));
  }
}

TEST(GraphModel, NarrowedInputsAreReadNoMore) {
  for (const GraphKind& kind : graph_kinds()) {
    for (const Residual residual : {Residual::none, Residual::linear}) {
      for (const UnitKind unit : {UnitKind::dimension, UnitKind::group}) {
        for (const bool sparse : {false, true}) {
          if (sparse && kind.aggregate == Aggregate::max) continue;
          const Graph graph = tiny_graph({.sparse = sparse});
          GraphModelOptions options = tiny_options(kind);
          options.graph.residual = residual;
          GateOptions gate = gate_of_units(unit, TestRule::median);
          gate.attach = Attach::input;
          const auto model = tiny_model(graph, options, gate);
          SCOPED_TRACE(kind.text() + ", " + std::string(name_of_enum(unit)) + (sparse ? ", sparse" : ", dense"));
          const GateSite& site = *model->sites()[0];
          ASSERT_EQ(model->interface_site(), nullptr);
          close_half(site);
          const torch::Tensor before = logits_of(*model, *whole_batch(graph, 2));
          torch::Tensor values = site.gate->test_values(hardened_gates);
          if (site.index.defined()) values = values.index_select(0, site.index);
          const torch::Tensor kept = values.gt(0).nonzero().squeeze(1);
          ASSERT_LT(kept.size(0), 6);
          encoder_of(*model).narrow_inputs(kept, values.index_select(0, kept));
          const Graph less = select_attributes(graph, {kept.data_ptr<int64_t>(), kept.data_ptr<int64_t>() + kept.size(0)});
          EXPECT_LT(apart(logits_of(*model, *whole_batch(less, 2)), before), exact);
          EXPECT_EQ(encoder_of(*model).shape().attribute_names, less.attribute_names);
          EXPECT_EQ(count(*model), count(*tiny_model(less, options, gate_of_units(UnitKind::none))))
              << "as if it had never read the others";
          EXPECT_EQ(model->parameter_count(), count(*model));
        }
      }
    }
  }
}

}  // namespace
}  // namespace l0gm
