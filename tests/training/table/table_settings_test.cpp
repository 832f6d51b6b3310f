#include "training/table/table_settings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "training/tiny_run.h"

namespace l0gm {
namespace {

using testing_tools::train;
using testing_tools::Watcher;

std::map<std::string, double> settings_for(int64_t rows, Quality quality = Quality::good, int64_t epochs = 0,
                                           bool gated = false) {
  std::map<std::string, double> found;
  const TableFacts facts{.rows = rows, .columns = 10, .gates_dimensions = gated};
  for (const auto& [key, value] : table_settings(facts, quality, epochs)) {
    if (key != "model.name") found[std::string(key)] = std::stod(value);
  }
  return found;
}

std::string text_setting(const TableFacts& facts, std::string_view wanted) {
  for (const auto& [key, value] : table_settings(facts, Quality::good))
    if (key == wanted) return value;
  return "";
}

TEST(TableSettings, ShortTablesGetManySmallStepsLongOnesFewPasses) {
  EXPECT_EQ(settings_for(500)["train.batch"], 32);
  EXPECT_EQ(settings_for(30'000)["train.batch"], 256);
  EXPECT_EQ(settings_for(10'000'000)["train.batch"], 4096);
  EXPECT_EQ(settings_for(30'000)["train.epochs"], 30);
  EXPECT_EQ(settings_for(10'000'000)["train.epochs"], 4);
  double epochs = 1e9, batch = 0;
  for (int64_t rows = 20; rows <= 20'000'000; rows *= 2) {
    auto found = settings_for(rows);
    const double steps = found["train.epochs"] * static_cast<double>(rows) / found["train.batch"];
    EXPECT_LE(found["train.epochs"], epochs) << rows;
    EXPECT_GE(found["train.batch"], batch) << rows;
    EXPECT_LE(steps, 30'000) << rows;
    EXPECT_GE(steps, rows < 500 ? 0 : 1000) << rows;
    EXPECT_GE(found["train.patience"], 5) << rows;
    epochs = found["train.epochs"];
    batch = found["train.batch"];
  }
}

TEST(TableSettings, ManyColumnsTakeSmallerSteps) {
  const auto rate = [](int64_t columns) {
    for (const auto& [key, value] : table_settings({5000, columns, 2}, Quality::good))
      if (key == "train.lr") return std::stod(value);
    return 0.0;
  };
  EXPECT_EQ(rate(1), 0.002);
  EXPECT_EQ(rate(20), 0.002);
  EXPECT_EQ(rate(80), 0.0005);
  EXPECT_EQ(rate(2000), 0.0002);
}

TEST(TableSettings, FewRowsTakeAPlainNetOfMembers) {
  EXPECT_EQ(text_setting({.rows = 3999, .dense = true}, "model.name"), "mlp");
  EXPECT_EQ(text_setting({.rows = 3999, .columns = 501}, "model.name"), "wide-deep") << "no weight for every pair of columns";
  EXPECT_EQ(text_setting({.rows = 3999, .columns = 500}, "model.name"), "");
  EXPECT_EQ(text_setting({.rows = 3999, .dense = true}, "model.members"), "8");
  EXPECT_EQ(text_setting({.rows = 4000, .dense = true}, "model.name"), "");  // as everywhere
  EXPECT_EQ(text_setting({.rows = 4000, .dense = true}, "model.members"), "");
  EXPECT_EQ(text_setting({.rows = 500, .gates_dimensions = true}, "model.name"), "");
  EXPECT_EQ(text_setting({.rows = 500, .dense = true, .shares_layers = false}, "model.members"), "");
}

TEST(TableSettings, QualityBuysPasses) {
  for (const int64_t rows : {300, 5000, 100'000, 10'000'000}) {
    EXPECT_LT(settings_for(rows, Quality::fast)["train.epochs"], settings_for(rows)["train.epochs"]) << rows;
    EXPECT_GT(settings_for(rows, Quality::best)["train.epochs"], settings_for(rows)["train.epochs"]) << rows;
  }
}

TEST(TableSettings, PatienceFollowsTheEpochsThatWereAskedFor) {
  EXPECT_EQ(settings_for(30'000, Quality::good, 90)["train.patience"], 30);
  EXPECT_EQ(settings_for(30'000, Quality::good, 3)["train.patience"], 5);
}

class SettledRun : public testing::Test {
 protected:
  std::filesystem::path config(const std::string& text) const {
    return folder_.write("c.toml",
                         "[data]\nsource = 'planted-table'\nrows = 600\n[model]\nname = 'mlp'\nwidth = 2\nhidden = 8\n" + text);
  }
  Config stored() const { return read_config(folder_.path() / "run/config.toml", {}); }
  TemporaryFolder folder_;
};

TEST_F(SettledRun, WritesWhatFollowsFromTheTable) {
  train(read_config(config(""), {"train.quality=fast"}), folder_.path() / "run");
  const Config config = stored();
  const auto expected = settings_for(360, Quality::fast, 0, true);
  EXPECT_EQ(config.train.epochs, expected.at("train.epochs"));
  EXPECT_EQ(config.train.batch, expected.at("train.batch"));
  EXPECT_EQ(config.train.patience, expected.at("train.patience"));
  EXPECT_EQ(config.model.dropout, expected.at("model.dropout"));
  EXPECT_EQ(config.model.interface_dropout, expected.at("model.interface_dropout"));
  EXPECT_EQ(config.train.quality, Quality::fast);
  EXPECT_EQ(config.model.members, 1);  // with a gate
}

TEST_F(SettledRun, FewRowsWithoutAGateHaveMembers) {
  train(read_config(config(""), {"train.epochs=2", "gate.unit=none"}), folder_.path() / "run");
  EXPECT_EQ(stored().model.members, 8);
}

TEST_F(SettledRun, WhatIsNamedStays) {
  train(read_config(config("[train]\nepochs = 3\nbatch = 100\n"), {"model.dropout=0", "train.patience=0"}),
        folder_.path() / "run");
  const Config config = stored();
  EXPECT_EQ(config.train.epochs, 3);
  EXPECT_EQ(config.train.batch, 100);
  EXPECT_EQ(config.train.patience, 0);
  EXPECT_EQ(config.model.dropout, 0);
  EXPECT_EQ(config.model.interface_dropout, 0.4);  // of a short table with a gate
}

TEST_F(SettledRun, ANamedModelWithoutHiddenLayersHasOneMember) {
  train(read_config(config(""), {"train.epochs=2", "model.name=linear", "gate.unit=none"}), folder_.path() / "run");
  EXPECT_EQ(stored().model.name, "linear");
  EXPECT_EQ(stored().model.members, 1);
}

TEST_F(SettledRun, GoesOnAfterAStop) {
  const Config settled = read_config(config(""), {"train.quality=fast"});
  Watcher watcher;
  watcher.stop_at = 5;
  EXPECT_FALSE(train(settled, folder_.path() / "run", watcher));
  Watcher second;
  EXPECT_TRUE(train(settled, folder_.path() / "run", second, true));
}

TEST_F(SettledRun, AConfigurationMadeByAProgramIsLeftAlone) {
  Config made = read_config(config(""), {"train.epochs=2"});
  made.left_open.clear();
  made.model.dropout = 0.05;
  train(made, folder_.path() / "run");
  EXPECT_EQ(stored().model.dropout, 0.05);
  EXPECT_EQ(stored().train.batch, TrainOptions().batch);
}

TEST(TableSettings, AGateHasMoreDropoutAndMostWhereRowsAreFew) {
  const auto dropout = [](int64_t rows, bool gated) {
    return settings_for(rows, Quality::good, 0, gated).at("model.interface_dropout");
  };
  for (const int64_t rows : {500, 3000, 20'000}) EXPECT_GT(dropout(rows, true), dropout(rows, false)) << rows;
  EXPECT_GT(dropout(4999, true), dropout(5000, true));
}

}  // namespace
}  // namespace l0gm
