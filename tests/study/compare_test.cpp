#include "study/compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "study/compare_figures.h"
#include "study/compare_page.h"
#include "study/made_products.h"
#include "support/temporary_folder.h"
#include "training/modalities.h"

namespace l0gm {
namespace {

using testing_tools::make_product;
using testing_tools::noisy_model;

TEST(MatrixMeans, AreOfTheDatasetsWhereAllLinesEnded) {
  const double none = undefined_figure;
  // The second dataset lacks a line; the last line ended nowhere.
  const MatrixMeans means = matrix_means({{0.2, 0.4, 0.4, none}, {0.1, none, 0.3, none}, {0.9, 0.6, 0.3, none}}, false);
  EXPECT_EQ(means.datasets, 2);
  EXPECT_NEAR(means.rank[0], (1 + 3) / 2.0, 1e-12);
  EXPECT_NEAR(means.rank[1], (2.5 + 2) / 2, 1e-12);  // shared
  EXPECT_NEAR(means.rank[2], (2.5 + 1) / 2, 1e-12);
  EXPECT_NEAR(means.relative[0], (1 + 3) / 2.0, 1e-12);
  EXPECT_TRUE(std::isnan(means.rank[3]));
  EXPECT_NEAR(matrix_means({{0.9, 0.5}}, true).rank[0], 1, 1e-12);
  EXPECT_EQ(matrix_means({{0.9, none}, {none, 0.5}}, true).datasets, 0);
  EXPECT_EQ(matrix_means({}, true).datasets, 0);
}

TEST(CompareFigures, KnowWhichWayIsUp) {
  EXPECT_EQ(is_larger_better("auc"), true);
  EXPECT_EQ(is_larger_better("valid.nll"), false);
  EXPECT_EQ(is_larger_better("rob_mu.accuracy"), true);
  EXPECT_EQ(is_larger_better("nll_scaled"), false);
  EXPECT_EQ(is_larger_better("parameters"), std::nullopt);
}

TEST(CompareFigures, AreFoundByTheirPath) {
  ComparedResult result;
  Evaluation& evaluation = result.judged.evaluations.emplace_back();
  evaluation.summary = metrics_summary(noisy_model(0.5, 0), Calibrator{});
  ConditionFigures weak, strong;
  weak.auc = 0.8;
  strong.auc = 0.6;
  evaluation.robustness = robustness_report({{"noise-0.1", weak}, {"noise-0.2", strong}, {"missing-0.1", {}}});
  evaluation.further["mrr"] = 0.5;
  EXPECT_NEAR(figures_of(result, "conditions.noise*.auc").at(0), 0.7, 1e-12);
  EXPECT_EQ(figures_of(result, "mrr"), std::vector<double>{0.5});
  EXPECT_EQ(figures_of(result, "ece").at(0), evaluation.summary.raw.ece_binary.value);
  EXPECT_EQ(figures_of(result, "confusion"), std::vector<double>{2});  // a list: how many
  for (const char* name : {"conditions.noise*.nothing", "conditions.blur*.auc", "mrr.mrr", "valid.mrr", "class_names.0", "nothing"})
    EXPECT_TRUE(figures_of(result, name).empty()) << name;
  EXPECT_EQ(measure_text(result, "mrr", true), "0.5000");
  EXPECT_EQ(measure_text(result, "nothing", false), "-");
}

class CompareTest : public ::testing::Test {
 protected:
  Comparison comparison(const std::string& plan, const CompareOptions& options = {}) {
    return {modalities(), read_compare_plan(temporary_.write("plan.toml", plan)), options, folder_};
  }
  // Cells of a label, by seed.
  static std::vector<StudyCell> of_label(const std::vector<StudyCell>& cells, const std::string& begins) {
    std::vector<StudyCell> out;
    for (const StudyCell& cell : cells) {
      if (cell.label.starts_with(begins)) out.push_back(cell);
    }
    return out;
  }
  void make(const std::vector<StudyCell>& cells, double noise) {
    for (size_t seed = 0; seed < cells.size(); ++seed)
      make_product(folder_, cells[seed].key, "train", noisy_model(noise, seed), 0.25, {"f00", "f01"});
  }

  TemporaryFolder temporary_;
  StudyFolder folder_{temporary_.path() / "study"};
  const std::string data_ = "seeds = 2\n[[data]]\nname = \"made\"\nset = [\"data.source=planted-table\", \"data.rows=600\"]\n";
};

TEST_F(CompareTest, TeachersComeFirst) {
  CompareOptions options;
  options.test = true;
  const Comparison made =
      comparison(data_ + "[[line]]\nname = \"student\"\nteacher = \"large\"\n[[line]]\nname = \"large\"\n", options);
  const std::vector<StudyCell> cells = made.cells();
  ASSERT_EQ(cells.size(), 4U);
  EXPECT_EQ(cells[0].label, "made, large, seed 0");
  EXPECT_EQ(cells[2].needs, std::vector<std::string>{cells[0].key});
  EXPECT_EQ(cells[3].needs, std::vector<std::string>{cells[1].key});
  const std::vector<std::string>& words = cells[3].steps[0].words;
  EXPECT_NE(std::find(words.begin(), words.end(), "distill.from=" + folder_.run(cells[1].key).string()), words.end());
  EXPECT_EQ(cells[0].steps.size(), 2U);
}

TEST_F(CompareTest, TestRowsStayClosedUnlessAskedFor) {
  const std::string plan = "perturb = true\n" + data_ + "[[line]]\nname = \"gate\"\n";
  EXPECT_EQ(comparison(plan).cells()[0].steps.size(), 1U);
  CompareOptions options;
  options.test = true;
  const StudyCell cell = comparison(plan, options).cells()[0];
  ASSERT_EQ(cell.steps.size(), 3U);
  EXPECT_EQ(cell.steps[2].name, "perturbed");
}

TEST_F(CompareTest, SettingsAreInOrderAndSeedsAreFilledIn) {
  CompareOptions options;
  options.set = {"train.epochs=7"};
  const Comparison made = comparison(
      "set = [\"train.epochs=1\"]\nseeds = 2\n[[data]]\nname = \"made\"\nset = [\"data.source=planted-table\", "
      "\"data.split.seed={seed}\"]\n[[line]]\nname = \"gate\"\nset = [\"train.epochs=3\"]\n",
      options);
  const std::vector<std::string> words = made.cells()[1].steps[0].words;
  const auto place = [&](const std::string& word) { return std::find(words.begin(), words.end(), word) - words.begin(); };
  EXPECT_LT(place("data.split.seed=1"), std::ssize(words));
  EXPECT_LT(place("train.epochs=1"), place("train.epochs=3"));
  EXPECT_LT(place("train.epochs=3"), place("train.epochs=7"));
  EXPECT_LT(place("train.epochs=7"), std::ssize(words));
}

TEST_F(CompareTest, ShowsTheBestOfWhatIsChosenFrom) {
  const Comparison made = comparison(
      "reference = \"dense\"\nmeasure = [\"nll\", \"open\", \"open_columns\", \"valid.auc\", \"acuracy\"]\n" + data_ +
      "[[line]]\nname = \"dense\"\nset = [\"gate.unit=none\"]\n"
      "[[line]]\nname = \"gate\"\nchoose = { \"model.interface_dropout\" = [0.2, 0.4, 0.6] }\n");
  const std::vector<StudyCell> cells = made.cells();
  ASSERT_EQ(cells.size(), 8U);
  make(of_label(cells, "made, dense"), 0.02);
  make(of_label(cells, "made, gate, model.interface_dropout=0.2"), 1.5);
  make(of_label(cells, "made, gate, model.interface_dropout=0.4"), 0.5);
  const std::vector<ComparedTable> tables = made.tables();
  const ComparedResult& gate = tables[0].results[1];
  EXPECT_EQ(gate.chosen, "model.interface_dropout=0.4");
  EXPECT_EQ(gate.tried, 2);
  ASSERT_TRUE(gate.difference);
  EXPECT_GT(gate.difference->mean, 0);
  EXPECT_EQ(figures_of(gate, "open_columns"), (std::vector<double>{2, 2}));
  EXPECT_EQ(figures_of(gate, "open"), (std::vector<double>{50, 50}));
  EXPECT_EQ(figures_of(gate, "valid.auc").size(), 2U);
  const std::string page = compare_markdown(made, tables);
  for (const char* words : {"model.interface_dropout=0.4 (2 of 3 tried)", "Validation rows", "NLL - that of dense", "50 of 200",
                            "Did you mean 'accuracy'?"}) {
    EXPECT_NE(page.find(words), std::string::npos) << words << "\n" << page;
  }
  EXPECT_EQ(compare_json(made, tables).at("data")[0].at("lines")[1].at("chosen"), "model.interface_dropout=0.4");
}

TEST_F(CompareTest, WhatIsMissingIsNamedAndTheRestIsShown) {
  Comparison made = comparison(
      "layout = \"matrix\"\n" + data_ +
      "[[data]]\nname = \"absent\"\nset = [\"data.source=csv\", \"data.train=nowhere.csv\", \"data.label=y\"]\n"
      "[[data]]\nname = \"unwritten\"\nconfig = \"unwritten.toml\"\n"
      "[[line]]\nname = \"gate\"\n[[line]]\nname = \"typo\"\nset = [\"gate.unti=none\"]\n"
      "[[line]]\nname = \"of the typo\"\nteacher = \"typo\"\n[[line]]\nname = \"trees\"\npeer = \"xgboost\"\n"
      "[[line]]\nname = \"half\"\nset = [\"gate.unit=none\"]\n");
  made.leave_out_absent_data();
  const std::vector<StudyCell> cells = made.cells();
  EXPECT_EQ(cells.size(), 4U);  // two lines of the first data
  make(of_label(cells, "made, gate"), 0.5);
  make({of_label(cells, "made, half")[0]}, 0.7);
  const std::vector<ComparedTable> tables = made.tables();
  EXPECT_NE(tables[1].missing.find("data.train"), std::string::npos) << tables[1].missing;
  EXPECT_NE(tables[2].missing.find("unwritten.toml"), std::string::npos);
  EXPECT_NE(tables[0].results[1].missing.find("gate.unit"), std::string::npos);
  EXPECT_NE(tables[0].results[2].missing.find("'typo' is missing"), std::string::npos);
  EXPECT_NE(tables[0].results[3].missing.find("peers/setup"), std::string::npos);
  const std::string page = compare_markdown(made, tables);
  for (const char* words : {"(1 of 2 seeds)", "- absent: data.train", "- made, trees: not installed", "mean rank, 1 of 3 data"})
    EXPECT_NE(page.find(words), std::string::npos) << words << "\n" << page;
}

TEST_F(CompareTest, CellsThatAreDoneNeedNoData) {
  const std::string plan = "seeds = 1\n[[data]]\nname = \"own\"\nconfig = \"own.toml\"\n[[line]]\nname = \"gate\"\n";
  temporary_.write("own.toml", "[data]\nsource = \"adult\"\ndir = \"nowhere\"\n");
  Comparison made = comparison(plan);
  const std::vector<StudyCell> cells = made.cells();
  ASSERT_EQ(cells.size(), 1U);
  make(cells, 0.5);
  made.leave_out_absent_data();
  EXPECT_EQ(made.cells().size(), 1U);
  EXPECT_EQ(made.tables()[0].results[0].missing, "");
  std::filesystem::remove(folder_.product(cells[0].key, "train"));
  made.leave_out_absent_data();
  EXPECT_TRUE(made.cells().empty());
}

// Plans that come with the program: their configurations are there, and no line is refused.
TEST_F(CompareTest, ExamplesAreAccepted) {
  int64_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(L0GM_SOURCE_DIR) / "examples" / "studies")) {
    if (entry.path().extension() != ".toml") continue;
    const Comparison made(modalities(), read_compare_plan(entry.path()), {}, folder_);
    for (const ComparedTable& table : made.tables()) {
      EXPECT_EQ(table.missing, "") << entry.path();
      for (const ComparedResult& result : table.results) {
        if (result.line->peer.empty()) EXPECT_EQ(result.missing, "not run") << entry.path() << " " << result.line->name;
      }
    }
    ++count;
  }
  EXPECT_GT(count, 10);
}

}  // namespace
}  // namespace l0gm
