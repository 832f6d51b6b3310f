#include "training/graph/graph_run.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "base/text.h"
#include "data/graph/source.h"
#include "gate/gate_figures.h"
#include "l0gm/error.h"
#include "metrics/scores.h"
#include "training/graph/graph_task.h"
#include "training/tiny_run.h"

namespace l0gm {
namespace {

namespace fs = std::filesystem;
using Settings = std::vector<std::string>;
using testing_tools::differences;
using testing_tools::metrics_of;
using testing_tools::one_thread;
using testing_tools::result_of;
using testing_tools::tiny_config;
using testing_tools::Watcher;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// 300 nodes, 180 of them for training; two layers of 16 channels. Full: 12 steps, by neighbours: 96.
Config graph_config(const Settings& assignments = {}) {
  const TemporaryFolder folder;
  const auto path =
      folder.write("graph.toml",
                   "[data]\nsource = 'planted-graph'\nrows = 300\n[model]\nhidden = 16\ndepth = 2\n"
                   "[graph]\nheads = 2\nblocks = 8\nfanout = [4, 3]\nlayer_nodes = 60\nsampler_threads = 1\n"
                   "[train]\nepochs = 12\nbatch = 24\nlr = 0.01\nevaluate_every = 2\ncheckpoint_every = 3\nema = 0.5\n");
  return read_config(path, assignments);
}

bool train_run(const Config& config, const fs::path& out, Watcher& watcher, bool resume = false) {
  return testing_tools::train(config, out, watcher, resume);
}

void train_run(const Config& config, const fs::path& out) {
  Watcher watcher;
  if (!train_run(config, out, watcher)) throw std::runtime_error("nobody asked it to stop");
}

class GraphRuns : public testing::Test {
 protected:
  GraphRun trained(const Settings& settings, const std::string& name = "run") {
    train_run(graph_config(settings), out(name));
    return GraphRun(out(name), one_thread());
  }
  std::string refusal(const Settings& settings, bool resume = false) {
    Watcher watcher;
    return message_of<UserError>([&] { train_run(graph_config(settings), out(), watcher, resume); });
  }
  fs::path out(const std::string& name = "run") const { return folder_.path() / name; }
  TemporaryFolder folder_;
};

int64_t open_units(const GraphRun& run) { return gate_figures(run.model->sites(), run.gate_state).open_units; }

// What the stored weights say of validation nodes.
Predictions validated(GraphRun& run) {
  const Graph graph = scale_attributes(run.raw(), run.graph.scaling);
  return predict_nodes(*run.model, run.gate_state, graph, graph.valid, run.config.graph.inference_rows, torch::kCPU,
                       dtype_of(run.config.train.precision));
}

TEST_F(GraphRuns, LeavesACompleteFolder) {
  Watcher watcher;
  ASSERT_TRUE(train_run(graph_config({"gate.target_active=0.25"}), out(), watcher));
  EXPECT_EQ(watcher.steps.size(), 12u);
  std::set<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(out())) {
    if (entry.is_regular_file()) files.insert(fs::relative(entry.path(), out()).string());
  }
  EXPECT_EQ(files, (std::set<std::string>{"run.json", "config.toml", "schema.json", "metrics.jsonl", "summary.json",
                                          "environment.json", "lock", "checkpoint/state.safetensors",
                                          "checkpoint/best.safetensors", "gates.json", "gates.jsonl", "predictions/valid.csv"}));
  EXPECT_EQ(nlohmann::json::parse(read_file(out() / "summary.json"))["steps"], 12);
  const Predictions valid = read_predictions(out() / "predictions/valid.csv");
  EXPECT_NO_THROW(check_predictions(valid));
  EXPECT_EQ(valid.size(), 60);
  EXPECT_EQ(valid.classes, (std::vector<std::string>{"c0", "c1", "c2", "c3"}));
  GraphRun run(out(), one_thread());
  EXPECT_EQ(run.graph.nodes, 300);
  EXPECT_EQ(run.graph.attribute_names.size(), 32u);
  EXPECT_EQ(run.graph.planted.size(), 8u);
  EXPECT_EQ(run.graph.class_rows.size(), 4u);
  EXPECT_EQ(run.graph.dataset, "planted-graph/0");
}

TEST_F(GraphRuns, DefaultsOfGraphsAreNotThoseOfTables) {
  const Config graph = graph_config(), named = graph_config({"model.dropout=0.25", "model.name=sage"});
  EXPECT_EQ(graph.model.name, "gcn");
  EXPECT_EQ(graph.model.dropout, 0.5);
  EXPECT_EQ(named.model.dropout, 0.25);
  EXPECT_EQ(named.model.name, "sage");
  EXPECT_EQ(graph_config({"gate.attach=input"}).gate.noise, Noise::batch);
  EXPECT_EQ(graph_config({"gate.attach=input", "gate.noise=example"}).gate.noise, Noise::example);
  EXPECT_EQ(tiny_config({"gate.attach=input"}).gate.noise, Noise::example) << "of a table";
}

TEST_F(GraphRuns, ValidationIsLookedAtAsOftenAsAskedAndAtTheEnd) {
  Watcher watcher;
  ASSERT_TRUE(train_run(graph_config({"train.evaluate_every=5"}), out(), watcher));
  std::vector<int64_t> epochs;
  for (const auto& line : metrics_of(out())) epochs.push_back(line["epoch"]);
  EXPECT_EQ(epochs, (std::vector<int64_t>{5, 10, 12}));
  EXPECT_TRUE(watcher.epochs.back().selected || watcher.epochs[1].selected);
}

TEST_F(GraphRuns, OneSeedOneResultWhateverTheSampler) {
  for (const char* sampler : {"full", "neighbour", "fastgcn", "saint-node", "saint-edge", "saint-walk"}) {
    const std::string name(sampler);
    const Settings wanted = {"graph.sampler=" + name, "gate.target_active=0.25", "graph.last_norm=batch", "train.epochs=6"};
    train_run(graph_config(wanted), out(name + " 1"));
    train_run(graph_config(wanted), out(name + " 2"));
    EXPECT_EQ(differences(result_of(out(name + " 1")), result_of(out(name + " 2"))), std::vector<std::string>{}) << sampler;
    Settings other = wanted;
    other.push_back("train.seed=1");
    train_run(graph_config(other), out(name + " 3"));
    EXPECT_NE(read_file(out(name + " 3") / "predictions/valid.csv"), read_file(out(name + " 1") / "predictions/valid.csv"))
        << sampler;
  }
}

TEST_F(GraphRuns, ThreadsOfTheSamplerChangeNothing) {
  const Settings wanted = {"graph.sampler=neighbour", "gate.target_active=0.25", "train.epochs=6"};
  std::vector<std::string> weights;
  for (const char* threads : {"0", "3"}) {
    Settings settings = wanted;
    settings.push_back(std::string("graph.sampler_threads=") + threads);
    train_run(graph_config(settings), out(threads));
    weights.push_back(read_file(out(threads) / "checkpoint/best.safetensors"));
  }
  EXPECT_TRUE(weights[0] == weights[1]);
}

class ResumedGraphRun : public GraphRuns, public testing::WithParamInterface<Settings> {};

TEST_P(ResumedGraphRun, AStoppedRunEndsAsAnUndisturbedOne) {
  const Config config = graph_config(GetParam());
  train_run(config, out("whole"));
  int64_t done = 0, stops = 0;
  for (bool finished = false; !finished; ++stops) {
    Watcher watcher;
    watcher.stop_at = done + 1 + 3 * stops;
    finished = train_run(config, out("parts"), watcher, stops > 0);
    ASSERT_EQ(watcher.steps.front(), done + 1) << "it goes on, and does not begin again";
    done = watcher.steps.back();
  }
  EXPECT_GE(stops, 3);
  EXPECT_EQ(differences(result_of(out("whole")), result_of(out("parts"))), std::vector<std::string>{});
}

TEST_P(ResumedGraphRun, AKilledRunEndsAsAnUndisturbedOne) {
  const Config config = graph_config(GetParam());
  train_run(config, out("whole"));
  const int64_t last = metrics_of(out("whole")).back()["step"];
  for (const int64_t kill_at : {int64_t{2}, last / 2 + 1, last}) {
    Watcher watcher;
    watcher.kill_at = kill_at;
    EXPECT_THROW(train_run(config, out("killed"), watcher, kill_at != 2), Watcher::Killed);
  }
  Watcher watcher;
  ASSERT_TRUE(train_run(config, out("killed"), watcher, true));
  EXPECT_EQ(differences(result_of(out("whole")), result_of(out("killed"))), std::vector<std::string>{});
}

INSTANTIATE_TEST_SUITE_P(Training, ResumedGraphRun,
                         testing::Values(Settings{"gate.target_active=0.25"},
                                         Settings{"gate.target_active=0.25", "graph.sampler=neighbour", "graph.last_norm=batch"},
                                         Settings{"graph.drop_edge=0.3", "graph.norm=batch", "gate.k=5"},
                                         Settings{"graph.sampler=neighbour", "gate.target_active=0.25",
                                                  "train.checkpoint_every=0.5", "train.evaluate_every=0.25"},
                                         Settings{"gate.attach=input", "gate.logits=static", "gate.k=8", "schedule.warmup=0.4"},
                                         Settings{"graph.sampler=neighbour", "model.name=mlp", "gate.unit=none", "train.ema=0"}),
                         [](const auto& settings) { return "Number" + std::to_string(settings.index); });

TEST_F(GraphRuns, TargetsAreMetExactly) {
  EXPECT_EQ(open_units(trained({"gate.target_active=0.25"}, "dimension")), 4);
  EXPECT_EQ(open_units(trained({"gate.target_active=0.25", "gate.unit=group"}, "group")), 2);
  EXPECT_EQ(open_units(trained({"gate.target_active=0.25", "gate.unit=fine"}, "fine")), 8);
  EXPECT_EQ(open_units(trained({"gate.k=3", "graph.sampler=saint-node"}, "k")), 3);
  GraphRun input = trained({"gate.target_active=0.25", "gate.attach=input"}, "input");
  EXPECT_EQ(input.model->sites()[0]->gate->units(), 32);
  EXPECT_EQ(open_units(input), 8);
  EXPECT_EQ(open_units(trained({"gate.target_active=0.5", "gate.attach=input", "gate.unit=group"}, "input group")), 4);
  EXPECT_EQ(metrics_of(out("dimension")).back()["active_fraction"], 0.25);
}

TEST_F(GraphRuns, AnAttributeIsWorthTheRiseOfTheLossWhenItsGateIsClosed) {
  GraphRun run = trained({"gate.target_active=0.25", "gate.attach=input", "train.epochs=40"});
  Evaluation evaluation;
  evaluation.inputs = run.inputs(Split::test);
  run.add_figures(Split::test, evaluation);
  ASSERT_EQ(evaluation.inputs->open.size(), 8u);
  const double as_is = nll(validated(run));
  double largest = 0;
  for (const OpenInput& input : evaluation.inputs->open) {
    ASSERT_TRUE(input.worth_closed) << input.name;
    HardConcrete gate = run.model->sites()[0]->gate;
    const auto& names = run.graph.attribute_names;
    const auto unit = std::find(names.begin(), names.end(), input.name) - names.begin();
    torch::NoGradGuard no_grad;
    const double before = gate->logits()[unit].item<double>();
    gate->logits()[unit].fill_(-1e3);
    EXPECT_NEAR(*input.worth_closed, nll(validated(run)) - as_is, 1e-5) << input.name;
    gate->logits()[unit].fill_(before);
    largest = std::max(largest, std::abs(*input.worth_closed));
  }
  EXPECT_GT(largest, 1e-3) << "else any two numbers would agree";
}

TEST_F(GraphRuns, StaticMasksKeepTheirSize) {
  for (const char* attach : {"interface", "input"}) {
    for (const char* by : {"gradient", "magnitude", "random"}) {
      const std::string name = std::string(attach) + " " + by;
      GraphRun run = trained({"gate.logits=static", "gate.target_active=0.25", std::string("gate.static_by=") + by,
                              std::string("gate.attach=") + attach, "schedule.warmup=0.2", "train.evaluate_every=1"},
                             name);
      EXPECT_EQ(open_units(run), run.model->sites()[0]->gate->units() / 4) << name;
      for (const auto& line : metrics_of(out(name)))
        EXPECT_EQ(line["active_fraction"], line["phase"] == "warmup" ? 1 : 0.25) << name;
    }
  }
}

// Everything that can be switched on finishes, and the stored predictions are those of the stored weights.
class GraphVariants : public GraphRuns, public testing::WithParamInterface<Settings> {};

TEST_P(GraphVariants, StoredPredictionsAreThoseOfTheStoredWeights) {
  GraphRun run = trained(GetParam());
  const Predictions stored = read_predictions(out() / "predictions/valid.csv"), again = validated(run);
  EXPECT_NO_THROW(check_predictions(stored));
  EXPECT_EQ(again.rows, stored.rows);
  EXPECT_EQ(again.labels, stored.labels);
  EXPECT_EQ(again.probabilities, stored.probabilities);
  for (const auto& line : metrics_of(out())) EXPECT_TRUE(std::isfinite(line["valid_nll"].get<double>()));
}

INSTANTIATE_TEST_SUITE_P(
    Training, GraphVariants,
    testing::Values(Settings{"gate.unit=none", "model.name=mlp"},
                    Settings{"model.name=gat", "graph.attention_dropout=0.3", "model.members=2"},
                    Settings{"model.name=sage", "graph.last_norm=batch", "graph.inference_rows=50"},
                    Settings{"model.name=sage", "graph.aggregate=max", "graph.sampler=neighbour"},
                    Settings{"model.name=sage", "graph.aggregate=pool", "graph.sampler=saint-walk", "graph.norm=batch"},
                    Settings{"gate.logits=instance", "gate.target_active=0.3", "graph.residual=linear"},
                    Settings{"gate.attach=input", "gate.test_rule=median", "gate.lambda=0.001"},
                    Settings{"gate.attach=input", "gate.noise=example", "graph.last_norm=layer"},
                    Settings{"train.precision=float64", "gate.unit=fine", "graph.norm=batch", "graph.last_norm=batch"},
                    Settings{"train.class_weights=balanced", "coupling.kind=mmce", "train.label_smoothing=0.1"},
                    Settings{"graph.keep_attributes=0.5", "graph.features=rows", "model.depth=3", "graph.last_width=6"}),
    [](const auto& settings) { return "Number" + std::to_string(settings.index); });

// A graph of files in `folder`; `label` and the number of nodes are the user's.
Config own_graph(const TemporaryFolder& folder, int nodes, const std::function<std::string(int)>& label,
                 const Settings& settings) {
  std::string edges = "from,to\n", features = "node,x,y\n", labels = "node,label\n";
  for (int i = 0; i < nodes; ++i) {
    edges += std::to_string(i) + "," + std::to_string((i * 7 + 3) % nodes) + "\n";
    features += std::to_string(i) + "," + std::to_string(i * 37 % 101) + "," + std::to_string(i * 13 % 17) + "\n";
    labels += std::to_string(i) + "," + label(i) + "\n";
  }
  Settings all = {"data.edges=" + folder.write("edges.csv", edges).string(),
                  "data.features=" + folder.write("features.csv", features).string(),
                  "data.labels=" + folder.write("labels.csv", labels).string(),
                  "graph.cache=" + (folder.path() / "cache").string()};
  all.insert(all.end(), settings.begin(), settings.end());
  const auto path = folder.write("own.toml", "[data]\nsource = 'graph'\n[model]\nhidden = 8\n[train]\nepochs = 20\nlr = 0.005\n");
  return read_config(path, all);
}

TEST_F(GraphRuns, BalancedClassesWeighTheSame) {
  const auto label = [](int i) { return i % 10 == 0 ? "rare" : "usual"; };  // and hard to tell
  double mean[2] = {0, 0};
  for (const bool balanced : {false, true}) {
    const std::string name = balanced ? "balanced" : "none";
    train_run(own_graph(folder_, 200, label, {"gate.unit=none", "train.class_weights=" + name}), out(name));
    const Predictions valid = read_predictions(out(name) / "predictions/valid.csv");
    ASSERT_EQ(valid.classes[0], "rare");
    for (int64_t i = 0; i < valid.size(); ++i) mean[balanced] += valid.row(i)[0] / static_cast<double>(valid.size());
  }
  EXPECT_LT(mean[0], 0.2);
  EXPECT_GT(mean[1], 0.35);
}

TEST_F(GraphRuns, ClassesAreNeededForNodesAlone) {
  Watcher watcher;
  const auto one = [](int) { return "same"; };
  EXPECT_TRUE(
      contains(message_of<UserError>([&] { train_run(own_graph(folder_, 40, one, {}), out(), watcher); }), "one class, 'same'"));
  Settings parts;
  for (const auto& [part, first] : {std::pair("train", 0), std::pair("valid", 20), std::pair("test", 30)}) {
    std::string nodes = "node\n";
    for (int i = first; i < first + 10; ++i) nodes += std::to_string(i) + "\n";
    parts.push_back(std::string("data.") + part + "=" + folder_.write(std::string(part) + ".csv", nodes).string());
  }
  const auto none = [](int) { return ""; };
  EXPECT_TRUE(contains(message_of<UserError>([&] { train_run(own_graph(folder_, 40, none, parts), out(), watcher); }),
                       "has no class among its labels"));
  EXPECT_NO_THROW(train_run(own_graph(folder_, 40, one, {"graph.task=links", "train.batch=8", "train.epochs=5"}), out("links")));
}

TEST_F(GraphRuns, WhatDoesNotGoTogetherIsRefused) {
  EXPECT_TRUE(contains(refusal({"model.name=deepfm"}), "model.name is 'deepfm', and data.source is a graph"));
  EXPECT_TRUE(contains(refusal({"graph.drop_edge=0.2", "graph.sampler=neighbour"}), "graph.drop_edge = 0.2 goes with"));
  EXPECT_TRUE(contains(refusal({"train.matmul=tf32"}), "train.matmul = tf32 works for graphs on a GPU only"));
  EXPECT_TRUE(contains(refusal({"gate.attach=input", "gate.unit=fine"}), "gate.unit is dimension or group"));
  EXPECT_TRUE(contains(refusal({"model.name=gat", "graph.heads=3"}), "graph.heads = 3 does not divide"));
  EXPECT_FALSE(fs::exists(out())) << "nothing is left of what was refused at once";
  EXPECT_TRUE(contains(refusal({"gate.k=17"}), "gate.k = 17, and there are 16 "));
  EXPECT_TRUE(contains(refusal({"distill.from=elsewhere"}), "distill.from"));
  EXPECT_TRUE(contains(refusal({"train.epochs=1"}), "leave none for hardening"));
  EXPECT_NO_THROW(train_run(graph_config({"train.epochs=3"}), out())) << "the same folder, once the mistake is mended";
}

TEST_F(GraphRuns, NamesOfGraphModelsAreRefusedOnATable) {
  for (const char* name : {"gcn", "sage", "gat"}) {
    Watcher watcher;
    const std::string message =
        message_of<UserError>([&] { train_run(tiny_config({std::string("model.name=") + name}), out(name), watcher); });
    EXPECT_TRUE(contains(message, std::string("model.name is '") + name + "', and data.source is a table")) << message;
  }
}

TEST_F(GraphRuns, OtherDataIsRefusedWhenGoingOn) {
  const Config config = own_graph(folder_, 80, [](int i) { return i % 2 == 0 ? "even" : "odd"; }, {});
  const std::string edges = read_file(folder_.path() / "edges.csv");
  Watcher watcher, again;
  watcher.stop_at = 4;
  ASSERT_FALSE(train_run(config, out(), watcher));
  folder_.write("edges.csv", edges + "0,40\n");
  EXPECT_TRUE(contains(message_of<UserError>([&] { train_run(config, out(), again, true); }), "the data differs"));
  folder_.write("edges.csv", edges);
  ASSERT_TRUE(train_run(config, out(), again, true));
  EXPECT_EQ(again.steps.front(), 5);
  folder_.write("edges.csv", edges + "0,40\n");
  GraphRun run(out(), one_thread());
  EXPECT_TRUE(contains(message_of<UserError>([&] { run.raw(); }), "has changed since"));
}

TEST_F(GraphRuns, RunsOfTheOtherKindAreRefused) {
  train_run(graph_config({"train.epochs=3"}), out("graph"));
  train_run(tiny_config({"train.epochs=2"}), out("table"));
  EXPECT_TRUE(contains(message_of<UserError>([&] { TableRun(out("graph"), one_thread()); }), "is a run on a graph"));
  EXPECT_TRUE(contains(message_of<UserError>([&] { GraphRun(out("table"), one_thread()); }), "is a run on a table"));
}

TEST_F(GraphRuns, ADamagedRecordIsRefused) {
  train_run(graph_config({"train.epochs=3"}), out());
  const nlohmann::json good = GraphRun(out(), one_thread()).graph.to_json();
  EXPECT_EQ(GraphRecord::from_json(good).to_json(), good);
  for (const auto& [key, unused] : good.items()) {
    nlohmann::json damaged = good;
    damaged.erase(key);
    EXPECT_THROW(GraphRecord::from_json(damaged), UserError) << key;
    damaged[key] = {{"another", 1}};
    EXPECT_THROW(GraphRecord::from_json(damaged), UserError) << key;
  }
  nlohmann::json fewer = good;
  fewer["class_rows"].erase(0);
  EXPECT_TRUE(contains(message_of<UserError>([&] { GraphRecord::from_json(fewer); }), "do not agree"));
  const std::string schema = read_file(out() / "schema.json");
  write_file_atomically(out() / "schema.json", schema.substr(0, schema.size() / 2));
  EXPECT_TRUE(contains(message_of<UserError>([&] { GraphRun(out(), one_thread()); }), "schema.json"));
}

}  // namespace
}  // namespace l0gm
