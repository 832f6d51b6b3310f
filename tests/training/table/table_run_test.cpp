#include "training/table/table_run.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "gate/gate_figures.h"
#include "l0gm/error.h"
#include "metrics/predictions.h"
#include "training/tiny_run.h"

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

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class TableRuns : public testing::Test {
 protected:
  TableRun trained(const std::vector<std::string>& assignments, const std::string& name = "run") {
    train(tiny_config(assignments), out(name));
    return TableRun(out(name), one_thread());
  }
  fs::path out(const std::string& name = "run") const { return folder_.path() / name; }
  TemporaryFolder folder_;
};

// Open units by the run's own state, as eval reports them.
int64_t open_units(const TableRun& run) { return gate_figures(run.model->sites(), run.gate_state).open_units; }

TEST_F(TableRuns, LeavesACompleteFolder) {
  Watcher watcher;
  ASSERT_TRUE(train(tiny_config({"gate.target_active=0.25"}), out(), watcher));
  EXPECT_EQ(watcher.steps.size(), 36u);
  std::set<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(out())) {
    if (entry.is_regular_file()) files.insert(fs::relative(entry.path(), out()).string());
  }
  EXPECT_EQ(files, (std::set<std::string>{"run.json", "config.toml", "schema.json", "metrics.jsonl", "summary.json",
                                          "environment.json", "lock", "checkpoint/state.safetensors",
                                          "checkpoint/best.safetensors", "gates.json", "gates.jsonl", "predictions/valid.csv"}));
  const nlohmann::json environment = nlohmann::json::parse(read_file(out() / "environment.json"));
  for (const char* key : {"l0gm", "libtorch", "compiler", "device", "threads", "seed", "commit"})
    EXPECT_TRUE(environment.contains(key)) << key;
  const nlohmann::json summary = nlohmann::json::parse(read_file(out() / "summary.json"));
  for (const char* key :
       {"best_step", "best_valid_nll", "steps", "stopped_early", "projected_units", "converged", "calibrator", "seconds"}) {
    EXPECT_TRUE(summary.contains(key)) << key;
  }
  EXPECT_EQ(summary["steps"], 36);
  EXPECT_EQ(read_predictions(out() / "predictions/valid.csv").size(), 120);
}

TEST_F(TableRuns, MetricsHaveExactlyTheKeysOfTheContract) {
  train(tiny_config({"gate.target_active=0.25"}), out());
  const auto lines = metrics_of(out());
  ASSERT_EQ(lines.size(), 6u);
  std::string phases;
  for (size_t i = 0; i < lines.size(); ++i) {
    std::set<std::string> keys;
    for (const auto& [key, value] : lines[i].items()) {
      keys.insert(key);
      if (key != "phase") EXPECT_TRUE(value.is_number()) << key;
    }
    EXPECT_EQ(keys, (std::set<std::string>{"step", "epoch", "phase", "tau", "lambda", "mu", "train_loss", "valid_nll",
                                           "active_fraction", "expected_active_fraction", "seconds"}));
    EXPECT_EQ(lines[i]["step"], 6 * (i + 1));
    EXPECT_EQ(lines[i]["epoch"], i + 1);
    EXPECT_EQ(lines[i]["lambda"], 0);  // the price of a target is mu
    phases += lines[i]["phase"].get<std::string>().substr(0, 1);
  }
  EXPECT_EQ(phases, "aaahhh");
  EXPECT_NE(lines[3]["mu"], 0);
  EXPECT_EQ(lines[5]["active_fraction"], 0.25);
}

TEST_F(TableRuns, OneSeedOneResult) {
  const std::vector<std::string> wanted = {"gate.target_active=0.25", "train.class_weights=balanced",
                                           "train.label_smoothing=0.1"};
  train(tiny_config(wanted), out("first"));
  train(tiny_config(wanted), out("second"));
  EXPECT_EQ(differences(result_of(out("first")), result_of(out("second"))), std::vector<std::string>{});
  std::vector<std::string> other = wanted;
  other.push_back("train.seed=1");
  train(tiny_config(other), out("other"));
  const auto names = differences(result_of(out("first")), result_of(out("other")));
  for (const char* part : {"checkpoint/best.safetensors", "predictions/valid.csv", "metrics"}) {
    EXPECT_NE(std::find(names.begin(), names.end(), part), names.end()) << part;
  }
}

TEST_F(TableRuns, ALearningRateThatExplodesIsTheUsersMistake) {
  for (const char* batch : {"train.batch=64", "train.batch=1000"}) {  // within an epoch, and with one step an epoch
    const std::string message = message_of<UserError>(
        [&] { train(tiny_config({"train.lr=1e30", "train.clip=0", "train.epochs=12", batch}), out(batch)); });
    EXPECT_TRUE(contains(message, "training stopped at step")) << message;
    EXPECT_TRUE(contains(message, "Lower train.lr (now 1e+30)")) << message;
    EXPECT_FALSE(fs::exists(out(batch) / "checkpoint/best.safetensors"));
    EXPECT_THROW(TableRun(out(batch), one_thread()), UserError);
  }
}

TEST_F(TableRuns, WithoutAGateItIsDense) {
  TableRun run = trained({"gate.unit=none"});
  EXPECT_TRUE(run.model->sites().empty());
  EXPECT_EQ(run.model->parameter_count(), [&] {
    int64_t count = 0;
    for (const auto& parameter : run.model->parameters()) count += parameter.numel();
    return count;
  }());
  for (const auto& line : metrics_of(out())) {
    EXPECT_EQ(line["phase"], "dense");
    EXPECT_EQ(line["active_fraction"], 1);
    EXPECT_EQ(line["lambda"], 0);
  }
}

TEST_F(TableRuns, TargetsAreMetExactly) {
  TableRun by_dimension = trained({"gate.target_active=0.25"}, "dimension");
  EXPECT_EQ(by_dimension.model->sites()[0]->gate->units(), 120);
  EXPECT_EQ(open_units(by_dimension), 30);
  TableRun by_group = trained({"gate.target_active=0.2", "gate.unit=group"}, "group");
  EXPECT_EQ(by_group.model->sites()[0]->gate->units(), 30);
  EXPECT_EQ(open_units(by_group), 6);
  EXPECT_EQ(open_units(trained({"gate.k=7"}, "k")), 7);
  EXPECT_EQ(open_units(trained({"gate.k=1"}, "one")), 1);
  EXPECT_EQ(open_units(trained({"gate.target_active=1"}, "all")), 120);
}

// Nine columns, of which three have exact values beside their bins and so twice the width.
TEST_F(TableRuns, ABudgetOfColumnsIsANumberOfColumns) {
  std::string csv = "a,b,c,d,e,f,g,h,i,y\n";
  for (int row = 0; row < 600; ++row) {
    for (int column = 0; column < 9; ++column) {
      const int value = row * (7 + 4 * column) % 601;
      csv += (column < 3 ? std::to_string(value % 20) : std::to_string(value) + ".5") + ",";
    }
    csv += row % 3 == 0 ? "yes\n" : "no\n";
  }
  TableRun run = trained({"data.source=csv", "data.train=" + folder_.write("nine.csv", csv).string(), "data.label=y",
                          "gate.unit=group", "gate.target_active=.34"});
  EXPECT_EQ(run.table.schema.fields.size(), 12u);
  EXPECT_EQ(run.model->sites()[0]->gate->units(), 9);
  EXPECT_EQ(open_units(run), 3);
  EXPECT_EQ(run.inputs(Split::test)->open.size(), 3u);
  EXPECT_EQ(run.gates(Split::test).units_are, "columns");
}

TEST_F(TableRuns, StaticMasksKeepTheirSize) {
  for (const char* by : {"gradient", "magnitude", "random"}) {
    TableRun run = trained({"gate.logits=static", "gate.target_active=0.25", std::string("gate.static_by=") + by}, by);
    EXPECT_EQ(open_units(run), 30) << by;
    for (const auto& line : metrics_of(out(by))) EXPECT_EQ(line["active_fraction"], line["phase"] == "warmup" ? 1 : 0.25) << by;
  }
}

TEST_F(TableRuns, MoreUnitsThanThereAreIsRefused) {
  const std::string message = message_of<UserError>([&] { train(tiny_config({"gate.k=121"}), out()); });
  EXPECT_TRUE(contains(message, "gate.k = 121, and there are 120 units. Ask for at most 120")) << message;
}

TEST_F(TableRuns, AHigherPriceOpensNoMore) {
  int64_t before = 121;
  std::vector<int64_t> opened;
  for (const char* price : {"0", "0.003", "0.01", "0.03", "1"}) {
    TableRun run = trained({std::string("gate.lambda=") + price, "train.epochs=25", "train.gate_lr=0.2"}, price);
    opened.push_back(open_units(run));
    EXPECT_LE(opened.back(), before) << price;
    before = opened.back();
  }
  EXPECT_GT(opened.front(), 96);  // more than .8, and at the other end
  EXPECT_LT(opened.back(), 24);   // less than .2: the grid spans the range
  EXPECT_GE(opened.back(), 1);
}

TEST_F(TableRuns, TopKHoldsWithoutASchedule) {
  TableRun run = trained({"gate.k=9", "schedule.kind=none"});
  EXPECT_EQ(metrics_of(out()).back()["active_fraction"], 9.0 / 120);
  EXPECT_EQ(open_units(run), 9);  // what is served is what was judged
}

TEST_F(TableRuns, WithoutAScheduleTheLastTwoFifthsAreSelectedFrom) {
  Watcher watcher;
  train(tiny_config({"gate.lambda=0.001", "schedule.kind=none", "train.epochs=10"}), out(), watcher);
  for (const EpochRecord& epoch : watcher.epochs) {
    EXPECT_EQ(epoch.phase, "anneal");
    EXPECT_EQ(epoch.tau, 0.5);
    if (epoch.epoch <= 6) EXPECT_FALSE(epoch.selected) << epoch.epoch;
  }
  EXPECT_TRUE(watcher.epochs[6].selected);
}

using Settings = std::vector<std::string>;

// Everything that can be switched on finishes and gives probabilities, and the stored predictions are those of the stored
// weights.
class Variants : public TableRuns {
 protected:
  void finish(const std::vector<Settings>& variants) {
    for (const Settings& settings : variants) {
      const std::string name = join(settings, " ");
      SCOPED_TRACE(name);
      TableRun run = trained(settings, name);
      const Predictions valid = read_predictions(out(name) / "predictions/valid.csv");
      EXPECT_NO_THROW(check_predictions(valid));
      EXPECT_EQ(valid.size(), 120);
      const EncodedTable rows = run.encoded(Split::valid);
      const TableTensors tensors(rows, torch::kCPU, dtype_of(run.config.train.precision));
      const Predictions again = predict_table(*run.model, run.gate_state, tensors, run.table.schema);
      EXPECT_EQ(again.rows, valid.rows);
      EXPECT_EQ(again.labels, valid.labels);
      EXPECT_EQ(again.probabilities, valid.probabilities);
      for (const auto& line : metrics_of(out(name))) EXPECT_TRUE(std::isfinite(line["valid_nll"].get<double>()));
    }
  }
};

TEST_F(Variants, Units) {
  finish({{"gate.unit=group", "gate.lambda=0.01"},
          {"gate.unit=fine", "gate.lambda=0.01"},
          {"gate.unit=fine", "gate.target_active=0.3"},
          {"gate.unit=fine", "gate.noise=batch", "gate.k=400"},
          {"gate.unit=group", "gate.logits=static", "gate.k=6"},
          {"gate.noise=batch"}});
}

TEST_F(Variants, Instance) {
  finish({{"gate.logits=instance", "gate.lambda=0.01"},
          {"gate.logits=instance", "gate.target_active=0.3"},
          {"gate.logits=instance", "gate.unit=group", "gate.k=6"},
          {"gate.logits=instance", "schedule.kind=none"},
          {"gate.logits=instance", "data.protocol=instance"}});
}

TEST_F(Variants, RulesAndSchedules) {
  finish({{"gate.test_rule=median"},
          {"gate.test_rule=louizos", "gate.target_active=0.5"},
          {"gate.target_active=0.3", "schedule.kind=none"},
          {"schedule.curve=cosine"},
          {"schedule.curve=exponential", "schedule.warmup=0"}});
}

TEST_F(Variants, CouplingAndMembers) {
  finish({{"coupling.kind=mmce"},
          {"coupling.kind=soft-ece", "coupling.weight=1"},
          {"coupling.kind=mean-gap", "model.members=2"},
          {"model.members=3", "gate.target_active=0.3"},
          {"model.members=3", "model.ensemble=heads", "gate.target_active=0.3"}});
}

TEST_F(Variants, DoublePrecision) {
  finish({{"train.precision=float64", "gate.target_active=0.3"},
          {"train.precision=float64", "gate.logits=instance", "train.class_weights=balanced"},
          {"train.precision=float64", "gate.unit=group"},
          {"train.precision=float64", "gate.unit=fine"}});
}

TEST_F(Variants, Training) {
  finish({{"train.label_smoothing=0.2", "train.class_weights=balanced"},
          {"train.ema=0", "train.clip=0"},
          {"train.lr_decay=linear", "train.head_lr=0.01"},
          {"train.lr_decay=constant", "train.lr_warmup=0"},
          {"train.batch=7", "train.epochs=2"},
          {"train.batch=1", "train.epochs=1"}});
}

TEST_F(Variants, HeadsAndCalibrators) {
  finish({{"model.depth=0", "model.dropout=0", "model.interface_dropout=0"},
          {"model.depth=3"},
          {"train.calibrator=isotonic"},
          {"train.calibrator=power"},
          {"train.calibrator=none"}});
}

TEST_F(TableRuns, SwitchesChangeTheResult) {
  train(tiny_config({"gate.lambda=0.01"}), out("plain"));
  const auto plain = result_of(out("plain"));
  for (const char* change :
       {"train.label_smoothing=0.2", "coupling.kind=mmce", "model.dropout=0", "gate.noise=batch", "train.ema=0",
        "train.weight_decay=1", "train.gate_lr=0.5", "train.head_lr=0.1", "train.precision=float64"}) {
    train(tiny_config({"gate.lambda=0.01", change}), out(change));
    EXPECT_NE(result_of(out(change)).at("predictions/valid.csv"), plain.at("predictions/valid.csv")) << change;
  }
}

TEST_F(TableRuns, BalancedWeightsLiftTheRareClass) {
  std::string text = "x,y\n";  // 1 in 10, and hard to tell
  for (int i = 0; i < 800; ++i)
    text += std::to_string(i * 37 % 101 + (i % 10 == 0 ? 30 : 0)) + "," + (i % 10 == 0 ? "rare" : "usual") + "\n";
  const std::string file = "data.train=" + folder_.write("rare.csv", text).string();
  double mean[2];
  for (const bool balanced : {false, true}) {
    const std::string name = balanced ? "balanced" : "plain";
    train(tiny_config({"data.source=csv", file, "data.label=y", "gate.unit=none", "train.lr=0.02",
                       std::string("train.class_weights=") + (balanced ? "balanced" : "none")}),
          out(name));
    const Predictions valid = read_predictions(out(name) / "predictions/valid.csv");
    ASSERT_EQ(valid.classes[0], "rare");
    mean[balanced] = 0;
    for (int64_t i = 0; i < valid.size(); ++i) mean[balanced] += valid.row(i)[0] / static_cast<double>(valid.size());
  }
  EXPECT_LT(mean[0], 0.2);
  EXPECT_GT(mean[1], 0.35);
}

TEST_F(TableRuns, ManyClasses) {
  std::string text = "x,z,y\n";
  for (int i = 0; i < 300; ++i)
    text += std::to_string(i % 3) + "," + std::to_string(i * 7 % 50) + ",class " + std::to_string(i % 3) + "\n";
  const std::string file = "data.train=" + folder_.write("three.csv", text).string();
  train(tiny_config({"data.source=csv", file, "data.label=y", "train.lr=0.05", "train.epochs=20", "gate.target_active=0.5",
                     "model.members=2", "train.class_weights=balanced", "train.label_smoothing=0.05", "coupling.kind=mmce"}),
        out());
  const Predictions valid = read_predictions(out() / "predictions/valid.csv");
  EXPECT_EQ(valid.classes, (std::vector<std::string>{"class 0", "class 1", "class 2"}));
  int64_t right = 0;
  for (int64_t i = 0; i < valid.size(); ++i) {
    const auto p = valid.row(i);
    right += std::max_element(p.begin(), p.end()) - p.begin() == valid.labels[static_cast<size_t>(i)];
  }
  EXPECT_EQ(right, valid.size());  // x tells the class
}

TEST_F(TableRuns, RefusedTogether) {
  const auto refusal = [&](const Settings& settings) {
    return message_of<UserError>([&] { train(tiny_config(settings), out()); });
  };
  EXPECT_TRUE(contains(refusal({"gate.logits=instance", "gate.unit=fine"}), "found fine"));
  EXPECT_TRUE(contains(refusal({"train.epochs=1", "train.batch=1000"}), "leave none for hardening"));
}

TEST_F(TableRuns, ARefusedConfigLeavesNoRunBehind) {
  EXPECT_THROW(train(tiny_config({"gate.k=121"}), out()), UserError);
  EXPECT_NO_THROW(train(tiny_config({"gate.k=12"}), out()));  // the same folder, once the mistake is mended
}

TEST_F(TableRuns, ChangedDataIsRefusedAsOftenAsItIsAskedFor) {
  std::string text = "x,y\n";
  for (int i = 0; i < 300; ++i) text += std::to_string(i * 37 % 101) + (i * 37 % 101 > 50 ? ",yes\n" : ",no\n");
  const std::string file = "data.train=" + folder_.write("t.csv", text).string();
  TableRun run = trained({"data.source=csv", file, "data.label=y", "gate.unit=none", "train.epochs=1"});
  folder_.write("t.csv", text + "7,no\n");
  for (int again = 0; again < 2; ++again) {
    EXPECT_TRUE(contains(message_of<UserError>([&] { run.dataset(); }), "has changed since")) << again;
    EXPECT_TRUE(contains(message_of<UserError>([&] { run.predict(Split::test); }), "has changed since")) << again;
  }
}

TEST_F(TableRuns, DamagedRunsAreRefused) {
  train(tiny_config({"gate.target_active=0.25"}), out());
  const auto refusal = [&] { return message_of<UserError>([&] { TableRun(out(), one_thread()); }); };
  for (const char* name : {"checkpoint/best.safetensors", "schema.json", "config.toml"}) {
    const std::string good = read_file(out() / name);
    for (const double share : {0.0, 0.02, 0.5, 0.99}) {
      write_file_atomically(out() / name, good.substr(0, static_cast<size_t>(share * static_cast<double>(good.size()))));
      EXPECT_TRUE(contains(refusal(), fs::path(name).filename().string())) << name << " cut to " << share;
      std::string flipped = good;
      flipped[static_cast<size_t>(share * static_cast<double>(good.size()))] ^= 0x10;
      write_file_atomically(out() / name, flipped);
      EXPECT_TRUE(contains(refusal(), fs::path(name).filename().string())) << name << " flipped at " << share;
    }
    fs::remove(out() / name);
    EXPECT_TRUE(contains(refusal(), fs::path(name).filename().string())) << name << " removed";
    write_file_atomically(out() / name, good);
  }
  for (const char* text : {"", "[]", "{}", "{\"calibrator\": 3}", "{\"calibrator\": {\"kind\": \"temperature\"}}", "\xff"}) {
    write_file_atomically(out() / "summary.json", text);
    EXPECT_FALSE(refusal().empty()) << text;
  }
}

TEST_F(TableRuns, AnotherRunsWeightsAreRefused) {
  train(tiny_config({"gate.target_active=0.25"}), out("first"));
  train(tiny_config({"gate.target_active=0.25", "model.hidden=8"}), out("second"));
  fs::copy_file(out("first") / "checkpoint/best.safetensors", out("second") / "checkpoint/best.safetensors",
                fs::copy_options::overwrite_existing);
  EXPECT_TRUE(contains(message_of<UserError>([&] { TableRun(out("second"), one_thread()); }), "another model"));
}

}  // namespace
}  // namespace l0gm
