#include "report/pareto_sketch.h"

#include <gtest/gtest.h>

#include "report/sample_run.h"

namespace l0gm {
namespace {

Evaluation result(const std::string& name, const SampleRun& run) {
  Evaluation evaluation = sample_evaluation(run);
  evaluation.run = "runs/" + name;
  return evaluation;
}

TEST(ParetoSketch, LettersWhereTheRunsAre) {
  const std::string text =
      pareto_sketch({result("dense", {.auc = 0.95, .gated = false}), result("half", {.active = 0.5, .auc = 0.94}),
                     result("few", {.active = 0.1, .auc = 0.85, .converged = false})},
                    60);
  EXPECT_NE(text.find("0.9500 │                                               a\n"), text.npos) << text;
  EXPECT_NE(text.find("0.8500 │     c\n"), text.npos) << text;
  EXPECT_NE(text.find("  a dense, on the front\n"), text.npos) << text;
  EXPECT_NE(text.find("  c few, on the front, NOT CONVERGED, 12 projected\n"), text.npos) << text;
}

TEST(ParetoSketch, NothingWhereThereIsNothingToCompare) {
  EXPECT_EQ(pareto_sketch({result("a", {}), result("b", {})}, 80), "");
  EXPECT_EQ(pareto_sketch({result("a", {}), result("b", {}), result("c", {.dataset = "other"})}, 80), "");
  EXPECT_EQ(pareto_sketch({result("a", {.gated = false}), result("b", {.gated = false}), result("c", {})}, 80), "");
}

TEST(ParetoSketch, PointsOnOneAnother) {
  const std::string text = pareto_sketch({result("a", {}), result("b", {}), result("c", {.active = 0.5})}, 80);
  EXPECT_NE(text.find('*'), text.npos) << text;
}

}  // namespace
}  // namespace l0gm
