#include "training/graph/graph_task.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "l0gm/error.h"
#include "support/temporary_folder.h"
#include "training/tiny_graph.h"

namespace l0gm {
namespace {

using namespace testing_tools;

constexpr double exact = 1e-12;
const std::vector<SamplerKind> all_samplers = {SamplerKind::neighbour, SamplerKind::fastgcn, SamplerKind::saint_node,
                                               SamplerKind::saint_edge, SamplerKind::saint_walk};

double apart(const torch::Tensor& a, const torch::Tensor& b) {
  return a.sizes() == b.sizes() ? (a - b).abs().max().item<double>() : 1e30;
}

std::vector<int64_t> list_of(const torch::Tensor& t) {
  const torch::Tensor values = t.contiguous();
  return {values.data_ptr<int64_t>(), values.data_ptr<int64_t>() + values.numel()};
}

GraphModelOptions options_with(const GraphKind& kind, SamplerKind sampler = SamplerKind::full) {
  GraphModelOptions options = tiny_options(kind);
  options.graph.norm = options.graph.last_norm = Norm::batch;
  options.graph.residual = Residual::linear;
  options.graph.sampler = sampler;
  options.graph.fanout = {3, 2};
  options.graph.layer_nodes = 20;
  options.graph.sampler_threads = 1;
  return options;
}

struct Made {
  std::shared_ptr<Model> model;
  std::unique_ptr<GraphTask> task;
};

Made make_task(const Graph& graph, const GraphModelOptions& options, int64_t batch = 8, uint64_t seed = 1) {
  Made made;
  made.model = tiny_model(graph, options, gate_of_units(UnitKind::dimension));
  made.task = std::make_unique<GraphTask>(graph, options.graph, batch, seed, made.model, torch::kCPU, torch::kFloat64);
  return made;
}

std::shared_ptr<GraphBatch> taken(GraphTask& task, int64_t epoch, int64_t index) {
  return std::dynamic_pointer_cast<GraphBatch>(task.training_batch(epoch, index));
}

// One step's loss, and its gradients in the model.
double step(const Made& made, int64_t epoch, int64_t index) {
  const auto batch = made.task->training_batch(epoch, index);
  made.model->train();
  made.model->zero_grad();
  GatePass pass(annealing_gates, 1, 0, batch->example_ids);
  torch::Tensor loss = made.task->loss(made.model->forward(*batch, pass), *batch).mean();
  loss.backward();
  return loss.item<double>();
}

TEST(GraphInference, AllAtOnceForSomeNodesOrLayerByLayerIsTheSame) {
  for (const bool undirected : {true, false}) {
    for (const GraphKind& kind : graph_kinds()) {
      for (const bool sparse : {false, true}) {
        if (sparse && kind.aggregate == Aggregate::max) continue;
        const Graph graph = tiny_graph({.sparse = sparse, .undirected = undirected});
        const auto model = tiny_model(graph, options_with(kind), gate_of_units(UnitKind::fine));
        const torch::Tensor whole = logits_of(*model, *whole_batch(graph, 2));
        const GraphTensors tensors(graph, torch::kCPU, torch::kFloat64);
        std::vector<int64_t> all(40);
        std::iota(all.begin(), all.end(), 0);
        for (const std::vector<int64_t>& nodes : {all, graph.train, std::vector<int64_t>{31, 5, 2, 2, 39}, {6}}) {
          const auto batch = batch_of_nodes(*model, tensors, whole_block(graph), nodes);
          EXPECT_EQ(list_of(batch->example_ids), nodes);
          const torch::Tensor expected = whole.index_select(0, at::tensor(nodes, torch::kInt64));
          for (const int64_t rows : {0, 1, 7, 1000000}) {
            EXPECT_LT(apart(infer(*model, hardened_gates, *batch, rows), expected), exact)
                << kind.text() << (sparse ? ", sparse, " : ", ") << nodes.size() << " nodes, " << rows << " rows";
          }
        }
      }
    }
  }
}

TEST(GraphInference, ForFewNodesFewRowsAreComputed) {
  const Graph graph = tiny_graph({.nodes = 400});
  const auto model = tiny_model(graph, options_with({"gcn"}), {});
  const GraphTensors tensors(graph, torch::kCPU, torch::kFloat64);
  const std::vector<int64_t> nodes = {17};
  const auto batch = batch_of_nodes(*model, tensors, whole_block(graph), nodes);
  EXPECT_EQ(batch->output_ids.back().size(0), 1);
  EXPECT_EQ(batch->output_ids.front().size(0), 1 + graph.degree(17));
  EXPECT_LT(batch->attributes.rows(), 100);
}

TEST(GraphInference, NodesThatAreNotThereAreRefused) {
  const Graph graph = tiny_graph();
  for (const GraphKind& kind : graph_kinds()) {
    const auto model = tiny_model(graph, options_with(kind), {});
    const auto refusal = [&](const std::vector<int64_t>& nodes) {
      return message_of<UserError>([&] { predict_nodes(*model, hardened_gates, graph, nodes, 0, torch::kCPU, torch::kFloat64); });
    };
    EXPECT_NE(refusal({3, 40}).find("node 40 was asked for"), std::string::npos) << kind.text();
    EXPECT_NE(refusal({-1}).find("node -1 was asked for"), std::string::npos) << kind.text();
    EXPECT_NE(refusal({}).find("no node was asked for"), std::string::npos) << kind.text();
  }
}

TEST(GraphInference, PredictionsKeepTheOrderOfTheNodes) {
  const Graph graph = tiny_graph();
  const auto model = tiny_model(graph, options_with({"gat"}), {});
  const std::vector<int64_t> nodes = {31, 39, 2, 2};
  const Predictions some = predict_nodes(*model, hardened_gates, graph, nodes, 3, torch::kCPU, torch::kFloat64);
  EXPECT_NO_THROW(check_predictions(some));
  EXPECT_EQ(some.rows, nodes);
  EXPECT_EQ(some.classes, graph.classes);
  const torch::Tensor p = mean_probabilities(logits_of(*model, *whole_batch(graph, 2)));
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(some.labels[static_cast<size_t>(i)], graph.labels[nodes[static_cast<size_t>(i)]]);
    for (int64_t c = 0; c < 3; ++c) {
      EXPECT_NEAR(some.row(i)[static_cast<size_t>(c)], p[nodes[static_cast<size_t>(i)]][c].item<double>(), exact);
    }
  }
}

TEST(GraphTask, AFullStepSeesTheTrainingNodes) {
  const Graph graph = tiny_graph();
  for (const GraphKind& kind : graph_kinds()) {
    const Made made = make_task(graph, options_with(kind));
    EXPECT_EQ(made.task->steps_per_epoch(), 1);
    EXPECT_EQ(made.task->class_count(), 3);
    const auto batch = taken(*made.task, 4, 0);
    EXPECT_EQ(list_of(batch->example_ids), graph.train);
    for (size_t i = 0; i < graph.train.size(); ++i) EXPECT_EQ(list_of(batch->targets)[i], graph.labels[graph.train[i]]);
    EXPECT_EQ(taken(*made.task, 5, 0), batch) << "made once";
    const bool ahead = kind.name == "gcn" || (kind.name == "sage" && kind.aggregate == Aggregate::mean);
    EXPECT_EQ(batch->propagated.defined(), ahead) << kind.text() << ": 6 attributes, 8 channels";
    const torch::Tensor seen = infer(*made.model, hardened_gates, *batch, 0);
    EXPECT_LT(apart(seen, logits_of(*made.model, *whole_batch(graph, 2)).index_select(0, at::tensor(graph.train, torch::kInt64))),
              exact);
  }
}

TEST(GraphTask, EdgesDroppedOnTheDeviceAreThoseThatTheHostDrops) {
  for (const bool undirected : {true, false}) {
    for (const GraphKind& kind : graph_kinds()) {
      const Graph graph = tiny_graph({.undirected = undirected});
      GraphModelOptions options = options_with(kind);
      options.graph.drop_edge = 0.3;
      options.graph.attention_dropout = 0.2;  // drawn by the place of an edge
      const Made host = make_task(graph, options), device = make_task(graph, options);
      EXPECT_FALSE(host.task->picks_edges_on_device) << "the host is faster for the processor";
      device.task->picks_edges_on_device = true;
      for (int64_t epoch = 0; epoch < 3; ++epoch) {
        EXPECT_EQ(step(host, epoch, 0), step(device, epoch, 0)) << kind.text();
        const auto wanted = host.model->named_parameters();
        for (const auto& item : device.model->named_parameters()) {
          if (!item.value().grad().defined()) continue;
          EXPECT_TRUE(at::equal(item.value().grad(), wanted[item.key()].grad())) << kind.text() << " " << item.key();
        }
      }
    }
  }
}

TEST(GraphTask, DroppedEdgesAreOthersEveryEpoch) {
  const Graph graph = tiny_graph();
  GraphModelOptions options = options_with({"gcn"});
  options.graph.drop_edge = 0.4;
  const Made made = make_task(graph, options), again = make_task(graph, options);
  const auto first = taken(*made.task, 0, 0), second = taken(*made.task, 1, 0);
  EXPECT_EQ(list_of(first->example_ids), graph.train);
  EXPECT_LT(first->blocks[0]->edges(), graph.edges());
  EXPECT_GT(first->blocks[0]->edges(), 0);
  EXPECT_FALSE(at::equal(first->blocks[0]->offsets, second->blocks[0]->offsets));
  const torch::Tensor left = first->blocks[0]->offsets.diff().to(torch::kFloat64);
  EXPECT_TRUE(at::equal(first->blocks[0]->target_degree, left)) << "degrees are counted anew";
  EXPECT_TRUE(at::equal(taken(*again.task, 1, 0)->blocks[0]->neighbours, second->blocks[0]->neighbours));
  EXPECT_FALSE(first->propagated.defined());
  EXPECT_EQ(step(made, 1, 0), step(again, 1, 0));
  options.graph.drop_edge = 1e-12;
  const auto none = taken(*make_task(graph, options).task, 0, 0);
  options.graph.drop_edge = 0;
  const auto full = taken(*make_task(graph, options).task, 0, 0);
  for (size_t i = 0; i < full->blocks.size(); ++i) {
    EXPECT_TRUE(at::equal(none->blocks[i]->offsets, full->blocks[i]->offsets))
        << "the same rows as without it: batch norm reads no others";
    EXPECT_TRUE(at::equal(none->blocks[i]->neighbours, full->blocks[i]->neighbours));
  }
}

TEST(GraphTask, SampledExamplesAreTrainingNodesWithTheirLabels) {
  const Graph graph = tiny_graph();
  const std::set<int64_t> train(graph.train.begin(), graph.train.end());
  for (const SamplerKind sampler : all_samplers) {
    for (const GraphKind& kind : graph_kinds()) {
      if (kind.name == "mlp") continue;
      SCOPED_TRACE(std::string(name_of_enum(sampler)) + ", " + kind.text());
      const Made made = make_task(graph, options_with(kind, sampler)), again = make_task(graph, options_with(kind, sampler));
      std::multiset<int64_t> seen;
      for (int64_t index = 0; index < made.task->steps_per_epoch(); ++index) {
        const auto batch = taken(*made.task, 2, index);
        const std::vector<int64_t> nodes = list_of(batch->example_ids), labels = list_of(batch->targets);
        seen.insert(nodes.begin(), nodes.end());
        for (size_t i = 0; i < nodes.size(); ++i) {
          EXPECT_TRUE(train.contains(nodes[i])) << nodes[i];
          EXPECT_EQ(labels[i], graph.labels[nodes[i]]);
        }
      }
      if (sampler == SamplerKind::neighbour || sampler == SamplerKind::fastgcn) {
        EXPECT_EQ(made.task->steps_per_epoch(), 3) << "20 training nodes, 8 at a time";
        EXPECT_EQ(seen, (std::multiset<int64_t>(train.begin(), train.end())));
      }
      const double loss = step(made, 2, 0);
      EXPECT_TRUE(std::isfinite(loss));
      EXPECT_EQ(step(made, 2, 0), loss) << "asked for again";
      EXPECT_EQ(step(again, 2, 0), loss) << "asked for first";
      EXPECT_NE(step(made, 3, 0), loss);
    }
  }
}

// Losses that go with the number of neighbours, as the chance of being drawn does: the trainer's estimate of their mean, taken
// over many steps, is their mean. Divided by each batch's own sum of weights it would be off by many standard errors.
TEST(GraphTask, TheLossOfASampledStepIsUnbiased) {
  Graph graph = tiny_graph();
  graph.train = {2, 5, 11, 17, 23, 31};
  torch::Tensor losses = at::empty({graph.nodes}, torch::kFloat64);
  for (int64_t node = 0; node < graph.nodes; ++node) losses[node] = 1.0 / static_cast<double>(1 + graph.degree(node));
  const double wanted = losses.index_select(0, at::tensor(graph.train, torch::kInt64)).mean().item<double>();
  for (const SamplerKind sampler : {SamplerKind::saint_node, SamplerKind::saint_edge}) {
    const Made made = make_task(graph, options_with({"gcn"}, sampler), 6);
    const int64_t per_epoch = made.task->steps_per_epoch();
    double sum = 0, squares = 0;
    const int64_t draws = 4000;
    for (int64_t i = 0; i < draws; ++i) {
      const auto batch = made.task->training_batch(i / per_epoch, i % per_epoch);
      const double loss = step_loss(losses.index_select(0, batch->example_ids), *batch).item<double>();
      sum += loss;
      squares += loss * loss;
    }
    const double mean = sum / static_cast<double>(draws);
    const double error = std::sqrt((squares / static_cast<double>(draws) - mean * mean) / static_cast<double>(draws));
    EXPECT_NEAR(mean, wanted, 4 * error) << name_of_enum(sampler);
  }
}

TEST(GraphTask, RowsOfAnMlpComeInAFreshOrderEveryEpoch) {
  const Graph graph = tiny_graph();
  const Made made = make_task(graph, options_with({"mlp"}, SamplerKind::neighbour));
  ASSERT_EQ(made.task->steps_per_epoch(), 3);
  std::vector<std::vector<int64_t>> orders;
  for (const int64_t epoch : {0, 1, 0}) {
    std::vector<int64_t> order;
    for (int64_t index = 0; index < 3; ++index) {
      for (const int64_t node : list_of(taken(*made.task, epoch, index)->example_ids)) order.push_back(node);
    }
    orders.push_back(order);
  }
  EXPECT_NE(orders[0], orders[1]);
  EXPECT_EQ(orders[0], orders[2]);
  std::sort(orders[1].begin(), orders[1].end());
  EXPECT_EQ(orders[1], graph.train);
}

// D^-1/2 (A + I) D^-1/2, from the graph itself.
torch::Tensor propagation_matrix(const Graph& graph) {
  torch::Tensor matrix = at::eye(graph.nodes, torch::kFloat64);
  for (int64_t v = 0; v < graph.nodes; ++v) {
    for (const int32_t u : graph.in_neighbours(v)) matrix[v][u] = 1;
  }
  const torch::Tensor scale = matrix.sum(1).rsqrt();
  return matrix * scale.unsqueeze(1) * scale.unsqueeze(0);
}

TEST(GraphTask, StatisticsAreThoseOfTheRowsThatTrainingComputes) {
  const Graph graph = tiny_graph();
  for (const std::string name : {"gcn", "mlp"}) {
    GraphModelOptions options = options_with({name}, SamplerKind::neighbour);
    options.model.depth = 1;
    options.graph.residual = Residual::none;
    options.graph.fanout = {2};
    const Made made = make_task(graph, options);
    step(made, 0, 0);
    made.task->predict(*made.model, hardened_gates, Split::valid);
    const auto parameters = made.model->named_parameters();
    const torch::Tensor x = GraphTensors(graph, torch::kCPU, torch::kFloat64).attributes().dense;
    const torch::Tensor read = name == "gcn" ? at::mm(propagation_matrix(graph), x) : x;
    const torch::Tensor rows = (at::mm(read, parameters["encoder.convolution0.weight"]) + parameters["encoder.convolution0.bias"])
                                   .index_select(0, at::tensor(graph.train, torch::kInt64));
    EXPECT_LT(apart(parameters["encoder.norm0.mean"], rows.mean(0)), 1e-7) << "whole neighbourhoods, not sampled ones";
    EXPECT_LT(apart(parameters["encoder.norm0.variance"], rows.var(0, false)), 1e-7);
  }
}

TEST(GraphTask, StatisticsUnderSamplingAreThoseOfAFullPass) {
  const Graph graph = tiny_graph();
  for (const GraphKind& kind : graph_kinds()) {
    const Made full = make_task(graph, options_with(kind));
    step(full, 0, 0);
    const Predictions expected = full.task->predict(*full.model, hardened_gates, Split::valid);
    for (const SamplerKind sampler : all_samplers) {
      GraphModelOptions options = options_with(kind, sampler);
      options.graph.inference_rows = 7;
      const Made sampled = make_task(graph, options);
      step(sampled, 0, 0);
      const Predictions found = sampled.task->predict(*sampled.model, hardened_gates, Split::valid);
      EXPECT_EQ(found.rows, expected.rows);
      for (size_t i = 0; i < expected.probabilities.size(); ++i)
        EXPECT_NEAR(found.probabilities[i], expected.probabilities[i], exact);
      for (const auto& item : full.model->named_parameters()) {
        EXPECT_LT(apart(sampled.model->named_parameters()[item.key()], item.value()), exact) << kind.text() << " " << item.key();
      }
    }
  }
}

TEST(GraphTask, AClassThatTrainingNeverSawHasAProbability) {
  const Graph graph = tiny_graph();
  const Made made = make_task(graph, options_with({"gcn"}));
  EXPECT_TRUE(std::isfinite(step(made, 0, 0)));
  for (const Split split : {Split::valid, Split::test}) {
    const Predictions found = made.task->predict(*made.model, hardened_gates, split);
    EXPECT_NO_THROW(check_predictions(found));
    EXPECT_EQ(found.rows, split == Split::valid ? graph.valid : graph.test);
    EXPECT_TRUE(std::count(found.labels.begin(), found.labels.end(), 2) > 0);
    for (int64_t i = 0; i < found.size(); ++i) EXPECT_GT(found.row(i)[2], 0);
  }
}

TEST(GraphTask, ItCanBeAskedToPredictBeforeItTrains) {
  const Graph graph = tiny_graph();
  for (const GraphKind& kind : graph_kinds()) {
    const Made asked = make_task(graph, options_with(kind)), fresh = make_task(graph, options_with(kind));
    asked.task->predict(*asked.model, hardened_gates, Split::valid);
    EXPECT_EQ(step(asked, 0, 0), step(fresh, 0, 0)) << kind.text();
    for (const auto& item : fresh.model->named_parameters()) {
      if (!item.value().grad().defined()) continue;
      EXPECT_TRUE(at::equal(asked.model->named_parameters()[item.key()].grad(), item.value().grad()))
          << kind.text() << " " << item.key();
    }
  }
}

TEST(GraphTask, WhatIsKeptOfASplitDoesNotKnowTheWeights) {
  const Graph graph = tiny_graph();
  const Made made = make_task(graph, options_with({"sage"}));
  const Predictions before = made.task->predict(*made.model, hardened_gates, Split::valid);
  {
    torch::NoGradGuard no_grad;
    made.model->named_parameters()["encoder.convolution0.weight_root"].mul_(2);
  }
  const Predictions after = made.task->predict(*made.model, hardened_gates, Split::valid);
  EXPECT_NE(after.probabilities, before.probabilities);
  const Predictions direct = predict_nodes(*made.model, hardened_gates, graph, graph.valid, 0, torch::kCPU, torch::kFloat64);
  EXPECT_EQ(direct.probabilities, after.probabilities);
}

}  // namespace
}  // namespace l0gm
