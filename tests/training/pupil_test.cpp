#include "training/pupil.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "l0gm/error.h"
#include "training/tiny_run.h"

// A teacher and its pupil: what the pupil's configuration is, and which of both is served.
namespace l0gm {
namespace {

namespace fs = std::filesystem;
using testing_tools::tiny_config;
using testing_tools::train;

ServeOptions serve(std::map<std::string, std::string> settings = {}) { return {true, std::move(settings)}; }

TEST(Pupil, IsSmallOfOneMemberAndLearnsFromTheTeacher) {
  const TemporaryFolder folder;
  const fs::path teacher = folder.path() / "teacher";
  std::vector<std::string> settings = {"model.members=4", "gate.unit=none", "serve.pupil=true"};
  train(tiny_config(settings), teacher);
  EXPECT_THROW(served_run(modalities(), teacher), UserError) << "there is no pupil yet";
  for (const std::string& own : pupil_assignments(serve({{"model.hidden", "8"}}), teacher)) settings.push_back(own);
  const Config config = tiny_config(settings);
  EXPECT_EQ(config.model.members, 1);
  EXPECT_EQ(config.model.depth, 1);
  EXPECT_EQ(config.model.hidden, 8) << "serve.settings has the last word";
  EXPECT_EQ(config.table.statistics, Statistics::none);
  EXPECT_EQ(config.train.epochs, 6) << "the rest is the teacher's";
  EXPECT_FALSE(config.serve.pupil);
  train(config, pupil_folder(teacher));
  EXPECT_EQ(served_run(modalities(), teacher), pupil_folder(teacher));
  const auto pupil = open_run(modalities(), pupil_folder(teacher), testing_tools::one_thread());
  EXPECT_FALSE(pupil->record().teacher.empty());
  const auto large = open_run(modalities(), teacher, testing_tools::one_thread());
  EXPECT_LT(pupil->model->parameter_count(), large->model->parameter_count());
}

TEST(Pupil, OneThatIsNotFinishedIsNotServed) {
  const TemporaryFolder folder;
  const fs::path teacher = folder.path() / "teacher";
  train(tiny_config({"gate.unit=none"}), teacher);
  EXPECT_EQ(served_run(modalities(), teacher), teacher) << "none was asked for";
  std::vector<std::string> settings = {"gate.unit=none"};
  for (const std::string& own : pupil_assignments(serve(), teacher)) settings.push_back(own);
  testing_tools::Watcher watcher;
  watcher.stop_at = 8;
  EXPECT_FALSE(train(tiny_config(settings), pupil_folder(teacher), watcher));
  EXPECT_THROW(served_run(modalities(), teacher), UserError);
}

TEST(Pupil, IsOfTheSameDataAndSeed) {
  for (const char* key : {"data.rows", "train.seed", "distill.from", "serve.pupil"}) {
    EXPECT_THROW(pupil_assignments(serve({{key, "3"}}), "teacher"), UserError) << key;
  }
}

}  // namespace
}  // namespace l0gm
