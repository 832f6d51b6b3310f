#include "compact/graph/graph_compaction.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "base/safetensors.h"
#include "compact/candidate.h"
#include "compact/graph/graph_predictor.h"
#include "compact/parity.h"
#include "compact/tiny_graph.h"
#include "l0gm/error.h"
#include "l0gm/runtime.h"

namespace l0gm {
namespace {

using namespace testing_tools;

constexpr double float32_gap = 2e-5;

// Compacts a run and compares the file with the run's own model on every node.
nlohmann::json compact_and_compare(const TrainedTinyGraph& trained) {
  const nlohmann::json result = trained.compact();
  EXPECT_LE(result["parity_float64"].get<double>(), 1e-9);
  EXPECT_LE(result["parity_float32"].get<double>(), result["parity_float32_limit"].get<double>());
  EXPECT_EQ(result["bytes"].get<int64_t>(), static_cast<int64_t>(std::filesystem::file_size(trained.file)));
  const Graph raw = trained.raw();
  const std::vector<int64_t> nodes = every_node(raw);
  EXPECT_EQ(result["rows_checked"].get<int64_t>(), raw.nodes);
  const std::vector<double> wanted = uncompacted(trained.run, nodes).probabilities;
  EXPECT_LE(largest_gap(LoadedGraphModel(trained.file, one_thread_machine()).predict(raw, nodes, 0).probabilities, wanted),
            float32_gap);
  EXPECT_LE(largest_gap(LoadedGraphModel(trained.file, one_thread_machine()).predict(raw, nodes, 7).probabilities, wanted),
            float32_gap);
  EXPECT_LE(largest_gap(LoadedGraphModel(trained.run, one_thread_machine()).predict(raw, nodes, 0).probabilities, wanted),
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
      for (const auto& [name, tensor] : file.tensors()) EXPECT_FALSE(is_gate_name(name)) << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(GraphCompaction, EveryKind,
                         testing::Values(Kind{{"model.name=mlp"}, "weight"}, Kind{{"model.name=gcn"}, "weight"},
                                         Kind{{"model.name=sage"}, "weight_root"},
                                         Kind{{"model.name=sage", "graph.aggregate=max"}, "weight_neighbour"},
                                         Kind{{"model.name=sage", "graph.aggregate=pool"}, "weight_neighbour"},
                                         Kind{{"model.name=gat", "graph.heads=3"}, "weight"}));

TEST(GraphCompaction, GroupsAndMembers) {
  const TrainedTinyGraph trained({"gate.unit=group", "gate.target_active=0.5", "model.members=3", "graph.self_loops=false"});
  const nlohmann::json result = compact_and_compare(trained);
  EXPECT_EQ(result["units"], 6);
  EXPECT_EQ(result["open_units"], 3);
  EXPECT_EQ(SafetensorsFile(trained.file).tensor("head.linear.weight0").shape, (std::vector<int64_t>{3, 6, 4}));
}

TEST(GraphCompaction, FractionalGatesAreFolded) {
  const TrainedTinyGraph trained({"gate.test_rule=median", "gate.lambda=0.05", "train.gate_lr=0.3"});
  const GraphRun run(trained.run, one_thread_machine());
  const torch::Tensor values = run.model->interface_site()->gate->test_values(run.gate_state);
  ASSERT_GT((values.gt(0) & values.lt(0.999)).sum().item<int64_t>(), 0) << values;
  compact_and_compare(trained);
}

// Gates of hidden layers: a closed channel goes where the norm allows it, else its row in the next layer is 0.
TEST(GraphCompaction, FineUnitsOfHiddenLayers) {
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

TEST(GraphCompaction, DenseRunsToo) {
  const TrainedTinyGraph trained({"gate.unit=none", "train.precision=float64"});
  const nlohmann::json result = compact_and_compare(trained);
  EXPECT_EQ(result["units"], 12);
  EXPECT_EQ(result["open_units"], 12);
}

TEST(GraphCompaction, ClosedAttributesAreNotRead) {
  for (const std::string features : {"standard", "rows"}) {
    SCOPED_TRACE(features);
    const TrainedTinyGraph trained({"gate.attach=input", "gate.target_active=0.25", "graph.features=" + features});
    const nlohmann::json result = compact_and_compare(trained);
    EXPECT_EQ(result["columns"], 8);
    EXPECT_EQ(result["closed_columns"].size(), 24U);
    EXPECT_EQ(SafetensorsFile(trained.file).tensor("encoder.convolution0.weight").shape[0], 8);
    const LoadedGraphModel predictor(trained.file, one_thread_machine());
    EXPECT_EQ(predictor.inputs().scaling.width(), features == "rows" ? 32 : 8);  // `rows` needs all for its sums
    if (features == "rows") continue;
    const Graph raw = trained.raw();
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

TEST(GraphCompaction, GroupsOfAttributes) {
  const TrainedTinyGraph trained({"gate.attach=input", "gate.unit=group", "gate.target_active=0.5", "graph.residual=linear",
                                  "model.name=gat", "graph.blocks=8"});
  const nlohmann::json result = compact_and_compare(trained);
  EXPECT_EQ(result["units"], 8);
  EXPECT_EQ(result["open_units"], 4);
  EXPECT_EQ(result["columns"], 16);
}

TEST(GraphCompaction, AModelThatSaysSomethingElseIsRefused) {
  const TrainedTinyGraph run({"gate.target_active=0.25"});
  const NodeCompaction compaction(run.run);
  TrainedGraph trained(run.run);
  const std::vector<int64_t> nodes = nodes_to_check(trained.raw);
  EXPECT_EQ(compaction.checked().rows, std::ssize(nodes));
  const std::vector<double> wanted = trained.probabilities(nodes, Precision::float64);
  const auto check = [&] {
    return require_parity(compaction, trained.narrowed_probabilities(nodes), wanted, algebra_limit, "test");
  };
  EXPECT_LE(check(), algebra_limit);
  {
    torch::NoGradGuard no_grad;
    trained.narrowed.model->named_parameters()["head.bias"].select(1, 0).add_(1e-6);
  }
  const std::string message = message_of<std::runtime_error>(check);
  for (const char* words : {"is not the trained one", "at node ", "P(", "1e-09"})
    EXPECT_NE(message.find(words), std::string::npos) << message;
}

TEST(GraphCompaction, WhatCannotBeCompactedIsRefusedAndNothingIsWritten) {
  const TrainedTinyGraph instance({"gate.logits=instance", "gate.lambda=0.01"});
  EXPECT_NE(message_of<UserError>([&] { instance.compact(); }).find("gate.logits = instance"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(instance.file));
  const Graph raw = instance.raw();  // its folder still predicts
  EXPECT_LE(largest_gap(LoadedGraphModel(instance.run, one_thread_machine()).predict(raw, every_node(raw), 0).probabilities,
                        uncompacted(instance.run, every_node(raw)).probabilities),
            float32_gap);

  const TrainedTinyGraph fine({"gate.target_active=0.5"});
  CompactOptions bits;
  bits.weights = WeightType::int8;
  EXPECT_NE(message_of<UserError>([&] { fine.compact(bits); }).find("--weights int8"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(fine.file));
}

// A run on links: file and run score the same pairs the same.
void expect_links_compacted(const std::vector<std::string>& assignments) {
  const TrainedTinyGraph trained(assignments);
  const nlohmann::json result = trained.compact();
  EXPECT_LE(result["parity_float64"].get<double>(), algebra_limit);
  EXPECT_LE(result["parity_float32"].get<double>(), result["parity_float32_limit"].get<double>());
  EXPECT_EQ(result["open_units"], 6);
  GraphRun run(trained.run, one_thread_machine());
  EXPECT_EQ(result["rows_checked"], run.predict(Split::valid).size());
  LinkCompaction compaction(trained.run);
  EXPECT_EQ(compaction.checked().rows, result["rows_checked"]);
  for (const Split split : {Split::valid, Split::test}) {
    const Predictions wanted = run.predict(split), found = compaction.served(trained.file, split);
    EXPECT_EQ(found.classes, (std::vector<std::string>{"unlinked", "linked"}));
    EXPECT_EQ(found.labels, wanted.labels);
    EXPECT_LE(largest_gap(found.probabilities, wanted.probabilities), least_numerics_limit);
  }
  // Any pairs of any graph: the order of two nodes does not matter, nor how many rows are computed at a time.
  const Graph raw = trained.raw();
  std::vector<Link> pairs = links_of(raw);
  pairs.resize(100);
  for (int32_t i = 0; i < 100; ++i) pairs.push_back({(i * 37) % 240, (i * 101 + 5) % 240});
  std::vector<Link> turned;
  for (const Link& pair : pairs) turned.push_back({pair.second, pair.first});
  const LoadedGraphModel file(trained.file, one_thread_machine()), folder(trained.run, one_thread_machine());
  EXPECT_TRUE(file.predicts_links() && folder.predicts_links());
  const std::vector<double> found = file.predict(raw, pairs, 0).probabilities;
  EXPECT_LE(largest_gap(found, folder.predict(raw, pairs, 0).probabilities), least_numerics_limit);
  EXPECT_LE(largest_gap(found, file.predict(raw, turned, 16).probabilities), least_numerics_limit);
  EXPECT_LE(largest_gap(found, uncompacted_pairs(trained.run, pairs).probabilities), float32_gap);
  const auto [low, high] = std::minmax_element(found.begin(), found.end());
  EXPECT_GT(*high - *low, 0.02) << "pairs differ";
}

TEST(LinkCompaction, BothScorersSayWhatTheRunSays) {
  for (const std::string scorer : {"dot", "mlp"}) {
    SCOPED_TRACE(scorer);
    expect_links_compacted({"graph.task=links", "link.scorer=" + scorer, "gate.target_active=0.5"});
    expect_links_compacted(
        {"graph.task=links", "link.scorer=" + scorer, "gate.target_active=0.5", "model.name=sage", "graph.last_norm=layer"});
  }
}

// The figures in a file can be found again with the file.
TEST(LinkCompaction, TheFileWrittenIsWhatWasJudged) {
  const TrainedTinyGraph trained({"graph.task=links", "gate.target_active=0.5"});
  const nlohmann::json result = trained.compact();
  const GraphFile file = read_graph_model(trained.file);
  EXPECT_TRUE(file.header.net.scorer.has_value());
  EXPECT_EQ(file.header.about["figures"], result["figures"]);
  LinkCompaction compaction(trained.run);
  for (const Split split : {Split::valid, Split::test}) {
    EXPECT_EQ(figures_of(compaction.served(trained.file, split), file.header.calibrator, split),
              result["figures"][std::string(name_of_enum(split))]);
  }
  const auto again = trained.folder.path() / "again.l0gm";
  compaction.write(again, WeightType::float32, compaction.calibrator(), compaction.about());
  EXPECT_EQ(read_graph_model(again).tensors_sha256, file.tensors_sha256);
  const std::string card = read_file(trained.folder.path() / "model.md");
  for (const char* words : {"whether two nodes are linked", "pairs of nodes", "--pairs", "6 of 12 units"})
    EXPECT_NE(card.find(words), std::string::npos) << card;
}

// The runtime without LibTorch says what to do with such a file.
TEST(GraphCompaction, TheRuntimeSendsGraphModelsToPredict) {
  const TrainedTinyGraph trained({"gate.target_active=0.25", "train.epochs=4"});
  trained.compact();
  const std::string message = message_of<UserError>([&] { CompactModel::load(trained.file); });
  for (const char* words : {"kind 'graph'", "needs LibTorch", "l0gm predict", "look-ups"})
    EXPECT_NE(message.find(words), std::string::npos) << message;
  const std::string card = read_file(trained.folder.path() / "model.md");
  for (const char* words : {"## Figures", "3 of 12 units", "training nodes", "## Limits"})
    EXPECT_NE(card.find(words), std::string::npos) << card;
}

}  // namespace
}  // namespace l0gm
