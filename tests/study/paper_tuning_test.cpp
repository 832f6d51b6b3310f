#include "study/paper_tuning.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "study/made_products.h"
#include "support/temporary_folder.h"
#include "training/modalities.h"

namespace l0gm {
namespace {

using testing_tools::make_product;
using testing_tools::noisy_model;

class PaperTuningTest : public ::testing::Test {
 protected:
  PaperTuningTest() {
    plan_.name = "made";
    plan_.backbones = {{"MLP", {"model.name=mlp"}}};
    plan_.recommended = {{"recommended", {"gate.target_active=0.5"}}};
    plan_.peers = {{"Trees", "xgboost"}};
    plan_.tuned = {{"of the plan, tuned", {"train.lr=0.5"}}};
    options_.tables = {"q1"};
    options_.budget = 3;
    options_.seeds = 1;
  }
  // Without running anything.
  PaperTuning found() const { return tune_paper(runs_, plan_, options_, std::nullopt); }
  // As if the trials of a line had been trained: the noise of each.
  void made(const PaperTuning& tuning, const std::string& line, const std::vector<double>& noise) {
    for (size_t t = 0; t < noise.size(); ++t) {
      for (const StudyCell& cell : tuning.cells) {
        if (cell.label == line + ", trial " + std::to_string(t))
          make_product(folder_, cell.key, "train", noisy_model(noise[t], 3), 0.1);
      }
    }
  }
  static const PlannedLine& line(const PaperTuning& tuning, const std::string& name) {
    return *std::find_if(tuning.plan.tuned.begin(), tuning.plan.tuned.end(), [&](const auto& one) { return one.name == name; });
  }
  TemporaryFolder temporary_;
  StudyFolder folder_{temporary_.path() / "study"};
  std::filesystem::path config_ = temporary_.write("c.toml", "[data]\nsource = \"planted-table\"\nrows = 600\n");
  RunCells runs_{modalities(), config_, {}, folder_};
  PaperPlan plan_;
  PaperOptions options_;
};

TEST_F(PaperTuningTest, EveryLineHasTheSameBudget) {
  const PaperTuning tuning = found();
  EXPECT_EQ(tuning.cells.size(), 9U);
  for (const StudyCell& cell : tuning.cells) EXPECT_EQ(cell.steps.size(), 1U) << "test rows stay closed";
  ASSERT_EQ(tuning.plan.tuned.size(), 3U) << "in place of the plan's own";
  for (const PlannedLine& one : tuning.plan.tuned) EXPECT_EQ(one.missing, "0 of 3 trials are there") << one.name;
  ASSERT_EQ(tuning.plan.tuned_peers.size(), 1U);
  EXPECT_EQ(tuning.plan.tuned_peers[0].name, "Trees, tuned");
  EXPECT_NE(tuning.plan.tuned_peers[0].missing.find("not installed"), std::string::npos);
}

TEST_F(PaperTuningTest, TheBestTrialBecomesALine) {
  const PaperTuning before = found();
  made(before, "gate", {0.5, 0.1, 0.9});
  made(before, "MLP", {0.1, 0.5, 0.9});
  made(before, "recommended", {0.1, 0.5});
  const PaperTuning tuning = found();
  const PlannedLine& gate = line(tuning, "gate, tuned");
  EXPECT_EQ(gate.missing, "");
  EXPECT_EQ(gate.settings.front(), "gate.target_active=0.125");
  EXPECT_GT(gate.settings.size(), 1U) << "the second trial";
  EXPECT_EQ(line(tuning, "MLP, tuned").settings, (std::vector<std::string>{"model.name=mlp", "gate.unit=none"})) << "as given";
  EXPECT_EQ(line(tuning, "recommended, tuned").missing, "2 of 3 trials are there") << "the third might be the best";
  EXPECT_NE(tuning.plan.tuning.find("- MLP: as given"), std::string::npos) << tuning.plan.tuning;
  // In the table they stand beside the others; the run of the first seed is that of the trial.
  const PaperTable table = paper_table_lines(runs_, tuning.plan, options_).at(0);
  const auto of = [&](const std::string& name) {
    return *std::find_if(table.lines.begin(), table.lines.end(), [&](const PaperLine& one) { return one.name == name; });
  };
  const auto trial =
      std::find_if(before.cells.begin(), before.cells.end(), [](const StudyCell& cell) { return cell.label == "gate, trial 1"; });
  ASSERT_EQ(of("gate, tuned").cells.size(), 1U);
  EXPECT_EQ(of("gate, tuned").cells[0].key, trial->key);
  EXPECT_EQ(of("MLP, tuned").cells[0].key, of("MLP").cells[0].key);
  EXPECT_EQ(of("recommended, tuned").missing, "2 of 3 trials are there");
}

}  // namespace
}  // namespace l0gm
