#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "training/tiny_run.h"
#include "training/trials.h"

// Few or many statistics: both are trained, and validation rows choose.
namespace l0gm {
namespace {

namespace fs = std::filesystem;
using testing_tools::result_of;
using testing_tools::train;
using testing_tools::Watcher;

class TableTrials : public testing::Test {
 protected:
  // Eight numbers that tell six classes apart together: more statistics are worth it than 300 rows bear by default.
  Config config(const std::vector<std::string>& more = {}) const {
    RandomStream random(5);
    std::string text = "a,b,c,d,e,f,g,h,label\n";
    for (int64_t row = 0; row < 500; ++row) {
      const auto of = static_cast<int64_t>(random.below(6));
      for (int64_t c = 0; c < 8; ++c) text += fmt::format("{:.3f},", static_cast<double>(of * (c + 3) % 7) + random.normal());
      text += fmt::format("k{}\n", of);
    }
    folder_.write("rows.csv", text);
    const fs::path path = folder_.write("c.toml",
                                        "[data]\nsource = 'csv'\ntrain = 'rows.csv'\nlabel = 'label'\n[model]\nname = 'mlp'\n"
                                        "width = 2\nhidden = 8\nmembers = 1\n[train]\nepochs = 3\n[gate]\nunit = 'none'\n");
    return read_config(path, more);
  }
  fs::path run(const char* name = "run") const { return folder_.path() / name; }
  TemporaryFolder folder_;
};

TEST_F(TableTrials, WhatIsBetterBeyondChanceIsTakenAndWritten) {
  train(config(), run());
  const nlohmann::json trials = nlohmann::json::parse(read_file(run() / "trials.json"));
  ASSERT_EQ(trials.size(), 2U);
  EXPECT_EQ(trials[1]["settings"], "table.rows_per_input=2");
  const double few = trials[0]["valid_nll"], many = trials[1]["valid_nll"], error = trials[1]["error"];
  EXPECT_GT(error, 0);
  EXPECT_EQ(read_config(run() / "config.toml", {}).table.rows_per_input, many < few - error / 2 ? 2 : 20);
}

TEST_F(TableTrials, TheRunIsTheOneOfTheSettingThatWasTaken) {
  train(config(), run());
  const int64_t taken = read_config(run() / "config.toml", {}).table.rows_per_input;
  train(config({fmt::format("table.rows_per_input={}", taken)}), run("named"));
  EXPECT_FALSE(fs::exists(run("named") / "trials.json"));
  EXPECT_EQ(read_file(run() / "checkpoint/best.safetensors"), read_file(run("named") / "checkpoint/best.safetensors"));
  EXPECT_EQ(read_file(run() / "schema.json"), read_file(run("named") / "schema.json"));
}

TEST_F(TableTrials, ARunThatGoesOnDoesNotTryAgain) {
  train(config(), run("whole"));
  Watcher watcher;
  watcher.stop_at = 3;
  EXPECT_FALSE(train(config(), run(), watcher));
  const std::string tried = read_file(run() / "trials.json");
  Watcher again;
  EXPECT_TRUE(train(config(), run(), again, true));
  EXPECT_EQ(read_file(run() / "trials.json"), tried);
  EXPECT_EQ(result_of(run()), result_of(run("whole")));
}

TEST_F(TableTrials, NothingIsTriedWhereItIsNamedOrWouldBeTheSame) {
  for (const char* named : {"train.trials=false", "train.quality=fast", "table.statistics=none", "table.rows_per_input=7"}) {
    const fs::path out = run(named);
    train(config({named}), out);
    EXPECT_FALSE(fs::exists(out / "trials.json")) << named;
  }
  const fs::path path = folder_.write("p.toml",  // whose columns tell too little for statistics
                                      "[data]\nsource = 'planted-table'\nrows = 600\n[model]\nname = 'mlp'\nwidth = 2\nhidden = 8\n"
                                      "[train]\nepochs = 2\n[gate]\nunit = 'none'\n");
  train(read_config(path, {}), run("planted"));
  EXPECT_FALSE(fs::exists(run("planted") / "trials.json"));
}

}  // namespace
}  // namespace l0gm
