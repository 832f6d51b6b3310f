#include "study/paper_claims.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "study/claims_page.h"
#include "study/made_products.h"
#include "support/temporary_folder.h"
#include "training/modalities.h"

namespace l0gm {
namespace {

using testing_tools::make_product;
using testing_tools::noisy_model;

TEST(Judgements, FollowTheInterval) {
  EXPECT_EQ(judgement_of(0.1, 0.2).verdict, Verdict::holds);
  EXPECT_EQ(judgement_of(-0.2, -0.1).verdict, Verdict::does_not_hold);
  EXPECT_EQ(judgement_of(-0.1, 0.1).verdict, Verdict::cannot_be_told);
  EXPECT_EQ(judgement_of(-0.1, 0.1).doubt, Doubt::interval);
  EXPECT_FALSE(judgement_of(0.1, 0.2).doubt);
}

TEST(Judgements, AllHaveToHold) {
  EXPECT_EQ(all_of({told(true), told(true)}).verdict, Verdict::holds);
  EXPECT_EQ(all_of({told(true), untold(Doubt::interval)}).doubt, Doubt::interval);
  EXPECT_EQ(all_of({untold(Doubt::interval), untold(Doubt::missing)}).doubt, Doubt::missing);
  EXPECT_EQ(all_of({untold(Doubt::missing), told(false)}).verdict, Verdict::does_not_hold);
  EXPECT_FALSE(all_of({untold(Doubt::missing), told(false)}).doubt);
  EXPECT_EQ(all_of({}).doubt, Doubt::missing);
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
  // Every line gets its noise and its share active; those that are not named stay missing. `seeds`: those of a line that are
  // there, where not all are.
  std::vector<Claim> judged(const std::vector<std::string>& names, const std::map<std::string, std::pair<double, double>>& lines,
                            const std::map<std::string, std::set<size_t>>& seeds = {}) {
    options_.tables = names;
    tables_ = paper_table_lines(runs_, plan_, options_);
    PaperResults results;
    for (const PaperTable& table : tables_) {
      for (const PaperLine& line : table.lines) {
        const auto found = lines.find(line.name);
        if (found == lines.end()) continue;
        for (size_t seed = 0; seed < line.cells.size(); ++seed) {
          if (seeds.contains(line.name) && !seeds.at(line.name).contains(seed)) continue;
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
  static Verdict verdict(const std::vector<Claim>& claims, const std::string& id) { return claim(claims, id).judgement.verdict; }
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
  EXPECT_EQ(verdict(falling, "C1"), Verdict::holds) << claim(falling, "C1").why;
  EXPECT_EQ(verdict(falling, "C2"), Verdict::cannot_be_told) << "half in one step, or more: " << claim(falling, "C2").why;
  EXPECT_EQ(verdict(falling, "C9"), Verdict::cannot_be_told);
  EXPECT_NE(claim(falling, "C9").why.find("was not asked for"), std::string::npos);
}

TEST_F(ClaimsTest, ManySmallStepsAreSmooth) {
  plan_.lambdas = {1e-4, 3e-4, 1e-3, 3e-3, 1e-2};
  const auto falling = judged({"f1"}, {{"lambda 0.0001", {0.1, 0.95}},
                                       {"lambda 0.0003", {0.9, 0.7}},
                                       {"lambda 0.001", {1.5, 0.5}},
                                       {"lambda 0.003", {2.2, 0.3}},
                                       {"lambda 0.01", {3.2, 0.1}}});
  EXPECT_EQ(verdict(falling, "C2"), Verdict::holds) << claim(falling, "C2").why;
}

TEST_F(ClaimsTest, TheLeastCalibrationErrorInTheMiddleOrAtAnEnd) {
  const auto c3 = [&](double low, double moderate, double high) {
    return claim(judged({"f1"},
                        {{"lambda 0.0001", {low, 0.95}}, {"lambda 0.001", {moderate, 0.5}}, {"lambda 0.01", {high, 0.1}}}),
                 "C3");
  };
  EXPECT_EQ(c3(2.0, 0.1, 2.0).judgement.verdict, Verdict::holds);
  EXPECT_EQ(c3(0.1, 2.0, 2.0).judgement.verdict, Verdict::does_not_hold);
  EXPECT_EQ(c3(0.1, 0.1, 2.0).judgement.verdict, Verdict::cannot_be_told) << "the lowest price is as good as the moderate one";
}

TEST_F(ClaimsTest, OneStepThatTakesAllIsNotSmooth) {
  const auto cliff = judged({"f1"}, {{"lambda 0.0001", {0.1, 0.95}}, {"lambda 0.001", {0.1, 0.97}}, {"lambda 0.01", {3.0, 0.1}}});
  EXPECT_EQ(verdict(cliff, "C1"), Verdict::does_not_hold);  // the share rose in between
  EXPECT_EQ(verdict(cliff, "C2"), Verdict::does_not_hold);
}

TEST_F(ClaimsTest, ComparisonsWithALine) {
  const auto claims =
      judged({"ablation"},
             {{"gate", {0.6, 0.125}}, {"dense", {0.6001, 1}}, {"static mask", {2.0, 0.125}}, {"fine", {0.01, 0.125}}});
  EXPECT_EQ(verdict(claims, "C7"), Verdict::holds) << claim(claims, "C7").why;
  EXPECT_EQ(verdict(claims, "C6"), Verdict::does_not_hold) << claim(claims, "C6").why;
  EXPECT_EQ(verdict(claims, "C8"), Verdict::cannot_be_told) << claim(claims, "C8").why;
  EXPECT_EQ(claim(claims, "C8").judgement.doubt, Doubt::interval);
  EXPECT_EQ(claims_json(claims)[7].at("doubt"), "an interval has 0, or a limit, in it");
  EXPECT_FALSE(claims_json(claims)[6].contains("doubt")) << "it holds";
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
  EXPECT_EQ(found.judgement.verdict, Verdict::holds) << found.why;
  EXPECT_NE(found.why.find("over seeds alone"), std::string::npos) << found.why;
}

TEST_F(ClaimsTest, PricesThatDoNotSpanAskLittle) {
  const auto narrow = judged({"f1"}, {{"lambda 0.0001", {0.1, 0.7}}, {"lambda 0.001", {0.5, 0.5}}, {"lambda 0.01", {0.9, 0.1}}});
  EXPECT_EQ(claim(narrow, "C1").judgement.doubt, Doubt::span);
  EXPECT_EQ(claim(narrow, "C9").judgement.doubt, Doubt::missing);
}

TEST_F(ClaimsTest, ALowPriceThatWasNotRunIsMissing) {
  const auto claims = judged({"f1"}, {{"lambda 0.001", {0.5, 0.5}}, {"lambda 0.01", {0.9, 0.1}}});
  EXPECT_EQ(claim(claims, "C1").judgement.doubt, Doubt::missing);
  EXPECT_NE(claim(claims, "C1").why.find("left out: lambda 0.0001 is missing"), std::string::npos) << claim(claims, "C1").why;
}

// A step over a price that is missing may be two small ones, and an end that is missing may be the better one.
TEST_F(ClaimsTest, WithPricesMissingOnlyWhatTheyCannotChangeIsTold) {
  plan_.lambdas = {1e-4, 3e-4, 1e-3, 3e-3, 1e-2};
  const auto without_two =
      judged({"f1"}, {{"lambda 0.0001", {0.1, 0.95}}, {"lambda 0.003", {2.2, 0.3}}, {"lambda 0.01", {2.3, 0.1}}});
  EXPECT_EQ(claim(without_two, "C2").judgement.doubt, Doubt::missing) << claim(without_two, "C2").why;
  EXPECT_EQ(claim(without_two, "C1").judgement.doubt, Doubt::missing) << claim(without_two, "C1").why;
}

TEST_F(ClaimsTest, AGainOverAMissingPriceIsAGain) {
  plan_.lambdas = {1e-4, 3e-4, 1e-3, 1e-2};
  const auto gains = judged({"f1"}, {{"lambda 0.0001", {1.0, 0.95}}, {"lambda 0.001", {0.1, 0.3}}, {"lambda 0.01", {3.0, 0.1}}});
  EXPECT_EQ(verdict(gains, "C2"), Verdict::does_not_hold) << claim(gains, "C2").why;
}

TEST_F(ClaimsTest, TheLeastCalibrationErrorIsNotAtAnEndThatIsMissing) {
  plan_.lambdas = {1e-4, 3e-4, 1e-3, 1e-2};
  const auto cut = judged({"f1"}, {{"lambda 0.0001", {2.0, 0.95}}, {"lambda 0.0003", {2.0, 0.9}}, {"lambda 0.001", {0.1, 0.5}}});
  EXPECT_EQ(claim(cut, "C3").judgement.doubt, Doubt::missing) << claim(cut, "C3").why;
  const auto ends = judged({"f1"}, {{"lambda 0.01", {2.0, 0.1}}});
  EXPECT_EQ(verdict(ends, "C3"), Verdict::holds) << claim(ends, "C3").why;
}

// The same seeds of both lines are compared, however many more one of them has.
TEST_F(ClaimsTest, LinesAreComparedOverTheSeedsThatBothHave) {
  const std::map<std::string, std::pair<double, double>> lines = {{"gate", {0.3, 0.125}},
                                                                  {"static mask", {3.0, 0.125}},
                                                                  {"fine", {3.0, 0.125}},
                                                                  {"dense", {0.3, 1}}};
  const auto claims = judged({"ablation"}, lines, {{"static mask", {1, 3}}, {"fine", {2}}});
  EXPECT_EQ(verdict(claims, "C7"), Verdict::holds) << claim(claims, "C7").why;
  EXPECT_NE(claim(claims, "C7").why.find(", 2 of 4 seeds"), std::string::npos) << claim(claims, "C7").why;
  const std::vector<PaperResult> results = paper_results(tables_[0], plan_, folder_);
  const auto line = [&](const char* name) {
    const auto is_it = [&](const PaperResult& result) { return result.line->name == name; };
    return std::find_if(results.begin(), results.end(), is_it)->test;
  };
  const Line both = of_seeds(line("gate"), {1, 3});
  EXPECT_EQ(both.keys, (std::vector<std::string>{line("gate").keys[1], line("gate").keys[3]}));
  const double wanted = both.mean(Measure::auc).mean - line("static mask").mean(Measure::auc).mean;
  EXPECT_NE(claim(claims, "C7").why.find(fmt::format("better by {:+.4f}", wanted)), std::string::npos)
      << wanted << " " << claim(claims, "C7").why;
  EXPECT_EQ(claim(claims, "C6").why, "fine has 1 of 4 seeds");
  EXPECT_EQ(claim(claims, "C6").judgement.doubt, Doubt::missing);
  EXPECT_EQ(claim(claims, "C8").why.find(" of 4 seeds"), std::string::npos) << "all are there";
}

TEST_F(ClaimsTest, SeedsThatDoNotMeetAreNotCompared) {
  const auto claims =
      judged({"ablation"}, {{"gate", {0.3, 0.125}}, {"static mask", {3.0, 0.125}}}, {{"gate", {0, 1}}, {"static mask", {1, 2}}});
  EXPECT_EQ(claim(claims, "C7").judgement.doubt, Doubt::missing);
  EXPECT_NE(claim(claims, "C7").why.find("1 of 4 seeds in common"), std::string::npos) << claim(claims, "C7").why;
}

TEST_F(ClaimsTest, WhatIsMissingCannotBeTold) {
  const auto claims = judged({"ablation", "q1"}, {{"gate", {0.3, 0.125}}});
  for (const char* id : {"C6", "C7", "C8", "C9", "C10", "C11"}) EXPECT_EQ(verdict(claims, id), Verdict::cannot_be_told) << id;
}

TEST_F(ClaimsTest, TablesShowThePapersFigures) {
  plan_.block = "Tab";
  judged({"ablation"}, {{"gate", {0.3, 0.125}}});
  const std::string page = paper_markdown(tables_[0], paper_results(tables_[0], plan_, folder_), plan_);
  EXPECT_NE(page.find("[0.8794]"), std::string::npos) << page;
  EXPECT_NE(page.find("missing"), std::string::npos);
}

// What was timed is what the plan names: of a batch, or of inference over everything at once.
class TimedTest : public ClaimsTest {
 protected:
  TimedTest() {
    plan_.timing = {{"bench", "latency", "{file}", "--batch", "1,32"}, {{"a row alone", 1}, {"a row in 32", 32}}};
    judged({"q2"}, {{"gate", {0.3, 0.125}}, {"MLP", {0.4, 1}}});
  }
  void timed(const std::string& name, const std::string& printed) {
    for (const PaperLine& line : tables_[0].lines) {
      for (const StudyCell& cell : line.name == name ? line.served : std::vector<StudyCell>{})
        temporary_.write("study/cells/" + cell.key + "/latency.json", printed);
    }
  }
  std::vector<PaperResult> results() const { return paper_results(tables_[0], plan_, folder_); }
  Claim c10() const { return claim(judge_claims({{"q2", results()}}, plan_, folder_), "C10"); }
};

TEST_F(TimedTest, TheLowestLatencyIsOfTheFirstBatch) {
  timed("gate", R"({"results": [{"batch": 1, "median_us": 2.5}, {"batch": 32, "median_us": 9.5}]})");
  EXPECT_EQ(c10().judgement.doubt, Doubt::missing) << "nobody else was timed";
  timed("MLP", R"({"results": [{"batch": 1, "median_us": 3.5}, {"batch": 32, "median_us": 0.5}]})");
  EXPECT_EQ(c10().judgement.verdict, Verdict::holds) << c10().why;
  EXPECT_EQ(c10().why, "a row alone 2.50 µs; MLP 3.50 µs");
  const std::string page = paper_markdown(tables_[0], results(), plan_);
  for (const char* words : {"µs a row alone", "µs a row in 32", "| 9.50", "`l0gm bench latency FILE --batch 1,32`", "FILE is"})
    EXPECT_NE(page.find(words), std::string::npos) << words << "\n" << page;
  timed("MLP", R"({"results": [{"batch": 1, "median_us": 1.5}]})");
  EXPECT_EQ(c10().judgement.verdict, Verdict::does_not_hold) << c10().why;
}

TEST_F(TimedTest, InferenceOverEverythingIsDividedByHowManyThereAre) {
  plan_.timing = {{"bench", "whole", "{run}"}, {{"a node, all at once", 0}}};
  timed("gate", R"({"nodes": 1000, "as_trained": {"seconds": 0.5}, "narrowed": {"seconds": 0.25}})");
  timed("MLP", R"({"nodes": 1000, "as_trained": {"seconds": 0.5}})");
  EXPECT_EQ(c10().why, "a node, all at once 250.00 µs; MLP 500.00 µs");
  EXPECT_EQ(c10().judgement.verdict, Verdict::holds);
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
  EXPECT_EQ(c11().judgement.verdict, Verdict::cannot_be_told) << "the baseline is missing";
  perturbed("MLP", 0.8);
  EXPECT_EQ(c11().judgement.verdict, Verdict::holds) << c11().why;
  EXPECT_NE(c11().why.find("over seeds alone"), std::string::npos) << c11().why;
  perturbed("MLP", 0.95);
  EXPECT_EQ(c11().judgement.verdict, Verdict::does_not_hold) << c11().why;
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
  temporary_.write("study/cells/" + key + "/peer.json",
                   R"({"method": "xgboost", "versions": {"python": "3.11", "xgboost": "3.2"}})");
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
  EXPECT_NE(text.find("11 verdicts (a claim on a dataset). *holds*: 1, *does not hold*: 0, *cannot be told*: 10 (10 because "
                      "lines, times or kept predictions are missing)"),
            std::string::npos)
      << text;
  DataClaims other = made;
  other.claims[0].judgement = untold(Doubt::span);
  other.claims[1].judgement = other.claims[2].judgement = untold(Doubt::interval);
  const std::string both = summary_markdown({made, other});
  EXPECT_NE(both.find(
                "*cannot be told*: 20 (17 because lines, times or kept predictions are missing, 1 because the prices do not "
                "span .8 to .2, 2 because an interval has 0, or a limit, in it)"),
            std::string::npos)
      << both;
  EXPECT_NE(text.find("- made: 2 of 11 lines complete"), std::string::npos) << text;
}

}  // namespace
}  // namespace l0gm
