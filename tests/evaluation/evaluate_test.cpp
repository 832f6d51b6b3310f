#include "evaluation/evaluate.h"

#include <gtest/gtest.h>

#include "l0gm/error.h"
#include "metrics/make_predictions.h"
#include "metrics/scores.h"
#include "metrics/summary.h"
#include "training/tiny_run.h"

namespace l0gm {
namespace {

namespace fs = std::filesystem;
using testing_tools::calibrated_model;
using testing_tools::one_thread;
using testing_tools::sharpened;
using testing_tools::tiny_config;
using testing_tools::train;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class Evaluate : public testing::Test {
 protected:
  nlohmann::json evaluated(const fs::path& path, Split split = Split::test) const {
    return evaluate(modalities(), path, split, one_thread()).to_json();
  }
  nlohmann::json judged(const std::vector<std::string>& assignments) const {
    train(tiny_config(assignments), out());
    return evaluated(out());
  }
  std::string refusal(const fs::path& path) const {
    return message_of<UserError>([&] { evaluated(path); });
  }
  // 300 rows of a table on disk, so that it can change.
  std::string table() const {
    std::string text = "x,colour,y\n";
    for (int i = 0; i < 300; ++i) {
      text += std::to_string(i * 37 % 101) + "," + (i % 3 ? "red" : "blue") + "," + (i * 37 % 101 > 50 ? "yes" : "no") + "\n";
    }
    return text;
  }
  std::vector<std::string> own_table() {
    return {"data.source=csv", "data.train=" + folder_.write("t.csv", table()).string(), "data.label=y", "gate.k=4"};
  }
  fs::path out() const { return folder_.path() / "run"; }
  TemporaryFolder folder_;
};

TEST_F(Evaluate, FiguresAreThoseOfTheStoredPredictions) {
  const nlohmann::json result = judged({"gate.target_active=0.25"});
  const Predictions predictions = read_predictions(out() / "predictions/test.csv");
  EXPECT_EQ(predictions.size(), 120);
  const nlohmann::json summary = nlohmann::json::parse(read_file(out() / "summary.json"));
  const nlohmann::json wanted = fields_to_json(metrics_summary(predictions, Calibrator::from_json(summary["calibrator"])));
  for (const auto& [key, value] : wanted.items()) EXPECT_EQ(result[key], value) << key;
  // The calibrator is the one that validation rows give.
  const Calibrator fitted = fit_calibrator(read_predictions(out() / "predictions/valid.csv"), CalibratorKind::temperature);
  EXPECT_NEAR(result["temperature"].get<double>(), fitted.temperature, 1e-9);
}

TEST_F(Evaluate, SaysEverythingTheContractNames) {
  const nlohmann::json result = judged({"gate.target_active=0.25"});
  for (const char* key : {"rows",
                          "classes",
                          "accuracy",
                          "auc",
                          "macro_f1",
                          "nll",
                          "brier",
                          "ece",
                          "ece_binary",
                          "ece_adaptive",
                          "ece_classwise",
                          "ece_interval",
                          "ece_floor",
                          "ece_floor_sd",
                          "calibrator",
                          "temperature",
                          "nll_scaled",
                          "ece_scaled",
                          "ece_binary_scaled",
                          "units",
                          "open_units",
                          "active_fraction",
                          "expected_active_fraction",
                          "active_cost_fraction",
                          "projected_units",
                          "parameters",
                          "test_rule"}) {
    EXPECT_TRUE(result.contains(key)) << key;
    EXPECT_FALSE(result[key].is_null()) << key;
  }
  EXPECT_EQ(result["rows"], 120);
  EXPECT_EQ(result["units"], 120);
  EXPECT_EQ(result["open_units"], 30);
  EXPECT_EQ(result["active_fraction"], 0.25);
  EXPECT_EQ(result["active_cost_fraction"], 0.25);
  EXPECT_EQ(result["test_rule"], "threshold");
  EXPECT_LT(result["parameters"], result["parameters_dense"]);
  EXPECT_EQ(result["planted"]["planted"].size(), 6u);
  int64_t dimensions = 0;
  for (const auto& column : result["open_columns"]) dimensions += column["open_dimensions"].get<int64_t>();
  EXPECT_EQ(dimensions, 30);
}

TEST_F(Evaluate, ParametersAreCountedByHand) {
  // Two columns of width 4: `x` with 48 bins (a start, a missing row, 48 directions), `colour` with 2 categories, rare and
  // missing.
  std::vector<std::string> settings = own_table();
  settings.back() = "gate.unit=group";
  settings.push_back("gate.k=1");
  settings.push_back("table.statistics=none");
  const nlohmann::json result = judged(settings);
  const int64_t head = 8 * 16 + 16 + 16 + 1;
  const nlohmann::json schema = nlohmann::json::parse(read_file(out() / "schema.json"));
  ASSERT_EQ(result["open_columns"].size(), 1u);
  const std::string kept = result["open_columns"][0]["name"];
  const auto& counts = schema["counts"];
  const int64_t numeric = 4 * (2 + static_cast<int64_t>(counts[0]["count"].size()) - 1),
                categories = 4 * static_cast<int64_t>(counts[1]["count"].size());
  EXPECT_EQ(result["parameters_dense"], head + numeric + categories);
  EXPECT_EQ(result["parameters"], head - 4 * 16 + (kept == "x" ? numeric : categories));
}

TEST_F(Evaluate, DenseRunsHaveEverythingOpen) {
  const nlohmann::json result = judged({"gate.unit=none"});
  EXPECT_EQ(result["active_fraction"], 1);
  EXPECT_EQ(result["open_units"], result["units"]);
  EXPECT_EQ(result["test_rule"], "none");
  EXPECT_EQ(result["parameters"], result["parameters_dense"]);
}

TEST_F(Evaluate, InstanceGatesAreCountedOverExamples) {
  const nlohmann::json result = judged({"gate.logits=instance", "gate.target_active=0.3", "train.epochs=10"});
  ASSERT_TRUE(result.contains("active_fraction_quantiles"));
  EXPECT_LE(result["active_fraction_quantiles"]["p05"], result["active_fraction_quantiles"]["p95"]);
  EXPECT_LE(result["open_units"], result["ever_open_units"]);
  EXPECT_GT(result["active_fraction"], 0);
}

TEST_F(Evaluate, EveryKindOfUnitIsReported) {
  for (const char* unit : {"dimension", "group", "fine"}) {
    const fs::path run = folder_.path() / unit;
    train(tiny_config({std::string("gate.unit=") + unit, "gate.target_active=0.4"}), run);
    const nlohmann::json result = evaluated(run);
    EXPECT_NEAR(result["active_cost_fraction"].get<double>(), 0.4, 0.02) << unit;
    EXPECT_NEAR(result["active_fraction"].get<double>() * result["units"].get<double>(), result["open_units"].get<double>(), 1e-6)
        << unit;
  }
}

TEST_F(Evaluate, ValidationRowsAreThoseOfTraining) {
  train(tiny_config({"gate.k=9"}), out());
  const std::string before = read_file(out() / "predictions/valid.csv");
  const nlohmann::json result = evaluated(out(), Split::valid);
  EXPECT_EQ(result["split"], "valid");
  EXPECT_EQ(read_file(out() / "predictions/valid.csv"), before);
  const nlohmann::json summary = nlohmann::json::parse(read_file(out() / "summary.json"));
  EXPECT_NEAR(result["nll"].get<double>(), summary["best_valid_nll"].get<double>(), 1e-9);
  // The calibrator was fitted to these rows: it is told as it is stored, and judged by others that were not.
  const Predictions valid = read_predictions(out() / "predictions/valid.csv");
  const Calibrator stored = Calibrator::from_json(summary["calibrator"]);
  EXPECT_EQ(result["calibrator_parameters"], stored.to_json());
  EXPECT_EQ(result["calibrated_by"], "cross-fit");
  EXPECT_EQ(result["nll_scaled"], metrics_summary(valid, stored, CalibratedBy::cross_fit).calibrated.nll);
  EXPECT_EQ(evaluated(out())["calibrated_by"], "stored");
}

TEST_F(Evaluate, AChangedFileIsRefused) {
  judged(own_table());
  const std::string good = table();
  folder_.write("t.csv", good + "7,red,no\n");
  const std::string message = refusal(out());
  EXPECT_TRUE(contains(message, "t.csv has changed since")) << message;
  EXPECT_TRUE(contains(message, "l0gm predict")) << message;
  fs::remove(folder_.path() / "t.csv");
  EXPECT_TRUE(contains(refusal(out()), "t.csv"));
  folder_.write("t.csv", good);
  EXPECT_NO_THROW(evaluated(out()));
}

TEST_F(Evaluate, WithoutTestRowsItSaysSo) {
  std::vector<std::string> settings = own_table();
  settings.push_back("data.split.test=0");
  train(tiny_config(settings), out());
  EXPECT_TRUE(contains(refusal(out()), "no test rows"));
  EXPECT_NO_THROW(evaluated(out(), Split::valid));
}

TEST_F(Evaluate, AnUnfinishedRunIsRefused) {
  testing_tools::Watcher watcher;
  watcher.stop_at = 10;
  train(tiny_config(), out(), watcher);
  EXPECT_TRUE(contains(refusal(out()), "--resume"));
}

TEST_F(Evaluate, AnybodysPredictionsAreJudgedByTheSameCode) {
  const Predictions test = sharpened(calibrated_model(400, 3, 1, 1), 2), valid = sharpened(calibrated_model(300, 3, 1, 2), 2);
  fs::create_directories(folder_.path() / "peer/predictions");
  write_predictions(folder_.path() / "peer/predictions/test.csv", test);
  nlohmann::json result = evaluated(folder_.path() / "peer");
  EXPECT_EQ(result["nll"], metrics_summary(test, Calibrator{}).raw.nll);
  EXPECT_TRUE(result["nll_scaled"].is_null());
  EXPECT_FALSE(result.contains("units"));
  write_predictions(folder_.path() / "peer/predictions/valid.csv", valid);
  result = evaluated(folder_.path() / "peer");
  const nlohmann::json wanted = fields_to_json(metrics_summary(test, &valid, CalibratorKind::temperature));
  for (const auto& [key, value] : wanted.items()) EXPECT_EQ(result[key], value) << key;
  EXPECT_GT(result["temperature"], 1.5);  // it was twice too sure
  EXPECT_EQ(evaluated(folder_.path() / "peer/predictions/test.csv")["nll"], result["nll"]);
  EXPECT_EQ(result["calibrated_by"], "stored");
  result = evaluated(folder_.path() / "peer", Split::valid);
  EXPECT_EQ(result["calibrated_by"], "cross-fit");
  EXPECT_NEAR(result["nll_scaled"].get<double>(), nll(cross_fitted(valid, CalibratorKind::temperature)), 1e-9);
}

TEST_F(Evaluate, NeitherRunNorPredictions) {
  EXPECT_TRUE(contains(refusal(folder_.path() / "none"), "does not exist"));
  EXPECT_TRUE(contains(refusal(folder_.path()), "neither a run (no run.json) nor predictions"));
  const fs::path bad = folder_.write("bad.csv", "row,label,p_a,p_b\n0,a,0.9,0.9\n");
  EXPECT_TRUE(contains(refusal(bad), "bad.csv"));
}

}  // namespace
}  // namespace l0gm
