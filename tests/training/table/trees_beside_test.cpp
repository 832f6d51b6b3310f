#include <gtest/gtest.h>

#include "base/hash.h"
#include "compact/compact_run.h"
#include "compact/table/table_compaction.h"
#include "data/table/statistics.h"
#include "encoders/table/serving_costs.h"
#include "metrics/scores.h"
#include "training/tiny_run.h"

// Boosted trees beside a net: grown, weighed, kept in the run, predicted with and compacted.
namespace l0gm {
namespace {

using namespace testing_tools;

struct WithTrees {
  TemporaryFolder folder;
  std::filesystem::path path = folder.path() / "run";
  explicit WithTrees(std::vector<std::string> assignments = {"gate.unit=none"}) {
    assignments.insert(assignments.end(), {"data.source=messy-table", "data.rows=2000", "table.trees=on"});
    train(tiny_config(assignments), path);
  }
};

TEST(TreesBeside, LowerTheLossAndAreKeptInTheRun) {
  const WithTrees trained;
  TableRun run(trained.path, one_thread());
  const TreeScores trees = run.table.schema.trees;
  ASSERT_FALSE(trees.empty());
  EXPECT_GT(trees.share, 0);
  EXPECT_LE(trees.share, 1);
  const Predictions mixed = run.predict(Split::valid);
  const Predictions kept = read_predictions(run.folder.predictions(Split::valid));
  for (size_t i = 0; i < mixed.probabilities.size(); ++i) ASSERT_NEAR(mixed.probabilities[i], kept.probabilities[i], 1e-9);
  const Predictions trained_on = run.predict(Split::train);
  run.table.schema.trees.share = 0;
  EXPECT_LT(nll(mixed), nll(run.predict(Split::valid)));
  EXPECT_EQ(run.predict(Split::train).probabilities, trained_on.probabilities);  // of training rows the net's alone
}

TEST(TreesBeside, AFileThatWasChangedIsRefused) {
  const WithTrees trained;
  nlohmann::json trees = nlohmann::json::parse(read_file(trained.path / "trees.json"));
  trees["trees"]["share"] = 0.123;
  write_file_atomically(trained.path / "trees.json", trees.dump());
  EXPECT_THROW(TableRun(trained.path, one_thread()), UserError);
  std::filesystem::remove(trained.path / "trees.json");
  EXPECT_THROW(TableRun(trained.path, one_thread()), UserError);
}

// The last step is done, and trees are to be grown: who stops now goes on from there.
TEST(TreesBeside, AStopBeforeTheyAreGrownChangesNothing) {
  const WithTrees whole;
  const TemporaryFolder folder;
  const auto path = folder.path() / "run";
  const Config config = tiny_config({"gate.unit=none", "data.source=messy-table", "data.rows=2000", "table.trees=on"});
  Watcher watcher;
  watcher.stop_at = nlohmann::json::parse(read_file(whole.path / "summary.json"))["steps"];
  EXPECT_FALSE(train(config, path, watcher));
  EXPECT_EQ(watcher.steps.back(), watcher.stop_at);
  EXPECT_FALSE(std::filesystem::exists(path / "trees.json"));
  EXPECT_FALSE(std::filesystem::exists(path / "summary.json"));
  Watcher again;
  EXPECT_TRUE(train(config, path, again, true));
  EXPECT_TRUE(again.steps.empty());
  EXPECT_EQ(differences(result_of(whole.path), result_of(path)), std::vector<std::string>{});
  EXPECT_EQ(read_file(path / "trees.json"), read_file(whole.path / "trees.json"));
}

TEST(TreesBeside, WeightsOfClassesAreRefused) {
  const TemporaryFolder folder;
  EXPECT_THROW(train(tiny_config({"gate.unit=none", "table.trees=on", "train.class_weights=balanced"}), folder.path() / "run"),
               UserError);
}

TEST(TreesBeside, ACompactFileHasThem) {
  for (const char* gate : {"gate.unit=none", "gate.target_active=0.25"}) {
    const WithTrees trained({gate});
    CompactOptions options;
    options.generated_rows = 300;
    TableCompaction compaction(trained.path, options);
    const std::vector<double> wanted = compaction.trained(Precision::float64), folded = compaction.folded();
    ASSERT_EQ(wanted.size(), folded.size());
    for (size_t i = 0; i < wanted.size(); ++i) ASSERT_NEAR(wanted[i], folded[i], 1e-9);
    const auto file = trained.folder.path() / "model.l0gm";
    compaction.write(file, WeightType::float32, compaction.calibrator(), compaction.about());
    const std::vector<double> served = compaction.served(file);
    for (size_t i = 0; i < wanted.size(); ++i) ASSERT_NEAR(wanted[i], served[i], 2e-6);
  }
}

// Trees of the test's own over statistics, in place of those that training has chosen.
void put_trees_over_statistics(const std::filesystem::path& path) {
  TableRun run(path, one_thread());
  Schema schema = run.table.schema;
  schema.trees = {};
  const TableDataset& data = run.dataset();
  EncodedTable rows = encode_rows(data.table, RowEncoder(schema), data.train, true);
  fill_out_of_fold(schema, rows, &data.table);
  GrownTrees grown = TreeGrower(schema, data.table, data.train, data.valid, {}, &rows).grow()->grown;
  grown.trees.share = 0.5;
  run.folder.write_json(run.folder.trees(), grown_to_json(grown));
  nlohmann::json summary = run.folder.read_json(run.folder.summary());
  summary["trees_sha256"] = sha256_file(run.folder.trees());
  write_file_atomically(run.folder.summary(), summary.dump());
}

TEST(TreesBeside, StatisticsThatTreesReadStayNumbersInACompactFile) {
  const WithTrees trained({"gate.unit=none", "table.statistics=columns"});
  put_trees_over_statistics(trained.path);
  {
    const TableRun run(trained.path, one_thread());
    const Schema& schema = run.table.schema;
    const auto held = [&](const TreeInput& input) {
      return input.is_statistic() && is_held_by_table(schema, schema.fields[static_cast<size_t>(input.part.field)]);
    };
    ASSERT_TRUE(std::any_of(schema.trees.inputs.begin(), schema.trees.inputs.end(), held));
  }
  CompactOptions options;
  options.generated_rows = 300;
  TableCompaction compaction(trained.path, options);
  const std::vector<double> wanted = compaction.trained(Precision::float64), folded = compaction.folded();
  for (size_t i = 0; i < wanted.size(); ++i) ASSERT_NEAR(wanted[i], folded[i], 1e-9);
  const auto file = trained.folder.path() / "model.l0gm";
  compaction.write(file, WeightType::float32, compaction.calibrator(), compaction.about());
  const std::vector<double> served = compaction.served(file);
  for (size_t i = 0; i < wanted.size(); ++i) ASSERT_NEAR(wanted[i], served[i], 2e-6);
}

// The gate has closed nearly all: what only trees read is kept none the less.
TEST(TreesBeside, StatisticsThatOnlyTreesReadAreKept) {
  const WithTrees trained({"gate.target_active=0.02", "table.statistics=columns"});
  put_trees_over_statistics(trained.path);
  CompactOptions options;
  options.generated_rows = 300;
  TableCompaction compaction(trained.path, options);
  const std::vector<double> wanted = compaction.trained(Precision::float64), folded = compaction.folded();
  for (size_t i = 0; i < wanted.size(); ++i) ASSERT_NEAR(wanted[i], folded[i], 1e-9);
}

TEST(TreesBeside, ColumnsThatTheGateHasClosedAreNotReadByTrees) {
  const WithTrees trained({"gate.unit=group", "gate.k=3"});
  TableRun run(trained.path, one_thread());
  const std::optional<InputReport> inputs = run.inputs(Split::valid);
  ASSERT_TRUE(inputs);
  EXPECT_EQ(inputs->open.size(), 3U);
}

TEST(TreesBeside, NotWhereAModelIsNamed) {
  const TemporaryFolder folder;
  const auto trees_of = [&](const std::vector<std::string>& assignments) {
    Config config = tiny_config(assignments);
    const auto path = folder.path() / std::to_string(std::distance(std::filesystem::directory_iterator(folder.path()), {}));
    train(config, path);
    return read_file(path / "config.toml").find("trees = \"off\"") != std::string::npos &&
           !std::filesystem::exists(path / "trees.json");
  };
  EXPECT_TRUE(trees_of({"gate.unit=none"}));  // tiny_config names the model
  EXPECT_TRUE(trees_of({"gate.unit=group", "gate.k=3"}));
}

}  // namespace
}  // namespace l0gm
