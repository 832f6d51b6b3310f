#include "compact/graph/compact_graph.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "base/safetensors.h"
#include "compact/graph/graph_file.h"
#include "compact/graph/graph_predictor.h"
#include "compact/tiny_graph.h"
#include "l0gm/error.h"
#include "l0gm/runtime.h"

namespace l0gm {
namespace {

using namespace testing_tools;

constexpr double float32_gap = 2e-5;

// Compacts a run and compares the file with the run's own model on every node.
nlohmann::json compact_and_compare(const TrainedTinyGraph& trained) {
  const nlohmann::json result = compact_run(trained.run, trained.file, {});
  EXPECT_LE(result["parity_float64"].get<double>(), 1e-9);
  EXPECT_LE(result["parity_float32"].get<double>(), result["parity_float32_limit"].get<double>());
  EXPECT_EQ(result["bytes"].get<int64_t>(), static_cast<int64_t>(std::filesystem::file_size(trained.file)));
  const Graph raw = load_run_graph(load_graph_run(trained.run, one_thread_machine()));
  const std::vector<int64_t> nodes = every_node(raw);
  EXPECT_EQ(result["rows_checked"].get<int64_t>(), raw.nodes);
  const std::vector<double> wanted = uncompacted(trained.run, nodes).probabilities;
  EXPECT_LE(largest_gap(GraphPredictor(trained.file, one_thread_machine()).predict(raw, nodes, 0).probabilities, wanted),
            float32_gap);
  EXPECT_LE(largest_gap(GraphPredictor(trained.file, one_thread_machine()).predict(raw, nodes, 7).probabilities, wanted),
            float32_gap);
  EXPECT_LE(largest_gap(GraphPredictor(trained.run, one_thread_machine()).predict(raw, nodes, 0).probabilities, wanted),
            float32_gap);
  return result;
}

struct Kind {
  std::vector<std::string> assignments;
  std::string last;  // tensor of the last convolution that has a column per channel
};

class EveryKind : public testing::TestWithParam<Kind> {};

TEST_P(EveryKind, ClosedChannelsAreGoneAndTheFileSaysWhatTheRunSays) {
  for (const std::string norm : {"none", "batch", "layer"}) {
    for (const std::string residual : {"none", "linear"}) {
      std::vector<std::string> assignments = GetParam().assignments;
      for (const std::string& one : {"graph.last_norm=" + norm, "graph.norm=" + (norm == "none" ? std::string("batch") : norm),
                                     "graph.residual=" + residual, std::string("gate.target_active=0.25")}) {
        assignments.push_back(one);
      }
      SCOPED_TRACE(norm + " " + residual);
      const TrainedTinyGraph trained(assignments);
      const nlohmann::json result = compact_and_compare(trained);
      EXPECT_EQ(result["units"], 12);
      EXPECT_EQ(result["open_units"], 3);
      const bool narrowed = norm != "layer";
      EXPECT_EQ(result["encoder_narrowed"].get<bool>(), narrowed);
      const SafetensorsFile file(trained.file);
      const int64_t width = narrowed ? 3 : 12;
      EXPECT_EQ(file.tensor("encoder.convolution1." + GetParam().last).shape.back(), width);
      EXPECT_EQ(file.tensor("head.linear.weight0").shape, (std::vector<int64_t>{1, 3, 4}));
      if (residual == "linear") {
        EXPECT_EQ(file.tensor("encoder.residual1").shape, (std::vector<int64_t>{12, width}));
      }
      if (norm != "none") {
        EXPECT_EQ(file.tensor("encoder.norm1.weight").shape, std::vector<int64_t>{width});
      }
      for (const auto& [name, tensor] : file.tensors()) EXPECT_FALSE(is_gate_parameter(name)) << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(CompactGraph, EveryKind,
                         testing::Values(Kind{{"model.name=mlp"}, "weight"}, Kind{{"model.name=gcn"}, "weight"},
                                         Kind{{"model.name=sage"}, "weight_root"},
                                         Kind{{"model.name=sage", "graph.aggregate=max"}, "weight_neighbour"},
                                         Kind{{"model.name=sage", "graph.aggregate=pool"}, "weight_neighbour"},
                                         Kind{{"model.name=gat", "graph.heads=3"}, "weight"}));

TEST(CompactGraph, GroupsAndMembers) {
  const TrainedTinyGraph trained({"gate.unit=group", "gate.target_active=0.5", "model.members=3", "graph.self_loops=false"});
  const nlohmann::json result = compact_and_compare(trained);
  EXPECT_EQ(result["units"], 6);
  EXPECT_EQ(result["open_units"], 3);
  EXPECT_EQ(SafetensorsFile(trained.file).tensor("head.linear.weight0").shape, (std::vector<int64_t>{3, 6, 4}));
}

TEST(CompactGraph, FractionalGatesAreFolded) {
  const TrainedTinyGraph trained({"gate.test_rule=median", "gate.lambda=0.05", "train.gate_lr=0.3"});
  LoadedGraph run = load_graph_run(trained.run, one_thread_machine());
  const torch::Tensor values = run.model->interface_site()->gate->test_values(run.gate_state);
  ASSERT_GT((values.gt(0) & values.lt(0.999)).sum().item<int64_t>(), 0) << values;
  compact_and_compare(trained);
}

// Gates of hidden layers: a closed channel goes where the norm allows it, else its row in the next layer is 0.
TEST(CompactGraph, FineUnitsOfHiddenLayers) {
  for (const std::string norm : {"batch", "layer"}) {
    for (const std::string model : {"gcn", "sage", "gat"}) {
      SCOPED_TRACE(norm + " " + model);
      const TrainedTinyGraph trained({"gate.unit=fine", "gate.target_active=0.4", "graph.norm=" + norm, "model.name=" + model,
                                      "graph.residual=linear", "model.depth=3"});
      const nlohmann::json result = compact_and_compare(trained);
      EXPECT_EQ(result["units"], 36);
      const auto widths = read_graph_model(trained.file).header.net.encoder.widths;
      EXPECT_EQ(widths[0] + widths[1] + widths[2] < 24, norm == "batch") << widths[0] << " " << widths[1] << " " << widths[2];
      EXPECT_LT(widths[2], 12);
    }
  }
}

TEST(CompactGraph, DenseRunsToo) {
  const TrainedTinyGraph trained({"gate.unit=none", "train.precision=float64"});
  const nlohmann::json result = compact_and_compare(trained);
  EXPECT_EQ(result["units"], 12);
  EXPECT_EQ(result["open_units"], 12);
}

TEST(CompactGraph, ClosedAttributesAreNotRead) {
  for (const std::string features : {"standard", "rows"}) {
    SCOPED_TRACE(features);
    const TrainedTinyGraph trained({"gate.attach=input", "gate.target_active=0.25", "graph.features=" + features});
    const nlohmann::json result = compact_and_compare(trained);
    EXPECT_EQ(result["columns"], 8);
    EXPECT_EQ(result["closed_columns"].size(), 24U);
    EXPECT_EQ(SafetensorsFile(trained.file).tensor("encoder.convolution0.weight").shape[0], 8);
    const GraphPredictor predictor(trained.file, one_thread_machine());
    EXPECT_EQ(predictor.inputs().scaling.width(), features == "rows" ? 32 : 8);  // `rows` needs all for its sums
    if (features == "rows") continue;
    const Graph raw = load_run_graph(load_graph_run(trained.run, one_thread_machine()));
    std::vector<int64_t> open;
    for (const std::string& name : predictor.inputs().names) {
      open.push_back(std::find(raw.attribute_names.begin(), raw.attribute_names.end(), name) - raw.attribute_names.begin());
    }
    const std::vector<int64_t> nodes = every_node(raw);
    EXPECT_EQ(predictor.predict(select_attributes(raw, open), nodes, 0).probabilities,
              predictor.predict(raw, nodes, 0).probabilities);
    open.pop_back();
    const std::string message = message_of<UserError>([&] { predictor.predict(select_attributes(raw, open), nodes, 0); });
    EXPECT_NE(message.find("lacks 1 of the 8 attributes"), std::string::npos) << message;
    EXPECT_NE(message.find(predictor.inputs().names.back()), std::string::npos) << message;
  }
}

TEST(CompactGraph, GroupsOfAttributes) {
  const TrainedTinyGraph trained({"gate.attach=input", "gate.unit=group", "gate.target_active=0.5", "graph.residual=linear",
                                  "model.name=gat", "graph.blocks=8"});
  const nlohmann::json result = compact_and_compare(trained);
  EXPECT_EQ(result["units"], 8);
  EXPECT_EQ(result["open_units"], 4);
  EXPECT_EQ(result["columns"], 16);
}

TEST(CompactGraph, AModelThatSaysSomethingElseIsRefused) {
  const TrainedTinyGraph run({"gate.target_active=0.25"});
  TrainedGraph trained(run.run);
  const std::vector<int64_t> nodes = nodes_to_check(trained.raw);
  const std::vector<double> wanted = trained.probabilities(nodes, true);
  EXPECT_LE(check_nodes(trained.narrowed_probabilities(nodes), wanted, algebra_limit, trained.raw, nodes, "test"), algebra_limit);
  {
    torch::NoGradGuard no_grad;
    trained.narrowed.model->named_parameters()["head.bias"].select(1, 0).add_(1e-6);
  }
  const std::string message = message_of<std::runtime_error>(
      [&] { check_nodes(trained.narrowed_probabilities(nodes), wanted, algebra_limit, trained.raw, nodes, "test"); });
  for (const char* words : {"is not the trained one", "at node ", "P(", "1e-09"})
    EXPECT_NE(message.find(words), std::string::npos) << message;
}

TEST(CompactGraph, WhatCannotBeCompactedIsRefusedAndNothingIsWritten) {
  const TrainedTinyGraph instance({"gate.logits=instance", "gate.lambda=0.01"});
  EXPECT_NE(message_of<UserError>([&] { compact_run(instance.run, instance.file, {}); }).find("gate.logits = instance"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(instance.file));
  const Graph raw = load_run_graph(load_graph_run(instance.run, one_thread_machine()));  // its folder still predicts
  EXPECT_LE(largest_gap(GraphPredictor(instance.run, one_thread_machine()).predict(raw, every_node(raw), 0).probabilities,
                        uncompacted(instance.run, every_node(raw)).probabilities),
            float32_gap);

  const TrainedTinyGraph links({"graph.task=links", "gate.target_active=0.5", "train.epochs=2"});
  EXPECT_NE(message_of<UserError>([&] { compact_run(links.run, links.file, {}); }).find("links"), std::string::npos);
  const GraphPredictor asked(links.run, one_thread_machine());  // its folder still predicts
  EXPECT_TRUE(asked.predicts_links());
  const Predictions one_way = asked.predict(raw, std::vector<Link>{{3, 9}, {0, 1}}, 0),
                    other_way = asked.predict(raw, std::vector<Link>{{9, 3}}, 16);
  EXPECT_EQ(one_way.classes, (std::vector<std::string>{"unlinked", "linked"}));
  EXPECT_NEAR(one_way.row(0)[1], other_way.row(0)[1], 1e-6);

  const TrainedTinyGraph fine({"gate.target_active=0.5"});
  CompactOptions bits;
  bits.weights = WeightType::int8;
  EXPECT_NE(message_of<UserError>([&] { compact_run(fine.run, fine.file, bits); }).find("--weights int8"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(fine.file));
}

// The runtime without LibTorch says what to do with such a file.
TEST(CompactGraph, TheRuntimeSendsGraphModelsToPredict) {
  const TrainedTinyGraph trained({"gate.target_active=0.25", "train.epochs=4"});
  compact_run(trained.run, trained.file, {});
  const std::string message = message_of<UserError>([&] { CompactModel::load(trained.file); });
  for (const char* words : {"graph model", "l0gm predict", "--nodes"})
    EXPECT_NE(message.find(words), std::string::npos) << message;
  const std::string card = read_file(trained.folder.path() / "model.md");
  for (const char* words : {"## Figures", "3 of 12 units", "training nodes", "## Limits"})
    EXPECT_NE(card.find(words), std::string::npos) << card;
}

}  // namespace
}  // namespace l0gm
