#include <gtest/gtest.h>

#include "base/random.h"
#include "l0gm/error.h"
#include "model/tensor_file.h"
#include "training/tiny_run.h"

namespace l0gm {
namespace {

namespace fs = std::filesystem;
using testing_tools::differences;
using testing_tools::metrics_of;
using testing_tools::result_of;
using testing_tools::tiny_config;
using testing_tools::train;
using testing_tools::Watcher;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class Resume : public testing::TestWithParam<std::vector<std::string>> {
 protected:
  fs::path out(const std::string& name) const { return folder_.path() / name; }
  TemporaryFolder folder_;
};

TEST_P(Resume, AStoppedRunEndsAsAnUndisturbedOne) {
  const Config config = tiny_config(GetParam());
  train(config, out("whole"));
  RandomStream random(17);
  int64_t done = 0;
  for (int stops = 0;; ++stops) {
    Watcher watcher;
    watcher.stop_at = done + 1 + static_cast<int64_t>(random.uniform() * 12);
    const bool finished = train(config, out("parts"), watcher, stops > 0);
    ASSERT_EQ(watcher.steps.front(), done + 1);  // it goes on, and does not begin again
    done = watcher.steps.back();
    if (finished) {
      EXPECT_GE(stops, 2);
      break;
    }
    ASSERT_EQ(done, watcher.stop_at);
  }
  EXPECT_EQ(differences(result_of(out("whole")), result_of(out("parts"))), std::vector<std::string>{});
}

// Before gates are fixed, and long after.
TEST_P(Resume, AnInterruptedRunCanBeEndedWhereItStands) {
  const Config config = tiny_config(GetParam());
  train(config, out("whole"));
  const int64_t last = metrics_of(out("whole")).back()["step"];
  for (const int64_t stop_at : {last / 3, last - 1}) {
    const fs::path run = out("ended-" + std::to_string(stop_at));
    Watcher watcher;
    watcher.stop_at = stop_at;
    ASSERT_FALSE(train(config, run, watcher));
    ASSERT_TRUE(l0gm::train(modalities(), config, run, true, testing_tools::one_thread(), {}, watcher.stop, true));
    const nlohmann::json summary = nlohmann::json::parse(read_file(run / "summary.json"));
    EXPECT_EQ(summary["steps"], stop_at);
    EXPECT_TRUE(summary["stopped_early"].get<bool>());
    EXPECT_LE(summary["best_step"].get<int64_t>(), stop_at);
    const auto opened = open_run(modalities(), run, testing_tools::one_thread());
    EXPECT_GT(opened->predict(Split::test).size(), 0);
    EXPECT_LE(opened->gates(Split::test).open_units, opened->gates(Split::test).units);
  }
}

TEST(ResumeElsewhere, TheSameBytesMayLieInAnotherPlace) {
  const TemporaryFolder folder;
  std::string csv = "x,y\n";
  for (int i = 0; i < 300; ++i) csv += std::to_string(i * 7 % 50) + (i % 3 == 0 ? ",a\n" : ",b\n");
  const auto config = [&](const std::string& name, const std::string& text) {
    return tiny_config({"data.source=csv", "data.train=" + folder.write(name, text).string(), "data.label=y"});
  };
  Watcher watcher;
  watcher.stop_at = 5;
  ASSERT_FALSE(train(config("here.csv", csv), folder.path() / "run", watcher));
  Watcher again;
  EXPECT_THROW(train(config("other.csv", csv + "1,a\n"), folder.path() / "run", again, true), UserError);
  EXPECT_TRUE(contains(message_of<UserError>([&] {
                         Watcher other;
                         train(tiny_config({"data.source=csv", "data.train=" + (folder.path() / "here.csv").string(),
                                            "data.label=y", "train.epochs=7"}),
                               folder.path() / "run", other, true);
                       }),
                       "train.epochs = 7"));
  const Config moved = config("there.csv", csv);
  // The dataset is called by its file's name, which is part of the record.
  EXPECT_THROW(train(moved, folder.path() / "run", again, true), UserError);
  EXPECT_TRUE(train(config("elsewhere/here.csv", csv), folder.path() / "run", again, true));
}

TEST_P(Resume, ARunKilledAnywhereEndsAsAnUndisturbedOne) {
  const Config config = tiny_config(GetParam());
  train(config, out("whole"));
  const int64_t last = metrics_of(out("whole")).back()["step"];
  for (const int64_t kill_at :
       {int64_t{3}, last / 2, last}) {  // before the first checkpoint, in the middle, behind the last step
    Watcher watcher;
    watcher.kill_at = kill_at;
    EXPECT_THROW(train(config, out("killed"), watcher, kill_at != 3), Watcher::Killed);
  }
  Watcher watcher;
  ASSERT_TRUE(train(config, out("killed"), watcher, true));
  EXPECT_EQ(differences(result_of(out("whole")), result_of(out("killed"))), std::vector<std::string>{});
}

using Settings = std::vector<std::string>;
INSTANTIATE_TEST_SUITE_P(
    Training, Resume,
    testing::Values(Settings{"gate.target_active=0.25"}, Settings{"gate.lambda=0.01", "train.checkpoint_every=4"},
                    Settings{"gate.k=9", "train.ema=0"}, Settings{"gate.unit=group", "gate.k=9"},
                    Settings{"gate.logits=instance", "gate.target_active=0.3", "model.members=2"},
                    Settings{"gate.logits=static", "gate.static_by=gradient", "gate.k=9", "schedule.warmup=0.4"},
                    Settings{"gate.target_active=0.3", "model.members=3", "model.ensemble=heads"},
                    Settings{"gate.logits=static", "gate.static_by=magnitude", "gate.unit=group", "gate.k=9",
                             "schedule.warmup=0.4"},
                    Settings{"gate.unit=fine", "gate.lambda=0.01", "train.precision=float64"}, Settings{"gate.unit=none"},
                    Settings{"schedule.kind=none", "gate.target_active=0.3", "gate.noise=batch"},
                    Settings{"train.patience=1", "gate.lambda=0.01", "schedule.anneal_until=0.4", "train.lr=0.05"}),
    [](const auto& settings) { return "Number" + std::to_string(settings.index); });

class ResumeOnce : public testing::Test {
 protected:
  fs::path out(const std::string& name = "run") const { return folder_.path() / name; }
  std::string refusal(const Config& config) {
    Watcher watcher;
    return message_of<UserError>([&] { train(config, out(), watcher, true); });
  }
  void interrupted(const Config& config) {
    Watcher watcher;
    watcher.stop_at = 20;
    ASSERT_FALSE(train(config, out(), watcher));
  }
  TemporaryFolder folder_;
};

TEST_F(ResumeOnce, NothingToGoOnWithStartsAfresh) {
  Watcher watcher;
  EXPECT_TRUE(train(tiny_config(), out(), watcher, true));
  EXPECT_EQ(watcher.steps.size(), 36u);
}

TEST_F(ResumeOnce, AFinishedRunIsLeftAsItIs) {
  const Config config = tiny_config({"gate.target_active=0.25"});
  train(config, out());
  const std::string summary = read_file(out() / "summary.json");
  Watcher watcher;
  EXPECT_TRUE(train(config, out(), watcher, true));
  EXPECT_TRUE(watcher.steps.empty());
  EXPECT_EQ(read_file(out() / "summary.json"), summary);
  EXPECT_TRUE(contains(message_of<UserError>([&] { train(config, out()); }), "already holds a run"));
}

TEST_F(ResumeOnce, AChangedConfigIsRefusedByName) {
  interrupted(tiny_config({"gate.target_active=0.25"}));
  const std::string message = refusal(tiny_config({"gate.target_active=0.5"}));
  EXPECT_TRUE(contains(message, "target_active = 0.5")) << message;
  EXPECT_TRUE(contains(refusal(tiny_config({"gate.target_active=0.25", "train.epochs=7"})), "epochs = 7"));
  EXPECT_TRUE(contains(refusal(tiny_config({"gate.target_active=0.25", "train.seed=1"})), "seed = 1"));
  Watcher watcher;  // and the run is still good
  EXPECT_TRUE(train(tiny_config({"gate.target_active=0.25"}), out(), watcher, true));
}

// A value that the other configuration has under another key, and one that only the stored one has.
TEST_F(ResumeOnce, DifferencesThatLookAlikeAreNamedToo) {
  interrupted(tiny_config({"gate.target_active=0.25", "model.hidden=16", "columns.f01.min_count=2"}));
  const std::string message = refusal(tiny_config({"gate.target_active=0.25"}));
  EXPECT_TRUE(contains(message, "f01")) << message;
  const std::string seeds = refusal(tiny_config({"gate.target_active=0.25", "columns.f01.min_count=2", "data.split.seed=3"}));
  EXPECT_TRUE(contains(seeds, "seed = 3")) << seeds;
}

TEST_F(ResumeOnce, TheSameValueUnderAnotherKeyIsNoExcuse) {
  interrupted(tiny_config({"train.seed=1", "data.split.seed=0"}));
  const std::string message = refusal(tiny_config({"train.seed=0", "data.split.seed=1"}));  // the same lines in other sections
  EXPECT_TRUE(contains(message, "seed")) << message;
}

TEST_F(ResumeOnce, ChangedDataIsRefused) {
  std::string text = "x,y\n";
  for (int i = 0; i < 400; ++i) text += std::to_string(i * 7 % 31) + "," + std::to_string(i % 2) + "\n";
  const fs::path file = folder_.write("t.csv", text);
  const Config config = tiny_config({"data.source=csv", "data.train=" + file.string(), "data.label=y"});
  interrupted(config);
  folder_.write("t.csv", text + "5,1\n");
  EXPECT_TRUE(contains(refusal(config), "the data differs"));
  folder_.write("t.csv", text);
  Watcher watcher;
  EXPECT_TRUE(train(config, out(), watcher, true));
}

TEST_F(ResumeOnce, DamagedCheckpointsAreRefused) {
  const Config config = tiny_config({"gate.target_active=0.25"});
  interrupted(config);
  const fs::path path = out() / "checkpoint/state.safetensors";
  const std::string good = read_file(path);
  for (const double share : {0.0, 0.001, 0.3, 0.7, 0.999}) {
    const auto at = static_cast<size_t>(share * static_cast<double>(good.size()));
    write_file_atomically(path, good.substr(0, at));
    EXPECT_TRUE(contains(refusal(config), "state.safetensors")) << "cut at " << at;
    std::string flipped = good;
    flipped[at] ^= 0x04;
    write_file_atomically(path, flipped);
    EXPECT_TRUE(contains(refusal(config), "state.safetensors")) << "flipped at " << at;
  }
  // Well-formed, but not a checkpoint of this run.
  TensorFile file;
  const auto saved = [&](const std::function<void(TensorFile&)>& change) {
    write_file_atomically(path, good);
    file = load_tensors(path);
    change(file);
    file.metadata.erase("sha256");
    save_tensors(path, file.tensors, file.metadata);
    return refusal(config);
  };
  EXPECT_TRUE(contains(saved([](TensorFile& f) { f.metadata.erase("trainer"); }), "is not a checkpoint of a run"));
  EXPECT_TRUE(contains(saved([](TensorFile& f) { f.metadata["trainer"] += "\nhardening.nonsense = 3\n"; }), "nonsense"));
  EXPECT_TRUE(contains(saved([](TensorFile& f) { f.tensors.erase("model/gate.logits"); }), "gate.logits"));
  EXPECT_TRUE(contains(saved([](TensorFile& f) { f.tensors.erase("control/price"); }), "state.safetensors"));
  EXPECT_TRUE(
      contains(saved([](TensorFile& f) { f.tensors["control/interface/scores"] = torch::Tensor(f.tensors["control/price"]); }),
               "state.safetensors"));
}

TEST_F(ResumeOnce, LostMetricsAreNoticed) {
  const Config config = tiny_config({"gate.target_active=0.25"});
  interrupted(config);
  write_file_atomically(out() / "metrics.jsonl", "");
  EXPECT_TRUE(contains(refusal(config), "fewer lines"));
}

// Killed while the folder was being made: run.json is there, what follows is not.
TEST_F(ResumeOnce, AFolderThatWasKilledWhileItWasMadeStartsAfresh) {
  const Config config = tiny_config({"gate.target_active=0.25"});
  RunFolder::create(out(), "table");
  Watcher watcher;
  EXPECT_TRUE(train(config, out(), watcher, true));
  train(config, out("whole"));
  EXPECT_EQ(differences(result_of(out("whole")), result_of(out())), std::vector<std::string>{});
}

TEST_F(ResumeOnce, AFolderInUseIsRefused) {
  const Config config = tiny_config({"gate.target_active=0.25"});
  interrupted(config);
  RunFolder other = RunFolder::open(out());
  other.lock();
  EXPECT_TRUE(contains(refusal(config), "in use by another process"));
}

}  // namespace
}  // namespace l0gm
