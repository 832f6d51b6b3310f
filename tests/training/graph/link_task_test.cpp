#include "training/graph/link_task.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <set>

#include "base/random.h"
#include "l0gm/error.h"
#include "metrics/scores.h"
#include "model/graph_model.h"
#include "training/adamw.h"

namespace l0gm {
namespace {

constexpr int64_t attributes = 16;

// Pairs in the same of `communities` are linked by one chance, others by another. Attributes are noise: all there is to learn is
// the structure.
Graph make_graph(int64_t nodes, int64_t communities, double inside, double outside, uint64_t seed) {
  RandomStream random(seed);
  Graph graph;
  graph.name = "made";
  graph.nodes = nodes;
  EdgeList edges;
  for (int32_t a = 0; a < nodes; ++a) {
    for (int32_t b = 0; b < a; ++b) {
      if (random.uniform() >= (a % communities == b % communities ? inside : outside)) continue;
      edges.from.push_back(a);
      edges.to.push_back(b);
    }
  }
  build_adjacency(graph, std::move(edges), true);
  std::vector<float> values;
  for (int64_t i = 0; i < nodes * attributes; ++i) values.push_back(static_cast<float>(random.normal()));
  graph.attributes = attributes;
  graph.dense = std::move(values);
  return graph;
}

Graph random_graph(int64_t nodes = 60) { return make_graph(nodes, 1, 0.15, 0.15, 3); }

class LinkTasks : public testing::Test {
 protected:
  LinkTasks() {
    at::set_num_threads(1);
    options_.model.name = "gcn";
    options_.model.hidden = 16;
    options_.model.dropout = options_.model.interface_dropout = 0;
    options_.graph.task = GraphTaskKind::links;
    options_.link.valid = options_.link.test = 0.15;
    gate_.unit = UnitKind::none;
  }
  void make(const Graph& graph, int64_t batch = 100, uint64_t seed = 0, uint64_t split_seed = 0) {
    std::vector<std::string> names;
    for (int64_t i = 0; i < attributes; ++i) names.push_back(std::to_string(i));
    model_ = make_graph_model({names, {}, {1, 1}}, options_, gate_, seed);
    task_ = std::make_unique<LinkTask>(graph, options_.graph, options_.link, batch, seed, split_seed, model_, torch::kCPU,
                                       torch::kFloat32);
  }
  std::shared_ptr<GraphBatch> batch(int64_t epoch, int64_t index) const {
    return std::dynamic_pointer_cast<GraphBatch>(task_->training_batch(epoch, index));
  }
  void train(int64_t epochs, double lr) {
    TensorMap parameters;
    for (auto& item : model_->named_parameters()) {
      if (item.value().requires_grad()) parameters[item.key()] = item.value();
    }
    AdamW optimiser({{lr, 0, parameters}});
    for (int64_t step = 0; step < epochs * task_->steps_per_epoch(); ++step) {
      const auto given = task_->training_batch(step / task_->steps_per_epoch(), step % task_->steps_per_epoch());
      model_->train();
      GatePass pass({}, 0, step, given->example_ids);
      optimiser.clear_gradients();
      task_->loss(model_->forward(*given, pass), *given).mean().backward();
      optimiser.step(1, 0);
    }
  }

  GraphModelOptions options_;
  GateOptions gate_;
  std::shared_ptr<Model> model_;
  std::unique_ptr<LinkTask> task_;
};

std::vector<Link> pairs_in(const torch::Tensor& pairs, int64_t begin, int64_t end) {
  std::vector<Link> links;
  for (int64_t i = begin; i < end; ++i) links.push_back({pairs[i][0].item<int32_t>(), pairs[i][1].item<int32_t>()});
  return links;
}

std::set<Link> links_in(const Adjacency& block) {
  std::set<Link> links;
  const auto* offsets = block.offsets.const_data_ptr<int64_t>();
  const auto* heard = block.neighbours.const_data_ptr<int32_t>();
  for (int32_t v = 0; v < block.targets(); ++v) {
    for (int64_t e = offsets[v]; e < offsets[v + 1]; ++e) links.insert({std::min(v, heard[e]), std::max(v, heard[e])});
  }
  return links;
}

TEST_F(LinkTasks, AnEpochAsksAboutEveryTrainingLinkOnce) {
  const Graph graph = random_graph();
  options_.link.negatives = 2;
  make(graph, 50);
  const auto count = static_cast<int64_t>(task_->split().train.size());
  ASSERT_EQ(task_->steps_per_epoch(), (count + 49) / 50);
  std::vector<Link> asked;
  for (int64_t index = 0; index < task_->steps_per_epoch(); ++index) {
    const auto given = batch(4, index);
    const int64_t links = std::min<int64_t>(50, count - index * 50);
    ASSERT_EQ(given->pairs.sizes(), (std::vector<int64_t>{3 * links, 2}));
    EXPECT_TRUE(at::equal(given->targets, at::cat({at::ones({links}, torch::kInt64), at::zeros({2 * links}, torch::kInt64)})));
    EXPECT_TRUE(at::equal(given->example_ids, at::arange(graph.nodes))) << "noise is keyed by node";
    EXPECT_FALSE(given->weights.defined());
    EXPECT_FALSE(given->examples.defined());
    for (const Link& link : pairs_in(given->pairs, 0, links)) asked.push_back(link);
  }
  std::sort(asked.begin(), asked.end());
  EXPECT_EQ(asked, task_->split().train) << "and about none that is held out";
}

TEST_F(LinkTasks, MessagesPassOverTheOtherTrainingLinksOnly) {
  const Graph graph = random_graph();
  make(graph, 40);
  for (int64_t index = 0; index < task_->steps_per_epoch(); ++index) {
    const auto given = batch(0, index);
    const int64_t links = given->targets.sum().item<int64_t>();
    std::set<Link> wanted(task_->split().train.begin(), task_->split().train.end());
    for (const Link& link : pairs_in(given->pairs, 0, links)) wanted.erase(link);
    ASSERT_EQ(given->blocks.size(), 2U);
    for (const auto& block : given->blocks) {
      EXPECT_EQ(links_in(*block), wanted);
      EXPECT_TRUE(at::equal(block->target_degree, at::diff(block->offsets).to(torch::kFloat32))) << "degrees are counted anew";
    }
  }
}

TEST_F(LinkTasks, DroppedEdgesGoBesides) {
  const Graph graph = random_graph();
  options_.graph.drop_edge = 0.5;
  make(graph, 40);
  const auto given = batch(0, 0);
  const auto left = links_in(*given->blocks[0]);
  const size_t others = task_->split().train.size() - 40;
  EXPECT_GT(left.size(), others / 4);
  EXPECT_LT(left.size(), others * 3 / 4);
  for (const Link& link : pairs_in(given->pairs, 0, 40)) EXPECT_FALSE(left.contains(link));
  EXPECT_NE(left, links_in(*batch(1, 0)->blocks[0]));
}

TEST_F(LinkTasks, LinksAreTakenOutOnTheDeviceAsByTheHost) {
  const Graph graph = random_graph();
  for (const double drop : {0.0, 0.3}) {
    options_.graph.drop_edge = drop;
    make(graph, 40);
    EXPECT_FALSE(task_->picks_edges_on_device) << "the host is faster for the processor";
    for (int64_t index = 0; index < 3; ++index) {
      task_->picks_edges_on_device = false;
      const auto host = batch(2, index);
      task_->picks_edges_on_device = true;
      const auto device = batch(2, index);
      EXPECT_TRUE(at::equal(host->pairs, device->pairs));
      for (size_t layer = 0; layer < 2; ++layer) {
        EXPECT_TRUE(at::equal(host->blocks[layer]->offsets, device->blocks[layer]->offsets));
        EXPECT_TRUE(at::equal(host->blocks[layer]->neighbours, device->blocks[layer]->neighbours));
        EXPECT_TRUE(at::equal(host->blocks[layer]->source_degree, device->blocks[layer]->source_degree));
      }
    }
  }
}

TEST_F(LinkTasks, NegativesAreNoTrainingLinksAndSpareNoHeldOutOnes) {
  const Graph graph = random_graph();
  make(graph);
  const std::set<Link> train(task_->split().train.begin(), task_->split().train.end());
  std::set<Link> drawn;
  for (int64_t epoch = 0; epoch < 40; ++epoch) {
    const auto given = batch(epoch, 0);
    const auto pairs = pairs_in(given->pairs, 100, 200);
    EXPECT_EQ(std::set<Link>(pairs.begin(), pairs.end()).size(), 100U) << "different from each other";
    drawn.insert(pairs.begin(), pairs.end());
  }
  for (const Link& pair : drawn) {
    EXPECT_LT(pair.first, pair.second);
    EXPECT_FALSE(train.contains(pair));
  }
  // Were test links never drawn as negatives, training would tell them from the pairs that are.
  const auto& test = task_->split().test;
  const auto hit = std::count_if(test.begin(), test.end(), [&](const Link& link) { return drawn.contains(link); });
  const double share = static_cast<double>(drawn.size()) / static_cast<double>(60 * 59 / 2 - train.size());
  EXPECT_GT(share, 0.8) << "nearly all are drawn sooner or later";
  EXPECT_NEAR(static_cast<double>(hit) / static_cast<double>(test.size()), share, 0.2);
}

TEST_F(LinkTasks, TheSameArgumentsGiveTheSameBatch) {
  const Graph graph = random_graph();
  make(graph, 40);
  const auto a = batch(3, 2);
  batch(7, 0);
  EXPECT_TRUE(at::equal(a->pairs, batch(3, 2)->pairs));
  EXPECT_FALSE(at::equal(a->pairs, batch(4, 2)->pairs));
  const auto other = batch(3, 1);
  EXPECT_FALSE(at::equal(a->pairs.narrow(0, 40, 40), other->pairs.narrow(0, 40, 40))) << "negatives are drawn afresh";
  make(graph, 40);
  const auto again = batch(3, 2);
  EXPECT_TRUE(at::equal(a->pairs, again->pairs));
  EXPECT_TRUE(at::equal(a->blocks[0]->neighbours, again->blocks[0]->neighbours));
  make(graph, 40, 1);
  EXPECT_FALSE(at::equal(a->pairs, batch(3, 2)->pairs));
}

TEST_F(LinkTasks, SplitAndEvaluationFollowTheSplitSeedAlone) {
  const Graph graph = random_graph();
  make(graph, 40, 0, 5);
  const auto test = task_->split().test;
  const auto model = model_;
  const Predictions first = task_->predict(*model, {}, Split::test);
  make(graph, 40, 1, 5);
  EXPECT_EQ(test, task_->split().test);
  EXPECT_EQ(first.probabilities, task_->predict(*model, {}, Split::test).probabilities);
  make(graph, 40, 0, 6);
  EXPECT_NE(test, task_->split().test);
}

TEST_F(LinkTasks, PredictionsAreOfLinksAndAsManyOthers) {
  const Graph graph = random_graph();
  make(graph, 40);
  const Predictions found = task_->predict(*model_, {}, Split::valid);
  check_predictions(found);
  const auto links = static_cast<int64_t>(task_->split().valid.size());
  EXPECT_EQ(found.classes, (std::vector<std::string>{"unlinked", "linked"}));
  ASSERT_EQ(found.size(), 2 * links);
  for (int64_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found.rows[static_cast<size_t>(i)], i);
    EXPECT_EQ(found.labels[static_cast<size_t>(i)], i < links ? 1 : 0);
  }
  EXPECT_EQ(task_->predict(*model_, {}, Split::test).size(), 2 * static_cast<int64_t>(task_->split().test.size()));
  EXPECT_NE(found.probabilities, task_->predict(*model_, {}, Split::test).probabilities);
  EXPECT_THROW(task_->predict(*model_, {}, Split::train), UserError);
}

// Wide enough that pairs are scored in several blocks, against all at once over the training graph.
TEST_F(LinkTasks, BlocksOfPairsMakeNoDifference) {
  const Graph graph = random_graph(300);
  options_.graph.last_width = 16384;  // 1,024 pairs at a time
  options_.link.scorer = LinkScorer::dot;
  make(graph, 1000);
  const Predictions found = task_->predict(*model_, {}, Split::test);
  ASSERT_GT(found.size(), 2000);
  const auto& test = task_->split().test;
  std::vector<Link> held_out = task_->split().valid;
  held_out.insert(held_out.end(), test.begin(), test.end());
  MessagePlan plan;
  plan.blocks.assign(2, whole_block(without_links(graph, held_out)));
  const auto whole = GraphTensors(graph, torch::kCPU, torch::kFloat32).batch(plan);
  std::vector<int64_t> numbers;
  for (const Link& link : test) numbers.insert(numbers.end(), {link.first, link.second});
  whole->pairs = at::tensor(numbers, torch::kInt64).view({-1, 2});
  torch::NoGradGuard no_grad;
  model_->eval();
  GatePass pass = GatePass::evaluation({}, whole->example_ids);
  const torch::Tensor wanted = model_->forward(*whole, pass).view({-1}).sigmoid();
  for (size_t i = 0; i < test.size(); ++i) {
    EXPECT_NEAR(found.row(static_cast<int64_t>(i))[1], wanted[static_cast<int64_t>(i)].item<double>(), 1e-5);
  }
}

TEST_F(LinkTasks, BatchNormIsMeasuredOverTheTrainingGraph) {
  const Graph graph = random_graph();
  options_.graph.norm = options_.graph.last_norm = Norm::batch;
  make(graph, 40);
  const torch::Tensor mean = model_->named_parameters()["encoder.norm1.mean"];
  ASSERT_TRUE(mean.defined());
  EXPECT_EQ(mean.abs().max().item<double>(), 0);
  const Predictions found = task_->predict(*model_, {}, Split::test);
  EXPECT_GT(mean.abs().max().item<double>(), 0);
  EXPECT_EQ(found.probabilities, task_->predict(*model_, {}, Split::test).probabilities);
}

TEST_F(LinkTasks, GatesActOnNodes) {
  const Graph graph = random_graph();
  gate_.unit = UnitKind::dimension;
  make(graph, 40);
  const auto given = batch(0, 0);
  GatePass pass({}, 0, 0, given->example_ids);
  EXPECT_EQ(model_->forward(*given, pass).sizes(), (std::vector<int64_t>{80, 1, 1}));
  ASSERT_NE(pass.interface_record(), nullptr);
  EXPECT_EQ(pass.interface_record()->gated.value.sizes(), (std::vector<int64_t>{60, 16}));
  check_predictions(task_->predict(*model_, {}, Split::valid));
}

TEST_F(LinkTasks, AnMlpHearsNobodyAndMayBeAskedAboutAllAtOnce) {
  const Graph graph = random_graph();
  options_.model.name = "mlp";
  make(graph, 100000);
  EXPECT_EQ(task_->steps_per_epoch(), 1);
  EXPECT_TRUE(batch(0, 0)->blocks.empty());
  check_predictions(task_->predict(*model_, {}, Split::test));
}

TEST_F(LinkTasks, AStepAsksAboutAQuarterOfTheLinksAtMostWhereItWouldAskAboutAll) {
  const Graph graph = random_graph();
  make(graph, 100000);
  const auto links = static_cast<int64_t>(task_->split().train.size()), quarter = links / 4;
  EXPECT_EQ(task_->steps_per_epoch(), (links + quarter - 1) / quarter);
  EXPECT_GT(links_in(*batch(0, 0)->blocks[0]).size(), 0u) << "links are left for messages to pass over";
}

TEST_F(LinkTasks, WhatCannotBeTrainedIsRefused) {
  const Graph graph = random_graph();
  options_.graph.sampler = SamplerKind::neighbour;
  try {
    make(graph);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("full graph"), std::string::npos) << error.what();
  }
}

// Where links are drawn by chance nothing can be learned about those held out: any success would be a leak.
TEST_F(LinkTasks, NothingIsLearnedOfARandomGraph) {
  const Graph graph = make_graph(400, 1, 0.06, 0.06, 11);
  options_.link.valid = 0.05;
  options_.link.test = 0.3;
  options_.model.hidden = 32;
  options_.link.negatives = 2;
  make(graph, 500);
  ASSERT_GT(task_->split().test.size(), 1200U);
  train(40, 0.01);
  EXPECT_NEAR(auc(task_->predict(*model_, {}, Split::test)), 0.5, 0.05);
  EXPECT_NEAR(task_->rank(*model_, {}, Split::test).hits_50, 0.5, 0.05);
}

TEST_F(LinkTasks, CommunitiesAreLearnedFromStructureAlone) {
  const Graph graph = make_graph(240, 8, 0.4, 0.01, 12);
  options_.model.hidden = 32;
  make(graph, 250);
  const RankScores before = task_->rank(*model_, {}, Split::test);
  train(20, 0.01);
  EXPECT_GT(auc(task_->predict(*model_, {}, Split::test)), 0.8);
  const RankScores after = task_->rank(*model_, {}, Split::test);
  EXPECT_GT(after.mrr, 0.1) << "by chance: .05";
  EXPECT_GT(after.hits_50, before.hits_50);
  EXPECT_LE(after.hits_1, after.hits_10);
  EXPECT_EQ(task_->rank(*model_, {}, Split::test).mrr, after.mrr) << "against the same pairs every time";
}

}  // namespace
}  // namespace l0gm
