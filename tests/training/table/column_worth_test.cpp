#include "training/table/column_worth.h"

#include <ATen/Functions.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "training/tiny_run.h"

namespace l0gm {
namespace {

using testing_tools::one_thread;
using testing_tools::tiny_config;
using testing_tools::train;

// Columns `good`, which tells the label, and `bad`, which does not.
std::vector<OpenInput> worth_of(
    const std::vector<std::string>& settings, const std::function<void(TableRun&)>& change = [](TableRun&) {}) {
  const TemporaryFolder folder;
  std::string csv = "good,bad,y\n";
  for (int i = 0; i < 600; ++i) csv += fmt::format("{}.5,{}.5,{}\n", i * 7 % 100, i * 31 % 97, i * 7 % 100 < 50 ? "a" : "b");
  std::vector<std::string> all = {"data.source=csv", "data.train=" + folder.write("t.csv", csv).string(), "data.label=y",
                                  "train.epochs=12"};
  all.insert(all.end(), settings.begin(), settings.end());
  train(tiny_config(all), folder.path() / "run");
  TableRun run(folder.path() / "run", one_thread());
  const torch::Tensor before =
      run.model->interface_site() != nullptr ? run.model->interface_site()->gate->logits().clone() : torch::Tensor();
  change(run);
  std::vector<OpenInput> columns = run.inputs(Split::valid)->open;
  std::sort(columns.begin(), columns.end(), [](const auto& a, const auto& b) { return a.name > b.name; });  // good first
  fill_column_worth(run, columns);
  if (before.defined()) EXPECT_TRUE(at::equal(run.model->interface_site()->gate->logits(), before)) << "gates are as they were";
  return columns;
}

TEST(ColumnWorth, AColumnThatTellsTheLabelIsMissedMost) {
  const std::vector<OpenInput> columns = worth_of({"gate.target_active=1"});
  ASSERT_EQ(columns.size(), 2u);
  EXPECT_GT(*columns[0].worth_shuffled, 0.2);
  EXPECT_LT(std::abs(*columns[1].worth_shuffled), 0.1);
  EXPECT_GT(*columns[0].worth_closed, 0.2);
  EXPECT_LT(std::abs(*columns[1].worth_closed), 0.2);
}

TEST(ColumnWorth, NothingIsClosedWithoutAGateOrInTheLastColumn) {
  for (const OpenInput& column : worth_of({"gate.unit=none"})) {
    EXPECT_TRUE(column.worth_shuffled.has_value());
    EXPECT_FALSE(column.worth_closed.has_value());
  }
  const std::vector<OpenInput> last = worth_of({"gate.unit=group", "gate.k=1"});
  ASSERT_EQ(last.size(), 1u);
  EXPECT_FALSE(last[0].worth_closed.has_value());
}

TEST(ColumnWorth, AColumnThatTreesReadIsShuffledForThemAndNotClosed) {
  std::vector<bool> in_trees;
  const std::vector<std::string> settings = {"gate.target_active=1", "table.trees=on", "train.epochs=2"};
  const std::vector<OpenInput> columns = worth_of(settings, [&](TableRun& run) {
    ASSERT_FALSE(run.table.schema.trees.empty());
    run.table.schema.trees.share = 1;  // the net has no say: what a column is worth, it is worth to the trees
    in_trees = run.columns_of_trees();
  });
  ASSERT_EQ(columns.size(), 2u);
  ASSERT_EQ(in_trees.size(), 2u);
  EXPECT_TRUE(in_trees[0]) << "good, the first column";
  EXPECT_GT(*columns[0].worth_shuffled, 0.2);
  for (size_t c = 0; c < 2; ++c) EXPECT_EQ(columns[c].worth_closed.has_value(), !in_trees[c]) << columns[c].name;
}

}  // namespace
}  // namespace l0gm
