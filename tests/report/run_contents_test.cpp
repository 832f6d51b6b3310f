#include "report/run_contents.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "report/sample_run.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

class RunContents : public ::testing::Test {
 protected:
  nlohmann::json contents(const SampleRun& run, bool brief = false, bool with_paths = false) {
    make_sample_run(path(), run);
    return read(brief, with_paths);
  }
  nlohmann::json read(bool brief = false, bool with_paths = false) {
    return run_contents(path(), "bank", {{"data.train"}, with_paths, brief});
  }
  std::filesystem::path path() const { return folder_.path() / "run"; }
  TemporaryFolder folder_;
};

TEST_F(RunContents, EverythingThatThePageShows) {
  const nlohmann::json run = contents({});
  EXPECT_EQ(run["name"], "bank");
  EXPECT_EQ(run["state"], "finished");
  EXPECT_EQ(run["modality"], "table");
  EXPECT_EQ(run["dataset"], "made");
  EXPECT_EQ(run["group"], "made (table)");
  EXPECT_EQ(run["seed"], 3);
  EXPECT_TRUE(run["notes"].empty()) << run["notes"];
  const nlohmann::json& test = run["evaluations"]["test"];
  EXPECT_EQ(test["rows"], 400);
  EXPECT_EQ(test["confusion"].size(), 2u);
  EXPECT_EQ(test["conditions"].size(), 1u);
  EXPECT_FALSE(test.contains("reliability"));
  EXPECT_EQ(run["metrics"]["step"], nlohmann::json::parse("[10, 20, 30, 40, 50]"));
  EXPECT_EQ(run["metrics"]["gates"].size(), 5u);
  EXPECT_EQ(run["gates"][0]["names"][1], "age[1]");
  EXPECT_EQ(run["environment"]["processor"], "a processor");
  EXPECT_TRUE(run["latency"].is_null());
}

TEST_F(RunContents, BinsHaveIntervalsBeforeAndAfterCalibration) {
  const nlohmann::json test = contents({})["evaluations"]["test"];
  for (const char* which : {"raw", "calibrated"}) {
    const nlohmann::json& bins = test["reliability_shown"][which];
    ASSERT_EQ(bins.size(), 15u) << which;
    for (const nlohmann::json& bin : bins) {
      if (bin["count"] == 0) continue;
      EXPECT_LE(bin["interval"][0].get<double>(), bin["accuracy"].get<double>());
      EXPECT_GE(bin["interval"][1].get<double>(), bin["accuracy"].get<double>());
    }
  }
  EXPECT_NE(test["reliability_shown"]["raw"], test["reliability_shown"]["calibrated"]);
}

TEST_F(RunContents, PhasesFollowFromTheSchedule) {
  const nlohmann::json phases = contents({})["phases"];
  ASSERT_EQ(phases.size(), 3u);
  EXPECT_EQ(phases[0]["name"], "warm-up");
  EXPECT_EQ(phases[0]["to"], 5.0);
  EXPECT_EQ(phases[1]["to"], 30.0);
  EXPECT_EQ(phases[2]["to"], 50.0);
}

TEST_F(RunContents, PhasesOfAnOlderRunAreThoseOfItsMetrics) {
  make_sample_run(path(), {});
  write_file_atomically(path() / "summary.json", R"({"steps": 50})");
  const nlohmann::json phases = read()["phases"];
  ASSERT_EQ(phases.size(), 3u);
  EXPECT_EQ(phases[1]["name"], "anneal");
  EXPECT_EQ(phases[1]["from"], 10.0);
  EXPECT_EQ(phases[1]["to"], 30.0);
}

TEST_F(RunContents, ADenseRunHasNoPhasesAndNoGates) {
  const nlohmann::json run = contents({.gated = false});
  EXPECT_TRUE(run["phases"].empty());
  EXPECT_TRUE(run["gates"].is_null());
  EXPECT_TRUE(run["metrics"]["gates"].is_null());
}

TEST_F(RunContents, NoPathOfTheMachineUnlessAskedFor) {
  EXPECT_EQ(contents({.dataset = "/home/somebody/x.csv"}).dump().find("somebody"), std::string::npos);
  const std::string told = read(false, true).dump();
  EXPECT_NE(told.find("/home/somebody/secret/bank.csv"), std::string::npos);
  EXPECT_NE(told.find(path().string()), std::string::npos);
}

TEST_F(RunContents, WhatIsMissingIsSaidWithTheCommand) {
  const nlohmann::json run = contents({.test = false});
  ASSERT_EQ(run["notes"].size(), 1u);
  EXPECT_EQ(run["notes"][0]["command"], "l0gm eval bank");
  EXPECT_TRUE(run["evaluations"].contains("valid"));
}

TEST_F(RunContents, DamagedFilesAreSaidAndTheRestIsShown) {
  make_sample_run(path(), {});
  write_file_atomically(path() / "evaluation/test.json", "{\"evaluation\": {\"rows\": \"many\"}}");
  write_file_atomically(path() / "gates.json", "{\"sites\": [{}]}");
  write_file_atomically(path() / "latency.json", "{\"results\": 3}");
  write_file_atomically(path() / "environment.json", "nothing");
  write_file_atomically(path() / "metrics.jsonl", read_file(path() / "metrics.jsonl") + "{\"step\": 6");
  const nlohmann::json run = read();
  EXPECT_EQ(run["notes"][0]["command"], "l0gm eval bank --again");
  EXPECT_TRUE(run["gates"].is_null());
  EXPECT_TRUE(run["latency"].is_null());
  EXPECT_EQ(run["metrics"]["step"].size(), 5u) << "the line that was cut off is left out";
}

TEST_F(RunContents, LatencyWithoutThePathOfTheModel) {
  make_sample_run(path(), {});
  write_file_atomically(
      path() / "latency.json",
      R"({"model": "/home/somebody/m.l0gm", "threads": 1, "results": [{"input": "text", "batch": 1, "median_us": 2.5, "p99_us": 3}]})");
  const nlohmann::json latency = read()["latency"];
  EXPECT_EQ(latency["results"][0]["median_us"], 2.5);
  EXPECT_EQ(latency.dump().find("somebody"), std::string::npos);
}

TEST_F(RunContents, OneOfManyIsBrief) {
  const nlohmann::json run = contents({}, true);
  EXPECT_FALSE(run["gates"][0].contains("names"));
  EXPECT_EQ(run["gates"][0]["histogram"].size(), 30u);
  EXPECT_FALSE(run["evaluations"]["test"].contains("confusion"));
}

TEST_F(RunContents, LongCurvesAreThinnedAndKeepTheirEnd) {
  make_sample_run(path(), {});
  const RunFolder folder = RunFolder::open(path());
  for (int64_t epoch = 6; epoch <= 900; ++epoch) folder.append_metrics(sample_epoch(epoch, true));
  const nlohmann::json steps = read()["metrics"]["step"];
  EXPECT_LE(steps.size(), 401u);
  EXPECT_EQ(steps.front(), 10);
  EXPECT_EQ(steps.back(), 9000);
}

}  // namespace
}  // namespace l0gm
