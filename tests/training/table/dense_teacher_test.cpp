#include <fmt/format.h>
#include <gtest/gtest.h>

#include "l0gm/error.h"
#include "training/run.h"
#include "training/tiny_run.h"

// A gate on a table of few rows learns from a dense model that is trained first.
namespace l0gm {
namespace {

namespace fs = std::filesystem;
using testing_tools::one_thread;
using testing_tools::result_of;
using testing_tools::train;
using testing_tools::Watcher;
using Settings = std::vector<std::string>;

class DenseTeacherTest : public testing::Test {
 protected:
  // Nobody names the model.
  Config config(const Settings& more = {}) const {
    const fs::path path =
        folder_.write("c.toml",
                      "[data]\nsource = 'planted-table'\nrows = 600\n[model]\nwidth = 2\nhidden = 8\ndepth = 1\n"
                      "[train]\nepochs = 6\ntrials = false\n[table]\ntrees = 'off'\n[gate]\ntarget_active = 0.5\n");
    return read_config(path, more);
  }
  fs::path out(const std::string& name = "run") const { return folder_.path() / name; }
  DistillOptions taught_in(const std::string& name) const { return read_config(out(name) / "config.toml", {}).distill; }
  TemporaryFolder folder_;
};

TEST_F(DenseTeacherTest, IsTheDefaultOfAGateOnFewRows) {
  train(config(), out());
  EXPECT_EQ(taught_in("run").dense, DenseTeacher::on);
  EXPECT_EQ(taught_in("run").weight, 0.7);
  EXPECT_TRUE(fs::exists(out() / "teacher.csv"));
}

TEST_F(DenseTeacherTest, WhoWantsAnotherModelOrNoneGetsIt) {
  const std::vector<Settings> without = {
      {"gate.unit=none"}, {"model.name=deepfm"}, {"train.quality=fast"}, {"gate.unit=group"}, {"distill.dense=off"}};
  for (size_t i = 0; i < without.size(); ++i) {
    const std::string name = "run " + std::to_string(i);
    train(config(without[i]), out(name));
    EXPECT_EQ(taught_in(name).dense, DenseTeacher::off) << without[i][0];
    EXPECT_FALSE(fs::exists(out(name) / "teacher.csv")) << without[i][0];
  }
  train(config({"model.name=deepfm", "distill.dense=on"}), out("asked for"));
  EXPECT_TRUE(fs::exists(out("asked for") / "teacher.csv"));
}

// The teacher is the model that the same configuration without a gate makes, and the lesson what that one says of training rows.
TEST_F(DenseTeacherTest, SaysWhatTheDenseRunSays) {
  train(config(), out("gated"));
  train(config({"gate.unit=none"}), out("dense"));
  const Predictions lesson = read_predictions(out("gated") / "teacher.csv");
  const Predictions dense = open_run(modalities(), out("dense"), one_thread())->predict(Split::train);
  EXPECT_EQ(lesson.rows, dense.rows);
  ASSERT_EQ(lesson.probabilities.size(), dense.probabilities.size());
  double largest = 0;
  for (size_t i = 0; i < dense.probabilities.size(); ++i)
    largest = std::max(largest, std::abs(lesson.probabilities[i] - dense.probabilities[i]));
  EXPECT_LT(largest, 1e-6);
}

// What the teacher has different is an option like any other.
TEST_F(DenseTeacherTest, TheRunOfTheCompleteConfigurationIsTheSame) {
  train(config(), out("first"));
  EXPECT_EQ(taught_in("first").settings.at("model.name"), "mlp");
  train(read_config(out("first") / "config.toml", {}), out("second"));
  EXPECT_EQ(read_file(out("second") / "teacher.csv"), read_file(out("first") / "teacher.csv"));
  EXPECT_EQ(result_of(out("second")), result_of(out("first")));
  train(read_config(out("first") / "config.toml", {"gate.unit=none"}), out("control"));
  EXPECT_FALSE(fs::exists(out("control") / "teacher.csv"));
  EXPECT_NO_THROW(open_run(modalities(), out("control"), one_thread())) << "its configuration names nothing that is not read";
}

TEST_F(DenseTeacherTest, IsSwitchedOffOnTheCommandLineWhateverACompleteConfigurationNames) {
  train(config(), out("first"));
  for (const Settings& settings : {Settings{"distill.dense=off"}, Settings{"gate.unit=none", "distill.dense=off"}}) {
    const Config off = read_config(out("first") / "config.toml", settings);
    EXPECT_EQ(off.distill.weight, DistillOptions().weight);
    EXPECT_TRUE(off.distill.settings.empty());
  }
  EXPECT_THROW(read_config(out("first") / "config.toml", {"distill.dense=off", "distill.weight=0.3"}), UserError);
  train(read_config(out("first") / "config.toml", {"distill.dense=off"}), out("alone"));
  EXPECT_FALSE(fs::exists(out("alone") / "teacher.csv"));
}

TEST_F(DenseTeacherTest, ChangesWhatTheGateLearns) {
  train(config(), out("taught"));
  train(config({"distill.dense=off"}), out("alone"));
  EXPECT_NE(read_file(out("taught") / "predictions/valid.csv"), read_file(out("alone") / "predictions/valid.csv"));
}

TEST_F(DenseTeacherTest, ARunThatGoesOnLearnsFromTheSame) {
  train(config(), out("whole"));
  Watcher watcher;
  watcher.stop_at = 5;
  EXPECT_FALSE(train(config(), out(), watcher));
  const std::string said = read_file(out() / "teacher.csv");
  Watcher again;
  EXPECT_TRUE(train(config(), out(), again, true));
  EXPECT_EQ(read_file(out() / "teacher.csv"), said);
  EXPECT_EQ(result_of(out()), result_of(out("whole")));
}

TEST_F(DenseTeacherTest, AChangedLessonIsRefused) {
  Watcher watcher;
  watcher.stop_at = 5;
  EXPECT_FALSE(train(config(), out(), watcher));
  write_file_atomically(out() / "teacher.csv", read_file(out() / "teacher.csv") + " ");
  Watcher again;
  EXPECT_THROW(train(config(), out(), again, true), UserError);
}

TEST_F(DenseTeacherTest, StoppedMeanwhileNothingIsLeft) {
  Watcher watcher;
  watcher.stop = true;
  EXPECT_FALSE(train(config(), out(), watcher));
  EXPECT_FALSE(fs::exists(out()));
}

TEST_F(DenseTeacherTest, AStartIsTheModelThatIsWanted) {
  train(config({"distill.dense=off"}), out("first"));
  train(config({"model.init_from=" + out("first").string()}), out("second"));
  EXPECT_EQ(taught_in("second").dense, DenseTeacher::off);
}

TEST_F(DenseTeacherTest, SettingsOfATeacherThatIsNotThereAreRefused) {
  for (const std::string& setting :
       Settings{"distill.weight=0.3", "distill.temperature=2", R"(distill.settings={"model.members" = "2"})"}) {
    const std::string message = message_of<UserError>([&] { train(config({"model.name=deepfm", setting}), out()); });
    EXPECT_NE(message.find("distill.dense = on"), std::string::npos) << message;
  }
  const auto refusal = [&](const std::string& settings) {
    return message_of<UserError>([&] { train(config({"distill.dense=on", "distill.settings={" + settings + "}"}), out()); });
  };
  for (const char* key : {"gate.unit", "model.init_from", "serve.pupil"}) {
    const std::string message = refusal(fmt::format("\"{}\" = \"x\"", key));
    EXPECT_NE(message.find(fmt::format("distill.settings names '{}'", key)), std::string::npos) << message;
  }
  EXPECT_NE(refusal(R"("model.name" = "gcn")").find("model.name is 'gcn'"), std::string::npos);
  EXPECT_FALSE(fs::exists(out()));
}

TEST_F(DenseTeacherTest, AnInterruptedRunWithoutOneSaysWhatDiffers) {
  Watcher watcher;
  watcher.stop_at = 5;
  EXPECT_FALSE(train(config({"distill.dense=off"}), out(), watcher));
  Watcher again;
  const std::string message = message_of<UserError>([&] { train(config(), out(), again, true); });
  EXPECT_NE(message.find("distill.dense"), std::string::npos) << message;
}

TEST_F(DenseTeacherTest, TwoTeachersAreRefused) {
  train(config({"gate.unit=none"}), out("dense"));
  const Settings two = {"distill.dense=on", "distill.from=" + out("dense").string()};
  EXPECT_NE(message_of<UserError>([&] { train(config(two), out()); }).find("one teacher"), std::string::npos);
}

}  // namespace
}  // namespace l0gm
