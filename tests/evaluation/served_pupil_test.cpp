#include "evaluation/served_pupil.h"

#include <gtest/gtest.h>

#include "run/run_folder.h"
#include "training/pupil.h"
#include "training/tiny_run.h"

namespace l0gm {
namespace {

namespace fs = std::filesystem;
using testing_tools::tiny_config;
using testing_tools::train;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(ServedPupil, IsWrittenMeasuredAndComparedWithItsTeacher) {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  std::vector<std::string> settings = {"gate.unit=none", "table.statistics=columns"};
  const Config config = tiny_config(settings);
  train(config, run);
  for (const std::string& own : pupil_assignments({true, {}}, run)) settings.push_back(own);
  const Config pupil = tiny_config(settings);
  train(pupil, pupil_folder(run));
  Evaluation of_teacher, of_pupil;
  of_teacher.summary.raw.nll = 0.5;
  of_pupil.summary.raw.nll = 0.625;
  const ServedPupil served = serve_pupil(run, of_teacher, of_pupil, config, pupil);
  EXPECT_EQ(served.json["file"], (run / "served.l0gm").string());
  EXPECT_EQ(served.json["bytes"], fs::file_size(run / "served.l0gm"));
  EXPECT_TRUE(fs::exists(run / "served.md"));
  const RunFolder of_run = RunFolder::open(pupil_folder(run));
  EXPECT_EQ(of_run.read_json(of_run.latency())["results"], served.json["latency"]);
  EXPECT_TRUE(contains(served.text, "validation NLL 0.6250, its teacher's 0.5000")) << served.text;
  EXPECT_TRUE(contains(served.text, "table.statistics")) << "it lost much, and may look up what its teacher does";
  of_pupil.summary.raw.nll = 0.505;
  EXPECT_FALSE(contains(serve_pupil(run, of_teacher, of_pupil, config, pupil).text, "table.statistics"));
}

}  // namespace
}  // namespace l0gm
