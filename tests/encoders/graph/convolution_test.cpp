#include "encoders/graph/convolution.h"

#include <gtest/gtest.h>

#include "encoders/graph/reference_graph.h"
#include "encoders/graph/toy_blocks.h"
#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using namespace testing_tools;

constexpr double close_enough = 1e-12;
const std::vector<std::string> all_kinds = {"mlp", "gcn", "gat", "sage-mean", "sage-max", "sage-pool"};

torch::Tensor index_of(const std::vector<int64_t>& values) { return at::tensor(values, torch::kInt64); }
const GatePass no_pass = GatePass::evaluation({}, {});

bool takes_sparse(const std::string& kind) { return kind != "sage-max"; }

const nlohmann::json& layer_case(const std::string& kind) {
  for (const auto& found : graph_reference()["layers"]) {
    if (found["kind"] == kind) return found;
  }
  throw std::runtime_error("the reference does not have " + kind);
}

// The reference's layer: 5 inputs, 6 outputs.
std::shared_ptr<Convolution> reference_layer(const std::string& kind) {
  const ReferenceKind made = reference_kind(kind);
  auto layer = make_convolution(made.kind, 5, 6, made.options, {{}, kind == "sage-pool" ? 5 : 0});
  set_weights(*layer, "", layer_case(kind)["weights"]);
  layer->eval();
  return layer;
}

torch::Tensor reference_result(const std::string& kind) { return reference_tensor(layer_case(kind)["result"]); }

torch::Tensor run(Convolution& layer, const LayerRows& x) { return layer.forward(reference_adjacency(), x, no_pass, 0).detach(); }

// In double precision, with a bias that is not 0.
std::shared_ptr<Convolution> random_layer(const std::string& kind, int64_t inputs, int64_t outputs, bool loops) {
  ReferenceKind made = reference_kind(kind);
  made.options.self_loops = loops;
  auto layer = make_convolution(made.kind, inputs, outputs, made.options);
  layer->to(torch::kFloat64);
  torch::NoGradGuard no_grad;
  for (auto& item : layer->named_parameters()) item.value().copy_(numbers(item.value().sizes(), item.key().size()));
  return layer;
}

// A sampled block: with weights, targets that are not the first sources, and degrees that differ from its row lengths.
std::shared_ptr<MessageBlock> sampled_block() {
  auto block = toy_block({.weighted = true, .own = true});
  std::vector<float> target, source;
  for (int64_t v = 0; v < block->targets; ++v) target.push_back(static_cast<float>(v % 4));
  for (int64_t u = 0; u < block->sources; ++u) source.push_back(static_cast<float>((3 * u) % 5));
  block->target_degree = target;
  block->source_degree = source;
  return block;
}

torch::Tensor degrees(const SharedArray<float>& array) {
  return at::tensor(std::vector<float>(array.begin(), array.end())).to(torch::kFloat64);
}

// The aggregation as a dense matrix [targets, sources].
torch::Tensor aggregation_matrix(const std::string& kind, const MessageBlock& block, bool loops) {
  const torch::Tensor sum = dense_matrix(block), own = own_matrix(block);
  const torch::Tensor target = degrees(block.target_degree).unsqueeze(1), source = degrees(block.source_degree).unsqueeze(0);
  if (kind == "gcn") {
    if (!loops) return sum / (target.clamp_min(1) * source.clamp_min(1)).sqrt();
    return sum / ((target + 1) * (source + 1)).sqrt() + own / (target + 1);
  }
  return loops ? (sum + own) / (target + 1) : sum / target.clamp_min(1);
}

TEST(Convolution, EqualsTheReference) {
  for (const std::string& kind : all_kinds) {
    const auto layer = reference_layer(kind);
    EXPECT_EQ(layer->outputs(), 6);
    for (const bool sparse : {false, true}) {
      if (sparse && !takes_sparse(kind)) continue;
      EXPECT_LT(max_abs_difference(run(*layer, layer_rows(reference_attributes(), sparse)), reference_result(kind)), close_enough)
          << kind << (sparse ? ", sparse" : ", dense");
    }
  }
}

TEST(Convolution, MaxRefusesSparseAttributes) {
  const auto layer = reference_layer("sage-max");
  const std::string message = message_of<UserError>([&] { run(*layer, layer_rows(reference_attributes(), true)); });
  EXPECT_NE(message.find("stored sparse"), std::string::npos) << message;
}

// 3 to 7 channels aggregates first, 7 to 3 multiplies first, and so do sparse attributes: one result.
TEST(Convolution, BothOrdersAreTheDenseFormula) {
  const auto block = sampled_block();
  const auto adjacency = Adjacency::of(block, torch::kCPU, torch::kFloat64);
  for (const char* kind : {"gcn", "sage-mean"}) {
    for (const bool loops : {true, false}) {
      for (const auto& [inputs, outputs] : {std::pair<int64_t, int64_t>{3, 7}, {7, 3}}) {
        SCOPED_TRACE(std::string(kind) + (loops ? " with loops, " : ", ") + std::to_string(inputs) + " inputs");
        const auto layer = random_layer(kind, inputs, outputs, loops);
        const auto weights = layer->named_parameters();
        const torch::Tensor x = numbers({9, inputs}, 3), aggregated = at::mm(aggregation_matrix(kind, *block, loops), x);
        const bool gcn = std::string(kind) == "gcn";
        torch::Tensor expected = at::mm(aggregated, weights[gcn ? "weight" : "weight_neighbour"]) + weights["bias"];
        if (!gcn) expected = expected + at::mm(at::mm(own_matrix(*block), x), weights["weight_root"]);
        std::vector<torch::Tensor> gradients;
        for (const bool sparse : {false, true}) {
          const torch::Tensor y = layer->forward(adjacency, layer_rows(x, sparse), no_pass, 0);
          EXPECT_LT(max_abs_difference(y.detach(), expected.detach()), 1e-7) << "degrees are float32";
          layer->zero_grad();
          (y * numbers(y.sizes(), 8)).sum().backward();
          gradients.push_back(weights[gcn ? "weight" : "weight_neighbour"].grad().clone());
        }
        EXPECT_LT(max_abs_difference(gradients[0], gradients[1]), close_enough);
      }
    }
  }
}

TEST(Convolution, AggregatingAheadGivesTheSame) {
  const auto adjacency = Adjacency::of(sampled_block(), torch::kCPU, torch::kFloat64);
  for (const char* kind : {"gcn", "sage-mean"}) {
    const auto layer = random_layer(kind, 3, 7, true);
    LayerRows x = layer_rows(numbers({9, 3}, 3), false);
    for (const bool gated : {false, true}) {
      x.factor = gated ? numbers({3}, 12) : torch::Tensor();
      x.propagated = torch::Tensor();
      const torch::Tensor inside = layer->forward(adjacency, x, no_pass, 0);
      x.propagated = layer->aggregate_ahead(adjacency, x);
      ASSERT_TRUE(x.propagated.defined());
      EXPECT_EQ(x.propagated.sizes(), (std::vector<int64_t>{7, 3}));
      EXPECT_TRUE(at::equal(layer->forward(adjacency, x, no_pass, 0), inside)) << kind;
    }
    const LayerRows wide = layer_rows(numbers({9, 7}), false);
    EXPECT_FALSE(random_layer(kind, 7, 3, true)->aggregate_ahead(adjacency, wide).defined()) << "multiplies first";
    EXPECT_FALSE(layer->aggregate_ahead(adjacency, layer_rows(numbers({9, 3}), true)).defined())
        << "sparse rows are multiplied first";
  }
  for (const char* kind : {"mlp", "gat", "sage-max", "sage-pool"}) {
    EXPECT_FALSE(random_layer(kind, 3, 8, false)->aggregate_ahead(adjacency, layer_rows(numbers({9, 3}), false)).defined())
        << kind;
  }
}

TEST(Convolution, AFactorMultipliesTheInput) {
  const torch::Tensor x = reference_attributes(), factor = at::tensor(std::vector<double>{0, 1, 0.5, 0, 2}, torch::kFloat64);
  for (const std::string& kind : all_kinds) {
    const auto layer = reference_layer(kind);
    const torch::Tensor expected = run(*layer, layer_rows(x * factor, false));
    ASSERT_GT(max_abs_difference(expected, run(*layer, layer_rows(x, false))), 0.01) << kind;
    for (const bool sparse : {false, true}) {
      if (sparse && !takes_sparse(kind)) continue;
      LayerRows rows = layer_rows(x, sparse);
      rows.factor = factor;
      EXPECT_LT(max_abs_difference(run(*layer, rows), expected), close_enough) << kind;
    }
  }
}

TEST(Convolution, NarrowedOutputsKeepTheirValues) {
  for (const std::string& kind : all_kinds) {
    const auto layer = reference_layer(kind);
    const torch::Tensor whole = reference_result(kind), x = reference_attributes();
    layer->narrow_outputs(index_of({0, 1, 4, 5}));
    EXPECT_EQ(layer->outputs(), 4);
    EXPECT_LT(max_abs_difference(run(*layer, layer_rows(x, false)), whole.index_select(1, index_of({0, 1, 4, 5}))), close_enough)
        << kind;
    layer->narrow_outputs(index_of({1, 3}));  // narrowed again: fewer outputs than inputs, which multiplies first
    EXPECT_LT(max_abs_difference(run(*layer, layer_rows(x, false)), whole.index_select(1, index_of({1, 5}))), close_enough)
        << kind;
    if (!takes_sparse(kind)) continue;
    EXPECT_LT(max_abs_difference(run(*layer, layer_rows(x, true)), whole.index_select(1, index_of({1, 5}))), close_enough)
        << kind;
  }
}

TEST(Convolution, NarrowedInputsEqualOthersAtZero) {
  const torch::Tensor x = reference_attributes(), kept = index_of({1, 2, 4});
  const torch::Tensor values = at::tensor(std::vector<double>{1, 0.25, 0.5}, torch::kFloat64);
  const torch::Tensor factor = at::zeros({5}, torch::kFloat64).index_copy(0, kept, values);
  for (const std::string& kind : all_kinds) {
    for (const bool outputs_too : {false, true}) {  // attention's scores are folded onto the input by then
      const auto layer = reference_layer(kind);
      if (outputs_too) layer->narrow_outputs(index_of({0, 2, 3}));
      const torch::Tensor expected = run(*layer, layer_rows(x * factor, false));
      layer->narrow_inputs(kept, values);
      EXPECT_LT(max_abs_difference(run(*layer, layer_rows(x.index_select(1, kept), false)), expected), close_enough)
          << kind << outputs_too;
    }
  }
}

int64_t count(const Convolution& layer) {
  int64_t parameters = 0;
  for (const torch::Tensor& parameter : layer.parameters()) parameters += parameter.numel();
  return parameters;
}

TEST(Convolution, ParametersPerOutputAreThoseThatNarrowingRemoves) {
  for (const std::string& kind : all_kinds) {
    const auto layer = reference_layer(kind);
    if (kind == "gat")
      layer->narrow_outputs(index_of({0, 1, 2, 3, 4, 5}));  // folds the scores, which does not belong to single outputs
    const int64_t before = count(*layer);
    const int64_t per_output = layer->parameters_per_output();
    layer->narrow_outputs(index_of({0, 2, 3, 5}));
    EXPECT_EQ(before - count(*layer), 2 * per_output) << kind;
  }
  EXPECT_EQ(reference_layer("gat")->parameters_per_output(), 5 + 1 + 2) << "weights, bias, both attention vectors";
}

TEST(Convolution, ANarrowedOneCanBeMadeAgain) {
  for (const std::string& kind : all_kinds) {
    const auto layer = reference_layer(kind);
    layer->narrow_outputs(index_of({1, 2, 5}));
    const ReferenceKind made = reference_kind(kind);
    const auto again = make_convolution(made.kind, 5, 3, made.options, layer->narrowed());
    again->to(torch::kFloat64);
    again->eval();
    auto to = again->named_parameters();
    ASSERT_EQ(to.size(), layer->named_parameters().size()) << kind;
    torch::NoGradGuard no_grad;
    for (const auto& item : layer->named_parameters()) {
      ASSERT_EQ(to[item.key()].sizes(), item.value().sizes()) << kind << " " << item.key();
      to[item.key()].copy_(item.value());
    }
    const LayerRows x = layer_rows(reference_attributes(), false);
    EXPECT_TRUE(at::equal(run(*again, x), run(*layer, x))) << kind;
  }
}

TEST(Gat, HeadsMayLoseDifferentNumbersOfChannelsOrAll) {
  const torch::Tensor whole = reference_result("gat");  // channels 0 … 2 are the first head's, 3 … 5 the second's
  for (const std::vector<int64_t>& kept :
       {std::vector<int64_t>{0, 1, 2, 4}, {0, 3, 5}, {3, 4}, {2}, {1, 4}, {0, 1, 2, 3, 4, 5}}) {
    for (const bool sparse : {false, true}) {
      const auto layer = reference_layer("gat");
      layer->narrow_outputs(index_of(kept));
      const torch::Tensor left = run(*layer, layer_rows(reference_attributes(), sparse));
      EXPECT_LT(max_abs_difference(left, whole.index_select(1, index_of(kept))), close_enough)
          << kept.size() << " kept, first " << kept[0];
    }
  }
  const auto layer = reference_layer("gat");
  EXPECT_TRUE(layer->narrowed().heads.empty()) << "nothing is gone yet";
  layer->narrow_outputs(index_of({3, 4}));
  EXPECT_EQ(layer->narrowed().heads, (std::vector<int64_t>{0, 2}));
}

TEST(Gat, HeadsMustDivideTheChannels) {
  ConvolutionOptions options;
  options.heads = 4;
  const std::string message = message_of<UserError>([&] { make_convolution(ConvolutionKind::gat, 5, 6, options); });
  EXPECT_NE(message.find("graph.heads = 4 does not divide a layer's 6 channels"), std::string::npos) << message;
}

TEST(Gat, AttentionIsDroppedInTrainingOnly) {
  ReferenceKind made = reference_kind("gat");
  made.options.attention_dropout = 0.5;
  const auto layer = make_convolution(made.kind, 5, 6, made.options);
  set_weights(*layer, "", layer_case("gat")["weights"]);
  const LayerRows x = layer_rows(reference_attributes(), false);
  const auto at_step = [&](int64_t step, int64_t place) {
    return layer->forward(reference_adjacency(), x, GatePass({}, 1, step, {}), place).detach();
  };
  layer->eval();
  EXPECT_LT(max_abs_difference(at_step(0, 0), reference_result("gat")), close_enough);
  layer->train();
  const torch::Tensor dropped = at_step(0, 0);
  EXPECT_GT(max_abs_difference(dropped, reference_result("gat")), 0.01);
  EXPECT_TRUE(at::equal(at_step(0, 0), dropped));
  EXPECT_FALSE(at::equal(at_step(1, 0), dropped));
  EXPECT_FALSE(at::equal(at_step(0, 1), dropped)) << "layers draw numbers of their own";
  torch::Tensor mean = at::zeros_like(dropped);
  constexpr int64_t draws = 4000;
  for (int64_t step = 0; step < draws; ++step) mean += at_step(step, 0) / draws;
  EXPECT_LT(max_abs_difference(mean, reference_result("gat")), 0.12) << "what is left is scaled up";
}

}  // namespace
}  // namespace l0gm
