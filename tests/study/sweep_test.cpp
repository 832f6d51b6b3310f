#include "study/sweep.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "l0gm/error.h"
#include "study/made_products.h"
#include "support/temporary_folder.h"
#include "training/modalities.h"

namespace l0gm {
namespace {

using testing_tools::make_product;
using testing_tools::noisy_model;

TEST(AreaUnderCurve, IsTheBestWithinEachBudget) {
  // Up to 20 % active .7, from there on .9; a line that is larger and worse does not count.
  EXPECT_NEAR(area_under_curve({0.1, 0.2, 0.5}, {0.7, 0.9, 0.8}, true, 0.1, 1), (0.7 * 0.1 + 0.9 * 0.8) / 0.9, 1e-12);
  EXPECT_NEAR(area_under_curve({0.5, 0.1, 0.2}, {0.3, 0.6, 0.4}, false, 0.1, 1), (0.6 * 0.1 + 0.4 * 0.3 + 0.3 * 0.5) / 0.9,
              1e-12);
  EXPECT_NEAR(area_under_curve({1}, {0.8}, true, 1, 1), 0.8, 1e-12);
}

class SweepTest : public ::testing::Test {
 protected:
  TemporaryFolder temporary_;
  std::filesystem::path config_ =
      temporary_.write("tiny.toml", "[data]\nsource = \"planted-table\"\nrows = 600\n[gate]\ntarget_active = 0.3\n");
  StudyFolder folder_{temporary_.path() / "study"};
  RunCells runs_{modalities(), config_, {}, folder_};
};

TEST_F(SweepTest, CellsAreAllLinesAndSeeds) {
  SweepOptions options;
  options.lambdas = {3e-3, 1e-3};
  options.seeds = 2;
  std::vector<StudyCell> cells = sweep_cells(runs_, options, folder_);
  ASSERT_EQ(cells.size(), 6U);
  std::set<std::string> keys;
  for (const StudyCell& cell : cells) {
    keys.insert(cell.key);
    EXPECT_EQ(cell.steps.size(), 1U) << "test rows stay closed";
    EXPECT_TRUE(cell.needs.empty());
  }
  EXPECT_EQ(keys.size(), 6U);
  EXPECT_EQ(cells[2].label, "lambda 0.001, seed 0");  // by rising price
  options.warm_starts = options.test = true;
  cells = sweep_cells(runs_, options, folder_);
  EXPECT_EQ(cells[4].needs, std::vector<std::string>{cells[2].key});
  EXPECT_EQ(cells[5].needs, std::vector<std::string>{cells[3].key});
  EXPECT_EQ(cells[4].steps.size(), 2U);
  for (const StudyCell& cell : cells) {  // or the first price would learn from a dense model, and the others not
    const std::vector<std::string>& words = cell.steps[0].words;
    EXPECT_NE(std::find(words.begin(), words.end(), "distill.dense=off"), words.end()) << cell.label;
  }
}

TEST_F(SweepTest, KeysAreOfTheConfigurationAndNotOfItsPlace) {
  const auto key = [&](const RunCells& runs) { return runs.cell("x", {"gate.lambda=0.001"}, 1).key; };
  const auto elsewhere =
      temporary_.write("other/place.toml",
                       "# the same\n[gate]\ntarget_active = 0.3\n[data]\nrows = 600\nsource = \"planted-table\"\n");
  EXPECT_EQ(key(runs_), key(RunCells(modalities(), elsewhere, {}, folder_)));
  EXPECT_NE(key(runs_), runs_.cell("x", {"gate.lambda=0.001"}, 2).key);
  EXPECT_NE(key(runs_), runs_.cell("x", {"gate.lambda=0.001", "train.epochs=3"}, 1).key);
  EXPECT_THROW(runs_.cell("x", {"gate.lamda=1"}, 0), UserError);
  // Files count by their bytes.
  const auto table = [&](const std::string& name, const std::string& bytes) {
    temporary_.write(name + ".csv", bytes);
    return temporary_.write(name + ".toml", fmt::format("[data]\nsource = \"csv\"\ntrain = \"{}.csv\"\nlabel = \"y\"\n", name));
  };
  const auto key_of = [&](const std::filesystem::path& path) {
    return RunCells(modalities(), path, {}, folder_).cell("x", {}, 0).key;
  };
  EXPECT_EQ(key_of(table("one", "x,y\n1,a\n")), key_of(table("two", "x,y\n1,a\n")));
  EXPECT_NE(key_of(table("one", "x,y\n1,a\n")), key_of(table("three", "x,y\n2,a\n")));
}

TEST_F(SweepTest, AnswersItsQuestions) {
  SweepOptions options;
  options.targets = {0.5, 0.25, 0.1};
  options.seeds = 2;
  options.within = 0.15;
  options.under = {0.3, 0.05, 0.4975};
  const std::vector<StudyCell> cells = sweep_cells(runs_, options, folder_);
  const double noise[] = {0.02, 0.5, 0.6, 2.5}, active[] = {1, 0.5, 0.25, 0.1};
  for (size_t i = 0; i < cells.size(); ++i)
    make_product(folder_, cells[i].key, "train", noisy_model(noise[i / 2], i % 2), active[i / 2]);
  const SweepResult result = sweep_result(runs_, options, folder_);
  ASSERT_EQ(result.lines.size(), 4U);
  EXPECT_EQ(result.lines[result.best].name, "dense");
  ASSERT_EQ(result.choices.size(), 5U);
  EXPECT_EQ(result.lines[*result.choices[1].line].name, "target 0.25");
  EXPECT_EQ(result.lines[*result.choices[2].line].name, "target 0.25");
  EXPECT_FALSE(result.choices[3].line);
  EXPECT_EQ(result.lines[*result.choices[4].line].name, "target 0.5") << "99.5 of 200 units are 100, as for the gate";
  ASSERT_TRUE(result.behind_best[3]);
  EXPECT_GT(result.behind_best[3]->low, 0);
  EXPECT_TRUE(result.falling.empty());  // no prices here
  const std::string page = result.markdown(options);
  for (const char* words : {"projected", "target 0.25", "none of these lines", "from 10.0 to 100 % active"}) {
    EXPECT_NE(page.find(words), std::string::npos) << words << "\n" << page;
  }
  EXPECT_EQ(result.to_json(options).at("choices")[1].at("line"), "target 0.25");
}

TEST_F(SweepTest, SaysWhereTheShareRises) {
  SweepOptions options;
  options.lambdas = {1e-3, 1e-2};
  options.seeds = 2;
  options.dense = false;
  const std::vector<StudyCell> cells = sweep_cells(runs_, options, folder_);
  const double active[] = {0.9, 0.3, 0.2, 0.4};  // seed 0 falls, seed 1 rises
  for (size_t i = 0; i < 4; ++i) make_product(folder_, cells[i].key, "train", noisy_model(0.2, i % 2), active[i]);
  const SweepResult result = sweep_result(runs_, options, folder_);
  EXPECT_EQ(result.falling, (std::vector<bool>{true, false}));
  EXPECT_NE(result.markdown(options).find("RISES somewhere with the price, for 1 of 2 seeds"), std::string::npos);
}

TEST_F(SweepTest, IncompleteLinesAreLeftOut) {
  SweepOptions options;
  options.targets = {0.5};
  options.seeds = 2;
  const std::vector<StudyCell> cells = sweep_cells(runs_, options, folder_);
  EXPECT_THROW(sweep_result(runs_, options, folder_), UserError);
  for (size_t i = 0; i < 3; ++i) make_product(folder_, cells[i].key, "train", noisy_model(0.2, i), 0.5);
  EXPECT_EQ(sweep_result(runs_, options, folder_).lines.size(), 1U);
}

}  // namespace
}  // namespace l0gm
