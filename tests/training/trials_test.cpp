#include "training/trials.h"

#include <gtest/gtest.h>

#include "l0gm/error.h"
#include "training/graph/graph_run.h"
#include "training/tiny_run.h"

// Settings that training tells: which are tried, which is taken, and that a run that goes on does not try again.
namespace l0gm {
namespace {

namespace fs = std::filesystem;
using testing_tools::metrics_of;
using testing_tools::result_of;
using testing_tools::train;
using testing_tools::Watcher;

// A board whose squares know the mines around them: two layers that mix a square with its neighbours cannot tell where they are.
Config board(const std::vector<std::string>& more = {}) {
  const TemporaryFolder folder;
  const fs::path path =
      folder.write("board.toml", "[data]\nsource = 'varied-graph'\nsplit.seed = 4\n[model]\nhidden = 16\n[train]\nepochs = 8\n");
  return read_config(modalities(), path, more);
}

nlohmann::json trials_of(const fs::path& run) { return nlohmann::json::parse(read_file(run / "trials.json")); }

TEST(Trials, WhatHasTheLowestLossIsTakenAndWritten) {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  train(board(), run);
  const nlohmann::json trials = trials_of(run);
  ASSERT_EQ(trials.size(), 6U) << "as it is, three recipes, sage and mlp";
  double least = 1e9;
  std::string best;
  for (size_t i = 0; i < 4; ++i) {
    if (trials[i]["valid_nll"] < least) {
      least = trials[i]["valid_nll"];
      best = trials[i]["settings"];
    }
  }
  const Config taken = read_run_config(modality_named(modalities(), "graph"), run / "config.toml");
  EXPECT_EQ(taken.graph.residual == Residual::linear, best.find("linear") != std::string::npos);
  EXPECT_EQ(taken.model.depth == 5, best.find("depth=5") != std::string::npos);
  const double sage = trials[4]["valid_nll"], mlp = trials[5]["valid_nll"];
  EXPECT_EQ(taken.model.name, std::min(sage, mlp) >= least ? "gcn" : sage <= mlp ? "sage" : "mlp");
  EXPECT_EQ(taken.gate.unit, UnitKind::dimension) << "trials have no gate, the run has";
  EXPECT_EQ(taken.train.epochs, 8);
}

TEST(Trials, WhoNamesARecipeGetsIt) {
  const Modality& graphs = modality_named(modalities(), "graph");
  const GraphRecord record;
  EXPECT_EQ(graphs.trials(board(), record).rounds.size(), 2U);
  EXPECT_EQ(graphs.trials(board({"model.name=sage"}), record).rounds.size(), 1U);
  for (const char* named :
       {"model.depth=2", "graph.residual=none", "model.dropout=0.5", "train.trials=false", "model.name=mlp"}) {
    EXPECT_TRUE(graphs.trials(board({named}), record).rounds.empty()) << named;
  }
}

TEST(Trials, ARunThatGoesOnDoesNotTryAgain) {
  const TemporaryFolder folder;
  const fs::path whole = folder.path() / "whole", parts = folder.path() / "parts";
  train(board(), whole);
  Watcher watcher;
  watcher.stop_at = 3;
  EXPECT_FALSE(train(board(), parts, watcher));
  const std::string tried = read_file(parts / "trials.json");
  Watcher again;
  EXPECT_TRUE(train(board(), parts, again, true));
  EXPECT_EQ(read_file(parts / "trials.json"), tried);
  EXPECT_EQ(result_of(parts), result_of(whole));
}

TEST(Trials, WhoStartsFromARunHasItsShapes) {
  const TemporaryFolder folder;
  const fs::path first = folder.path() / "first", second = folder.path() / "second";
  train(board(), first);
  train(board({"model.init_from=" + first.string(), "train.epochs=4"}), second);
  const Modality& graphs = modality_named(modalities(), "graph");
  const Config of_first = read_run_config(graphs, first / "config.toml"),
               of_second = read_run_config(graphs, second / "config.toml");
  EXPECT_EQ(of_second.model.depth, of_first.model.depth);
  EXPECT_EQ(of_second.model.name, of_first.model.name);
  EXPECT_EQ(of_second.graph.residual, of_first.graph.residual);
  EXPECT_FALSE(fs::exists(second / "trials.json"));
}

TEST(Trials, StoppedMeanwhileNothingIsLeft) {
  const TemporaryFolder folder;
  Watcher watcher;
  watcher.stop = true;
  EXPECT_FALSE(train(board(), folder.path() / "run", watcher));
  EXPECT_FALSE(fs::exists(folder.path() / "run"));
}

}  // namespace
}  // namespace l0gm
