#include "study/paper_claims.h"

#include <gtest/gtest.h>

#include "study/made_products.h"
#include "support/temporary_folder.h"
#include "training/modalities.h"

namespace l0gm {
namespace {

using testing_tools::make_product;
using testing_tools::noisy_model;

TEST(Verdicts, FollowTheInterval) {
  EXPECT_EQ(verdict_of(0.1, 0.2), Verdict::holds);
  EXPECT_EQ(verdict_of(-0.2, -0.1), Verdict::does_not_hold);
  EXPECT_EQ(verdict_of(-0.1, 0.1), Verdict::cannot_be_told);
  EXPECT_EQ(all_of({Verdict::holds, Verdict::holds}), Verdict::holds);
  EXPECT_EQ(all_of({Verdict::holds, Verdict::cannot_be_told}), Verdict::cannot_be_told);
  EXPECT_EQ(all_of({Verdict::cannot_be_told, Verdict::does_not_hold}), Verdict::does_not_hold);
  EXPECT_EQ(all_of({}), Verdict::cannot_be_told);
}

// A paper's tables for a made table, their cells filled as if they had been computed.
class ClaimsTest : public ::testing::Test {
 protected:
  ClaimsTest() {
    plan_.name = "made";
    plan_.measure = Measure::auc;
    plan_.lambdas = {1e-4, 1e-3, 1e-2};
    plan_.moderate = 1e-3;
    plan_.high = 1e-2;
    plan_.backbones = {{"MLP", {"model.name=mlp"}}};
    options_.seeds = 4;
  }
  // Every line gets its noise and its share active; those that are not named stay missing.
  std::vector<Claim> judged(const std::vector<std::string>& names,
                            const std::map<std::string, std::pair<double, double>>& lines) {
    options_.tables = names;
    tables_ = paper_table_lines(runs_, plan_, options_);
    PaperResults results;
    for (const PaperTable& table : tables_) {
      for (const PaperLine& line : table.lines) {
        const auto found = lines.find(line.name);
        if (found == lines.end()) continue;
        for (size_t seed = 0; seed < line.cells.size(); ++seed) {
          make_product(folder_, line.cells[seed].key, "test", noisy_model(found->second.first, seed, 1500), found->second.second,
                       {}, Split::test);
        }
      }
      results[table.id] = paper_results(table, plan_, folder_);
    }
    return judge_claims(results, plan_, folder_);
  }
  static const Claim& claim(const std::vector<Claim>& claims, const std::string& id) {
    return *std::find_if(claims.begin(), claims.end(), [&](const Claim& c) { return c.id == id; });
  }
  TemporaryFolder temporary_;
  StudyFolder folder_{temporary_.path() / "study"};
  std::filesystem::path config_ = temporary_.write("c.toml", "[data]\nsource = \"planted-table\"\nrows = 600\n");
  RunCells runs_{modalities(), config_, {}, folder_};
  PaperPlan plan_;
  PaperOptions options_;
  std::vector<PaperTable> tables_;
};

TEST_F(ClaimsTest, PricesAndShares) {
  const auto falling =
      judged({"f1"}, {{"lambda 0.0001", {0.1, 0.95}}, {"lambda 0.001", {0.95, 0.5}}, {"lambda 0.01", {1.6, 0.1}}});
  EXPECT_EQ(claim(falling, "C1").verdict, Verdict::holds) << claim(falling, "C1").why;
  EXPECT_EQ(claim(falling, "C2").verdict, Verdict::cannot_be_told) << "half in one step, or more: " << claim(falling, "C2").why;
  EXPECT_EQ(claim(falling, "C9").verdict, Verdict::cannot_be_told);
  EXPECT_NE(claim(falling, "C9").why.find("was not asked for"), std::string::npos);
}

TEST_F(ClaimsTest, ManySmallStepsAreSmooth) {
  plan_.lambdas = {1e-4, 3e-4, 1e-3, 3e-3, 1e-2};
  const auto falling = judged({"f1"}, {{"lambda 0.0001", {0.1, 0.95}},
                                       {"lambda 0.0003", {0.9, 0.7}},
                                       {"lambda 0.001", {1.5, 0.5}},
                                       {"lambda 0.003", {2.2, 0.3}},
                                       {"lambda 0.01", {3.2, 0.1}}});
  EXPECT_EQ(claim(falling, "C2").verdict, Verdict::holds) << claim(falling, "C2").why;
}

TEST_F(ClaimsTest, TheLeastCalibrationErrorInTheMiddleOrAtAnEnd) {
  const auto c3 = [&](double low, double moderate, double high) {
    return claim(judged({"f1"},
                        {{"lambda 0.0001", {low, 0.95}}, {"lambda 0.001", {moderate, 0.5}}, {"lambda 0.01", {high, 0.1}}}),
                 "C3");
  };
  EXPECT_EQ(c3(2.0, 0.1, 2.0).verdict, Verdict::holds);
  EXPECT_EQ(c3(0.1, 2.0, 2.0).verdict, Verdict::does_not_hold);
  EXPECT_EQ(c3(0.1, 0.1, 2.0).verdict, Verdict::cannot_be_told) << "the lowest price is as good as the moderate one";
}

TEST_F(ClaimsTest, OneStepThatTakesAllIsNotSmooth) {
  const auto cliff = judged({"f1"}, {{"lambda 0.0001", {0.1, 0.95}}, {"lambda 0.001", {0.1, 0.97}}, {"lambda 0.01", {3.0, 0.1}}});
  EXPECT_EQ(claim(cliff, "C1").verdict, Verdict::does_not_hold);  // the share rose in between
  EXPECT_EQ(claim(cliff, "C2").verdict, Verdict::does_not_hold);
}

TEST_F(ClaimsTest, ComparisonsWithALine) {
  const auto claims =
      judged({"ablation"},
             {{"gate", {0.6, 0.125}}, {"dense", {0.6001, 1}}, {"static mask", {2.0, 0.125}}, {"fine", {0.01, 0.125}}});
  EXPECT_EQ(claim(claims, "C7").verdict, Verdict::holds) << claim(claims, "C7").why;
  EXPECT_EQ(claim(claims, "C6").verdict, Verdict::does_not_hold) << claim(claims, "C6").why;
  EXPECT_EQ(claim(claims, "C8").verdict, Verdict::cannot_be_told) << claim(claims, "C8").why;
  EXPECT_NE(claims_markdown(claims).find("| C7"), std::string::npos);
  EXPECT_EQ(claims_json(claims).size(), 11U);
}

TEST_F(ClaimsTest, SeedsAloneJudgeWhereRowsWereNotKept) {
  const std::map<std::string, std::pair<double, double>> lines = {{"gate", {0.3, 0.125}}, {"static mask", {3.0, 0.125}}};
  EXPECT_EQ(claim(judged({"ablation"}, lines), "C7").why.find("over seeds alone"), std::string::npos);
  for (const StudyCell& cell : paper_cells(tables_)) std::filesystem::remove_all(folder_.run(cell.key));
  std::filesystem::remove_all(folder_.path() / "differences");
  PaperResults results;
  results["ablation"] = paper_results(tables_[0], plan_, folder_);
  const Claim found = claim(judge_claims(results, plan_, folder_), "C7");
  EXPECT_EQ(found.verdict, Verdict::holds) << found.why;
  EXPECT_NE(found.why.find("over seeds alone"), std::string::npos) << found.why;
}

TEST_F(ClaimsTest, WhatIsMissingCannotBeTold) {
  const auto claims = judged({"ablation", "q1"}, {{"gate", {0.3, 0.125}}});
  for (const char* id : {"C6", "C7", "C8", "C9", "C10", "C11"})
    EXPECT_EQ(claim(claims, id).verdict, Verdict::cannot_be_told) << id;
}

TEST_F(ClaimsTest, TablesShowThePapersFigures) {
  plan_.block = "Tab";
  judged({"ablation"}, {{"gate", {0.3, 0.125}}});
  const std::string page = paper_markdown(tables_[0], paper_results(tables_[0], plan_, folder_), plan_);
  EXPECT_NE(page.find("[0.8794]"), std::string::npos) << page;
  EXPECT_NE(page.find("missing"), std::string::npos);
}

// Figures on perturbed copies, without what was predicted for them.
class RobustnessTest : public ClaimsTest {
 protected:
  void perturbed(const std::string& name, double accuracy, const std::string& hash = "same") {
    for (const PaperLine& line : tables_[0].lines) {
      for (size_t seed = 0; line.name == name && seed < line.cells.size(); ++seed) {
        const StudyCell& cell = line.cells[seed];
        make_product(folder_, cell.key, "test", noisy_model(0.5, seed, 300), 0.125, {}, Split::test);
        Evaluation evaluation = folder_.evaluation(cell.key, "test");
        ConditionFigures figures;
        figures.auc = figures.accuracy = accuracy + 0.001 * static_cast<double>(seed);
        figures.sha256 = hash + std::to_string(seed);
        evaluation.robustness = robustness_report({{"missing-0.1", figures}});
        write_file_atomically(folder_.product(cell.key, "perturbed"), evaluation.to_json().dump());
      }
    }
  }
  Claim c11() {
    PaperResults results;
    results["q1"] = paper_results(tables_[0], plan_, folder_);
    return claim(judge_claims(results, plan_, folder_), "C11");
  }
};

TEST_F(RobustnessTest, IsJudgedOverSeedsWhereRowsWereNotKept) {
  judged({"q1"}, {});
  perturbed("gate", 0.9);
  EXPECT_EQ(c11().verdict, Verdict::cannot_be_told) << "the baseline is missing";
  perturbed("MLP", 0.8);
  EXPECT_EQ(c11().verdict, Verdict::holds) << c11().why;
  EXPECT_NE(c11().why.find("over seeds alone"), std::string::npos) << c11().why;
  perturbed("MLP", 0.95);
  EXPECT_EQ(c11().verdict, Verdict::does_not_hold) << c11().why;
}

TEST_F(RobustnessTest, InputsAreTheSameForEveryLine) {
  judged({"q1"}, {});
  perturbed("gate", 0.9);
  perturbed("MLP", 0.8);
  const SharedInputs same = shared_inputs(tables_[0], folder_);
  EXPECT_EQ(same.lines, 2);
  EXPECT_EQ(same.hashes, 8);
  EXPECT_TRUE(same.different.empty());
  const auto page = [&] {
    return paper_markdown(tables_[0], paper_results(tables_[0], plan_, folder_), plan_, shared_inputs(tables_[0], folder_));
  };
  EXPECT_NE(page().find("the same bytes for all 2 lines"), std::string::npos) << page();
  perturbed("gate", 0.9, "other");
  EXPECT_EQ(shared_inputs(tables_[0], folder_).different.size(), 4U);
  EXPECT_NE(page().find("**Not the same inputs**: gate, seed 0, missing-0.1"), std::string::npos) << page();
}

TEST_F(ClaimsTest, MachinesAndLibrariesAreNamed) {
  judged({"ablation"}, {{"gate", {0.6, 0.125}}});
  const std::string& key = tables_[0].lines[0].cells[0].key;
  temporary_.write("study/cells/" + key + "/run/environment.json", R"({"device": "cpu", "threads": 2, "libtorch": "2.1"})");
  temporary_.write("study/cells/" + key + "/peer.json", R"({"method": "xgboost", "versions": {"python": "3.11", "xgboost": "3.2"}})");
  const std::string text = machines_markdown(paper_cells(tables_), folder_);
  EXPECT_NE(text.find("- 1 cells: cpu, 2 of unknown cores (unknown), LibTorch 2.1"), std::string::npos) << text;
  EXPECT_NE(text.find("- 1 cells of xgboost: python 3.11, xgboost 3.2"), std::string::npos) << text;
}

TEST_F(ClaimsTest, TheSummarySaysWhatIsThere) {
  const auto claims = judged({"ablation"}, {{"gate", {0.6, 0.125}}, {"static mask", {2.0, 0.125}}});
  PaperResults results;
  results["ablation"] = paper_results(tables_[0], plan_, folder_);
  const DataClaims made = data_claims(plan_, tables_, results, claims);
  EXPECT_EQ(made.complete, 2);
  EXPECT_EQ(made.lines, std::ssize(tables_[0].lines));
  EXPECT_EQ(made.absent[0], "ablation dense");
  const std::string text = summary_markdown({made});
  EXPECT_NE(text.find("11 verdicts (a claim on a dataset). *holds*: 1, *does not hold*: 0, *cannot be told*: 10"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("- made: 2 of 11 lines complete"), std::string::npos) << text;
}

}  // namespace
}  // namespace l0gm
