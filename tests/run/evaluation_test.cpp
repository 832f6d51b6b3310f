#include "run/evaluation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "metrics/make_predictions.h"
#include "metrics/scores.h"

namespace l0gm {
namespace {

using testing_tools::calibrated_model;
using testing_tools::sharpened;

Evaluation judged(int64_t classes) {
  const Predictions test = sharpened(calibrated_model(300, static_cast<int>(classes), 1, 1), 2),
                    valid = sharpened(calibrated_model(200, static_cast<int>(classes), 1, 2), 2);
  Evaluation evaluation;
  evaluation.run = "runs/a \"b\"";
  evaluation.summary = metrics_summary(test, &valid, CalibratorKind::temperature);
  return evaluation;
}

// Every part that there is.
Evaluation complete() {
  Evaluation evaluation = judged(2);
  evaluation.split = "test";
  evaluation.nouns = {"nodes", "attributes"};
  evaluation.facts = {"made/0", 3, 2, false};
  evaluation.gates.emplace();
  evaluation.gates->units = 12;
  evaluation.gates->open_units = 3;
  evaluation.gates->active_fraction = 1.0 / 3;
  evaluation.gates->active_fraction_quantiles = {0.1, 0.2, 0.3};
  evaluation.gates->test_rule = "median";
  evaluation.inputs = {5, {{"age", 4, 0.5}, {"zip", 1, {}}}};
  evaluation.planted = compare_with_planted({"age", "height"}, evaluation.inputs->open);
  evaluation.planted->product = {"age"};
  evaluation.planted->right_set_open = 0.75;
  evaluation.planted->wrong_set_closed = 0.5;
  evaluation.bayes_auc = 0.875;
  evaluation.robustness = robustness_report({{"noise-0.1", {"hash", 0.5, 0.625, 0.75, 0.125}}});
  evaluation.robustness->missing_conditions = {"noise-0.2"};
  evaluation.further = {{"mrr", 0.25}, {"nodes", 40}};
  return evaluation;
}

TEST(Evaluations, GoThereAndBackWithEveryPart) {
  const Evaluation evaluation = complete();
  const nlohmann::json json = evaluation.to_json();
  const Evaluation again = Evaluation::from_json(nlohmann::json::parse(json.dump()));
  EXPECT_EQ(again.to_json(), json);
  EXPECT_EQ(again.run, evaluation.run);
  EXPECT_EQ(again.split, "test");
  EXPECT_EQ(again.nouns.rows, "nodes");
  EXPECT_EQ(again.summary.raw.nll, evaluation.summary.raw.nll);
  EXPECT_EQ(again.summary.calibrated.ece_binary.interval, evaluation.summary.calibrated.ece_binary.interval);
  EXPECT_EQ(again.summary.confusion, evaluation.summary.confusion);
  EXPECT_EQ(again.summary.raw.reliability.value->size(), evaluation.summary.raw.reliability.value->size());
  EXPECT_FALSE(again.facts->converged);
  EXPECT_EQ(again.gates->active_fraction, 1.0 / 3);
  EXPECT_EQ(again.gates->active_fraction_quantiles->p50, 0.2);
  ASSERT_EQ(again.inputs->open.size(), 2u);
  EXPECT_EQ(again.inputs->open[0].share_of_rows, 0.5);
  EXPECT_FALSE(again.inputs->open[1].share_of_rows.has_value());
  EXPECT_EQ(again.planted->found, (std::vector<std::string>{"age"}));
  EXPECT_EQ(again.planted->wrong_set_closed, 0.5);
  EXPECT_EQ(again.bayes_auc, 0.875);
  EXPECT_EQ(again.robustness->conditions.at("noise-0.1").ece, 0.125);
  EXPECT_EQ(again.robustness->missing_conditions, (std::vector<std::string>{"noise-0.2"}));
  EXPECT_EQ(again.further, evaluation.further) << "a modality's own figures, and nothing else";
}

TEST(Evaluations, PartsStandBesideTheMetrics) {
  const nlohmann::json json = complete().to_json();
  EXPECT_EQ(json["units"], 12);
  EXPECT_EQ(json["projected_units"], 2);
  EXPECT_EQ(json["open_columns"][0]["name"], "age");
  EXPECT_EQ(json["columns"], 5);
  EXPECT_EQ(json["rob_mu"]["auc"], 0.625);
  EXPECT_EQ(json["conditions"]["noise-0.1"]["sha256"], "hash");
  EXPECT_EQ(json["mrr"], 0.25);
  EXPECT_EQ(json["nodes"], 40);
}

TEST(Evaluations, GoThereAndBackWithoutAnyPart) {
  for (const int64_t classes : {2, 3}) {
    const Evaluation evaluation = judged(classes);
    const nlohmann::json json = evaluation.to_json();
    for (const char* key : {"split", "units", "projected_units", "open_columns", "columns", "planted", "bayes_auc", "rob_mu",
                            "conditions", "missing_conditions", "dataset", "seed", "mrr"}) {
      EXPECT_FALSE(json.contains(key)) << key;
    }
    const Evaluation again = Evaluation::from_json(nlohmann::json::parse(json.dump()));
    EXPECT_EQ(again.to_json(), json);
    EXPECT_FALSE(again.split || again.facts || again.gates || again.inputs || again.planted || again.bayes_auc ||
                 again.robustness);
    EXPECT_TRUE(again.further.empty()) << again.further.dump();
    EXPECT_EQ(again.nouns.columns, "columns");
    EXPECT_EQ(again.summary.main_ece().value, evaluation.summary.main_ece().value);
  }
}

// Each part alone: none is told by another's members.
TEST(Evaluations, EveryPartMayBeTheOnlyOne) {
  const Evaluation all = complete();
  for (int part = 0; part < 6; ++part) {
    Evaluation one = judged(2);
    if (part == 0) one.facts = all.facts;
    if (part == 1) one.gates = all.gates;
    if (part == 2) one.inputs = all.inputs;
    if (part == 3) one.planted = all.planted;
    if (part == 4) one.robustness = all.robustness;
    if (part == 5) one.further = all.further;
    const Evaluation again = Evaluation::from_json(one.to_json());
    EXPECT_EQ(again.to_json(), one.to_json()) << part;
    EXPECT_EQ(again.facts.has_value(), part == 0);
    EXPECT_EQ(again.gates.has_value(), part == 1);
    EXPECT_EQ(again.inputs.has_value(), part == 2);
    EXPECT_EQ(again.planted.has_value(), part == 3);
    EXPECT_EQ(again.robustness.has_value(), part == 4);
    EXPECT_EQ(again.further.empty(), part != 5);
  }
}

TEST(Evaluations, UndefinedFiguresAreNull) {
  Evaluation evaluation = judged(3);
  evaluation.summary.raw.auc = undefined_figure;
  evaluation.summary.calibrated = {};
  evaluation.summary.temperature = undefined_figure;
  evaluation.robustness = robustness_report({{"noise-0.1", {"hash", 0.5, undefined_figure, 1, 0}}});
  const nlohmann::json json = evaluation.to_json();
  for (const char* key : {"auc", "nll_scaled", "ece_scaled", "ece_interval_scaled", "ece_floor_scaled", "reliability_scaled",
                          "temperature", "ece_binary", "ece_binary_interval", "reliability_binary"}) {
    ASSERT_TRUE(json.contains(key)) << key;
    EXPECT_TRUE(json[key].is_null()) << key << " " << json[key].dump();
  }
  EXPECT_TRUE(json["rob_mu"]["auc"].is_null());
  EXPECT_TRUE(json["conditions"]["noise-0.1"]["auc"].is_null());
  EXPECT_EQ(json["rob_mu"]["accuracy"], 0.5);
  const Evaluation again = Evaluation::from_json(json);
  EXPECT_TRUE(std::isnan(again.summary.raw.auc));
  EXPECT_TRUE(std::isnan(again.summary.temperature));
  EXPECT_FALSE(again.summary.calibrated.ece.interval.value.has_value());
  EXPECT_TRUE(std::isnan(again.robustness->rob_mu.auc));
  EXPECT_EQ(again.to_json(), json);
}

TEST(Evaluations, DamagedOnesAreNotRead) {
  const nlohmann::json good = complete().to_json();
  // The members that tell that a part is there go with it.
  const std::set<std::string> may_be_absent = {"split",
                                               "planted",
                                               "bayes_auc",
                                               "rob_mu",
                                               "units",
                                               "open_columns",
                                               "projected_units",
                                               "active_fraction_quantiles",
                                               "missing_conditions",
                                               "mrr",
                                               "nodes"};
  for (const auto& [key, unused] : good.items()) {
    nlohmann::json damaged = good;
    damaged.erase(key);
    if (may_be_absent.contains(key)) {
      EXPECT_NO_THROW(Evaluation::from_json(damaged)) << key;
    } else {
      EXPECT_THROW(Evaluation::from_json(damaged), nlohmann::json::exception) << key;
    }
  }
  for (const char* text : {"null", "[]", "3", "{}", "\"text\""})
    EXPECT_THROW(Evaluation::from_json(nlohmann::json::parse(text)), nlohmann::json::exception) << text;
}

TEST(Evaluations, MeansAreOverTheConditionsThatHaveTheFigure) {
  const RobustnessReport report =
      robustness_report({{"a", {"1", 0.5, undefined_figure, 1, 0}}, {"b", {"2", 0.75, 0.25, 2, 0}}, {"c", {"3", 1, 0.75, 3, 0}}});
  EXPECT_EQ(report.rob_mu.accuracy, 0.75);
  EXPECT_EQ(report.rob_mu.auc, 0.5);
  EXPECT_EQ(report.rob_mu.nll, 2);
  EXPECT_EQ(report.conditions.size(), 3u);
  EXPECT_TRUE(std::isnan(robustness_report({}).rob_mu.nll));
}

TEST(Evaluations, ConditionsAreJudgedByTheMeasuresOfTheSummary) {
  for (const int classes : {2, 3}) {
    const Predictions predictions = calibrated_model(200, classes, 1, 4);
    const ConditionFigures figures = condition_figures(predictions, "hash");
    EXPECT_EQ(figures.sha256, "hash");
    EXPECT_EQ(figures.nll, nll(predictions));
    EXPECT_EQ(figures.auc, auc(predictions));
    EXPECT_EQ(figures.accuracy, accuracy(predictions));
    EXPECT_EQ(figures.ece, classes == 2 ? ece_binary(predictions) : ece(predictions));
  }
}

TEST(Evaluations, WhatWasPlantedIsComparedByName) {
  const PlantedReport report = compare_with_planted({"a", "b", "c", "d"}, {{"b", 1, {}}, {"x", 2, {}}, {"a", 3, {}}});
  EXPECT_EQ(report.found, (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(report.wrong, (std::vector<std::string>{"x"}));
  EXPECT_DOUBLE_EQ(report.precision, 2.0 / 3);
  EXPECT_DOUBLE_EQ(report.recall, 0.5);
  EXPECT_EQ(compare_with_planted({"a"}, {}).precision, 0);
}

}  // namespace
}  // namespace l0gm
