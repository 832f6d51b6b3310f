#include "evaluation/describe.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "evaluation/evaluate.h"
#include "training/tiny_run.h"

// Over perturbed copies: perturbed_test.
namespace l0gm {
namespace {

namespace fs = std::filesystem;
using testing_tools::one_thread;
using testing_tools::tiny_config;
using testing_tools::train;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Describe, PeopleReadTheSameFigures) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "run";
  train(tiny_config({"gate.target_active=0.25"}), out);
  const Evaluation result = evaluate(modalities(), out, Split::test, one_thread());
  const std::string text = describe(result);
  EXPECT_TRUE(contains(text, "30 of 120 units open (25.0 %)")) << text;
  EXPECT_TRUE(contains(text, fmt::format("accuracy {:.4f}", result.summary.raw.accuracy))) << text;
  EXPECT_TRUE(contains(text, "calibrated")) << text;
  EXPECT_FALSE(contains(text, "cross-fitted")) << text;
  const std::string valid = describe(evaluate(modalities(), out, Split::valid, one_thread()));
  EXPECT_TRUE(contains(valid, "cross-fitted")) << valid;
  fs::create_directories(folder.path() / "peer/predictions");
  fs::copy_file(out / "predictions/test.csv", folder.path() / "peer/predictions/test.csv");
  const Evaluation peer = evaluate(modalities(), folder.path() / "peer", Split::test, one_thread());
  const std::string both = compare({result, peer});
  EXPECT_EQ(std::count(both.begin(), both.end(), '\n'), 3) << both;
  EXPECT_TRUE(contains(both, "25.0 %")) << both;
  EXPECT_NO_THROW(describe(peer));
}

// What the JSON lost nobody can tell: figures that are null are shown as a dash.
TEST(Describe, UndefinedFiguresAreADash) {
  Evaluation nothing;
  nothing.run = "peer.csv";
  nothing.summary.rows = 3;
  nothing.summary.classes = 2;
  nothing.summary.raw.accuracy = 0.5;
  const std::string text = describe(nothing);
  EXPECT_TRUE(contains(text, "accuracy 0.5000   AUC -   macro-F1 -")) << text;
  EXPECT_FALSE(contains(text, "nan")) << text;
  EXPECT_FALSE(contains(compare({nothing, nothing}), "nan")) << compare({nothing, nothing});
}

// Where units were measured, the report says which of them could as well be others.
TEST(Describe, HowCertainTheChoiceIs) {
  Evaluation run;
  run.run = "runs/a";
  run.gates.emplace().units_are = "columns";
  run.facts.emplace();
  run.facts->exchanges = std::vector<UnitExchange>{{"age", "sex", 0.02, 0.001}, {"hours", "race", 0.0003, 0.0004}};
  const std::string text = describe(run);
  EXPECT_TRUE(contains(text, "1 of the open columns could be others, by validation NLL: race for hours +0.0003 (error 0.0004)"))
      << text;
  EXPECT_FALSE(contains(text, "sex")) << text;
  run.facts->exchanges->pop_back();
  EXPECT_TRUE(contains(describe(run), "certain")) << describe(run);
  EXPECT_EQ(Evaluation::from_json(run.to_json()).facts->exchanges->front().closed, "sex");
}

TEST(Describe, ARunThatDidNotConvergeIsMarked) {
  Evaluation run;
  run.run = "runs/a";
  run.gates.emplace();
  run.facts = {"made", 0, 9, false};
  EXPECT_TRUE(contains(describe(run), "NOT CONVERGED")) << describe(run);
  EXPECT_TRUE(contains(compare({run, run}), "runs/a (NOT CONVERGED)")) << compare({run, run});
  run.facts->converged = true;
  EXPECT_FALSE(contains(describe(run), "NOT CONVERGED")) << describe(run);
}

}  // namespace
}  // namespace l0gm
