#include "training/train.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "l0gm/error.h"
#include "model/tensor_file.h"
#include "training/graph/graph_run.h"
#include "training/run.h"
#include "training/tiny_run.h"

// Where weights start, how often a run is looked at and saved, and whose modality it is. Going on after a stop: resume_test.
namespace l0gm {
namespace {

namespace fs = std::filesystem;
using testing_tools::differences;
using testing_tools::metrics_of;
using testing_tools::one_thread;
using testing_tools::result_of;
using testing_tools::tiny_config;
using testing_tools::train;
using testing_tools::Watcher;
using Settings = std::vector<std::string>;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Settings with(Settings settings, const Settings& further) {
  settings.insert(settings.end(), further.begin(), further.end());
  return settings;
}

class Train : public testing::Test {
 protected:
  fs::path out(const std::string& name = "run") const { return folder_.path() / name; }
  // After one step that moves nothing to speak of.
  TensorMap start_of(const std::string& name, const Settings& settings) {
    Watcher watcher;
    watcher.stop_at = 1;
    const Settings still = {"train.lr=1e-30", "train.gate_lr=1e-30", "train.weight_decay=0", "train.seed=1"};
    EXPECT_FALSE(train(tiny_config(with(still, settings)), out(name), watcher));
    return with_prefix(load_tensors(out(name) / "checkpoint/state.safetensors").tensors, "model/");
  }
  TensorMap best_of(const std::string& name) const { return load_tensors(out(name) / "checkpoint/best.safetensors").tensors; }
  std::string from(const std::string& name) const { return "model.init_from=" + out(name).string(); }
  Config graph_config(const Settings& settings = {}) const {
    return read_config(folder_.write("graph.toml",
                                     "[data]\nsource = 'planted-graph'\nrows = 300\n[model]\nhidden = 8\n"
                                     "[train]\nepochs = 5\n"),
                       settings);
  }
  TemporaryFolder folder_;
};

double largest_difference(const torch::Tensor& a, const torch::Tensor& b) {
  return a.sizes() == b.sizes() ? (a - b).abs().max().item<double>() : 1e30;
}

TEST_F(Train, GradientsOfSeveralBatchesAreThoseOfALargerOne) {
  for (const std::string members : {"1", "3"}) {
    Watcher watcher;
    const Settings same = {"train.precision=float64", "train.epochs=3", "gate.unit=none", "model.members=" + members};
    ASSERT_TRUE(train(tiny_config(with(same, {"train.batch=60"})), out("large" + members), watcher));
    ASSERT_TRUE(train(tiny_config(with(same, {"train.batch=20", "train.accumulate=3"})), out("parts" + members), watcher));
    const TensorMap large = best_of("large" + members), parts = best_of("parts" + members);
    ASSERT_FALSE(large.empty());
    for (const auto& [name, tensor] : large) EXPECT_LT(largest_difference(tensor, parts.at(name)), 1e-9) << name;
  }
}

// ---- weights of another run as a start

TEST_F(Train, ABatchEnsembleStartsFromAnother) {
  const Settings gate = {"gate.lambda=0.003", "train.gate_lr=0.2", "model.members=3"};
  train(tiny_config(gate), out("first"));
  const TensorMap given = best_of("first"), taken = start_of("second", {"gate.lambda=0.003", "model.members=3", from("first")});
  int64_t compared = 0;
  for (const auto& [name, tensor] : given) {
    if (!name.starts_with("head.")) continue;
    EXPECT_LT(largest_difference(tensor, taken.at(name)), 1e-6) << name;
    ++compared;
  }
  EXPECT_GT(compared, 5);
  EXPECT_THROW(train(tiny_config({"model.members=3", "model.ensemble=heads", from("first")}), out("third")), UserError);
}

TEST_F(Train, WeightsStartFromAnotherRun) {
  const Settings gate = {"gate.lambda=0.003", "train.gate_lr=0.2"};
  train(tiny_config(with({"train.lr=0.02"}, gate)), out("first"));
  const TensorMap given = best_of("first");
  const TensorMap taken = start_of("second", with({"gate.lambda=0.003"}, {from("first")}));
  const TensorMap drawn = start_of("third", {"gate.lambda=0.003"});
  ASSERT_EQ(taken.size(), given.size());
  ASSERT_TRUE(given.contains("gate.logits"));
  double moved = 0;
  for (const auto& [name, tensor] : given) {
    ASSERT_TRUE(taken.contains(name)) << name;
    EXPECT_LT(largest_difference(taken.at(name), tensor), 1e-6) << name;
    moved = std::max(moved, largest_difference(drawn.at(name), tensor));
  }
  EXPECT_GT(moved, 0.1) << "else this test could not tell";
  EXPECT_GT(largest_difference(drawn.at("gate.logits"), given.at("gate.logits")), 0.1);
}

// Gates are taken over where they fit; whoever has others starts with his own.
TEST_F(Train, GatesThatDoNotFitAreLeftAsTheyWere) {
  const std::vector<std::pair<std::string, Settings>> kinds = {{"dimension", {"gate.unit=dimension"}},
                                                               {"group", {"gate.unit=group"}},
                                                               {"dense", {"gate.unit=none"}}};
  for (const auto& [name, settings] : kinds) train(tiny_config(with({"train.lr=0.02"}, settings)), out(name));
  for (const auto& [given_name, unused] : kinds) {
    const TensorMap given = best_of(given_name);
    for (const auto& [name, settings] : kinds) {
      if (name == given_name) continue;
      SCOPED_TRACE(given_name + " to " + name);
      const TensorMap taken = start_of(given_name + " " + name, with(settings, {from(given_name)}));
      const TensorMap drawn = start_of(given_name + " " + name + " drawn", settings);
      ASSERT_EQ(taken.size(), drawn.size());
      size_t weights = 0;
      for (const auto& [tensor_name, tensor] : taken) {
        const bool gate = is_gate_name(tensor_name);
        weights += gate ? 0 : 1;
        EXPECT_LT(largest_difference(tensor, gate ? drawn.at(tensor_name) : given.at(tensor_name)), 1e-6) << tensor_name;
      }
      EXPECT_GT(weights, 2u);
    }
  }
}

TEST_F(Train, OtherShapesAreRefusedByName) {
  train(tiny_config({"gate.unit=none"}), out("first"));
  const auto refusal = [&](const Settings& settings) {
    const std::string message =
        message_of<UserError>([&] { train(tiny_config(with({"gate.unit=none", from("first")}, settings)), out("second")); });
    EXPECT_FALSE(fs::exists(out("second"))) << "nothing is left of what was refused at once";
    EXPECT_TRUE(contains(message, "model.init_from = " + out("first").string())) << message;
    return message;
  };
  const std::string head = refusal({"model.hidden=8"});
  EXPECT_TRUE(contains(head, "'head.")) << head;
  EXPECT_TRUE(contains(head, "has another shape")) << head;
  const std::string encoder = refusal({"model.width=3"});
  EXPECT_TRUE(contains(encoder, "'encoder.")) << encoder;
  EXPECT_TRUE(contains(encoder, "has another shape")) << encoder;
  const std::string more = refusal({"model.depth=2"});
  EXPECT_TRUE(contains(more, "'head.")) << more;
}

TEST_F(Train, OnlyAFinishedRunIsAStart) {
  const auto refusal = [&] { return message_of<UserError>([&] { train(tiny_config({from("first")}), out("second")); }); };
  EXPECT_TRUE(contains(refusal(), "does not exist")) << refusal();
  Watcher watcher;
  watcher.stop_at = 10;
  ASSERT_FALSE(train(tiny_config(), out("first"), watcher));
  EXPECT_TRUE(contains(refusal(), "has not finished training")) << refusal();
  EXPECT_FALSE(fs::exists(out("second")));
}

TEST_F(Train, GraphsStartFromAnotherRunToo) {
  train(graph_config({"train.lr=0.02"}), out("first"));
  Watcher watcher;
  watcher.stop_at = 1;
  const Settings still = {"train.lr=1e-30", "train.head_lr=1e-30", "train.gate_lr=1e-30", "train.weight_decay=0", "train.seed=1"};
  ASSERT_FALSE(train(graph_config(with(still, {from("first")})), out("second"), watcher));
  const TensorMap taken = with_prefix(load_tensors(out("second") / "checkpoint/state.safetensors").tensors, "model/");
  const TensorMap given = best_of("first");
  ASSERT_EQ(taken.size(), given.size());
  for (const auto& [name, tensor] : given) EXPECT_LT(largest_difference(taken.at(name), tensor), 1e-6) << name;
}

// ---- parts of an epoch

TEST_F(Train, ValidationIsLookedAtTwiceAnEpoch) {
  Watcher watcher;
  ASSERT_TRUE(train(tiny_config({"gate.target_active=0.25", "train.evaluate_every=0.5"}), out(), watcher));
  const auto lines = metrics_of(out());
  ASSERT_EQ(lines.size(), 12u);  // six epochs of six steps
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i]["step"], 3 * (i + 1));
    EXPECT_EQ(lines[i]["epoch"], i / 2 + 1);
    double mean = 0;
    for (size_t step = 3 * i; step < 3 * (i + 1); ++step) mean += watcher.losses[step] / 3;
    EXPECT_NEAR(lines[i]["train_loss"].get<double>(), mean, 1e-12) << "of the steps since the last look";
  }
  ASSERT_EQ(watcher.epochs.size(), 12u);
}

TEST_F(Train, TheLastStepIsLookedAtWhateverTheInterval) {
  for (const char* every : {"0.7", "4.5", "100"}) {  // of 36 steps: after every 4, 27, and none
    train(tiny_config({"gate.target_active=0.25", std::string("train.evaluate_every=") + every}), out(every));
    EXPECT_EQ(metrics_of(out(every)).back()["step"], 36) << every;
  }
  EXPECT_EQ(metrics_of(out("0.7")).size(), 9u);
  EXPECT_EQ(metrics_of(out("4.5")).size(), 2u);
  EXPECT_EQ(metrics_of(out("100")).size(), 1u);
  // Never less than a step.
  train(tiny_config({"gate.target_active=0.25", "train.evaluate_every=0.001"}), out("often"));
  EXPECT_EQ(metrics_of(out("often")).size(), 36u);
}

TEST_F(Train, PatienceIsInEpochsHoweverOftenOneLooks) {
  train(tiny_config({"gate.lambda=0.0001", "train.lr=0.05", "train.epochs=40", "train.patience=2", "train.ema=0",
                     "schedule.anneal_until=0.3", "train.evaluate_every=0.5"}),
        out());
  const nlohmann::json summary = nlohmann::json::parse(read_file(out() / "summary.json"));
  ASSERT_TRUE(summary["stopped_early"].get<bool>());
  EXPECT_EQ(summary["steps"], summary["best_step"].get<int64_t>() + 12);
}

TEST_F(Train, ARunGoesOnInTheMiddleOfAnEpoch) {
  const std::vector<Settings> variants = {{"train.checkpoint_every=0.5"},
                                          {"train.checkpoint_every=0.5", "train.evaluate_every=0.5"},
                                          {"train.checkpoint_every=0.5", "train.evaluate_every=2"},
                                          {"train.checkpoint_every=0.5", "train.evaluate_every=0.3", "train.patience=1"}};
  for (size_t i = 0; i < variants.size(); ++i) {
    SCOPED_TRACE(i);
    const Config config = tiny_config(with({"gate.target_active=0.25"}, variants[i]));
    const fs::path whole = out("whole" + std::to_string(i)), parts = out("parts" + std::to_string(i));
    train(config, whole);
    for (const int64_t kill_at : {10, 17}) {  // behind the checkpoints of steps 9 and 15
      Watcher killed;
      killed.kill_at = kill_at;
      EXPECT_THROW(train(config, parts, killed, kill_at != 10), Watcher::Killed);
      EXPECT_EQ(killed.steps.front(), kill_at == 10 ? 1 : 10);
    }
    Watcher watcher;
    ASSERT_TRUE(train(config, parts, watcher, true));
    EXPECT_EQ(watcher.steps.front(), 16);
    EXPECT_EQ(differences(result_of(whole), result_of(parts)), std::vector<std::string>{});
  }
}

// ---- the modality

TEST_F(Train, ARunNamesItsModality) {
  train(tiny_config({"gate.k=9"}), out("table"));
  train(graph_config(), out("graph"));
  for (const char* name : {"table", "graph"}) {
    const fs::path path = out(name) / "run.json";
    nlohmann::json record = nlohmann::json::parse(read_file(path));
    EXPECT_EQ(record["modality"], name);
    const auto opened = [&] { return open_run(modalities(), out(name), one_thread()); };
    const auto is_of = [&](const auto& run) {
      return std::string(name) == "table" ? dynamic_cast<const TableRun*>(&run) != nullptr
                                          : dynamic_cast<const GraphRun*>(&run) != nullptr;
    };
    const auto run = opened();
    EXPECT_TRUE(is_of(*run)) << name;
    record.erase("modality");  // as runs were before they said it
    write_file_atomically(path, record.dump());
    const auto older = opened();
    EXPECT_TRUE(is_of(*older)) << name;
    EXPECT_EQ(older->predict(Split::test).probabilities, run->predict(Split::test).probabilities) << name;
    record["modality"] = "sound";
    write_file_atomically(path, record.dump());
    const std::string message = message_of<UserError>(opened);
    EXPECT_TRUE(contains(message, "'sound' is unknown to this program, which has table, graph")) << message;
  }
}

}  // namespace
}  // namespace l0gm
