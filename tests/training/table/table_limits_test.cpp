#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/random.h"
#include "gate/gate_figures.h"
#include "l0gm/error.h"
#include "metrics/scores.h"
#include "training/tiny_run.h"

// Tables at the edge of what a table can be, and every model with every gate, from the file to the reloaded run.
namespace l0gm {
namespace {

namespace fs = std::filesystem;
using testing_tools::one_thread;
using testing_tools::tiny_config;
using testing_tools::train;
using testing_tools::Watcher;
using Settings = std::vector<std::string>;

Settings with(Settings settings, const Settings& further) {
  settings.insert(settings.end(), further.begin(), further.end());
  return settings;
}

// A run to its end, every loss on the way a number; loaded again.
TableRun finished(const Config& config, const fs::path& out) {
  Watcher watcher;
  EXPECT_TRUE(train(config, out, watcher));
  EXPECT_FALSE(watcher.losses.empty());
  for (size_t i = 0; i < watcher.losses.size(); ++i) EXPECT_TRUE(std::isfinite(watcher.losses[i])) << "step " << watcher.steps[i];
  for (const EpochRecord& epoch : watcher.epochs) EXPECT_TRUE(std::isfinite(epoch.valid_nll)) << "epoch " << epoch.epoch;
  return TableRun(out, one_thread());
}

Predictions predicted(TableRun& run, Split split) {
  const TableTensors rows(run.encoded(split), torch::kCPU, dtype_of(run.config.train.precision));
  const Predictions predictions = predict_table(*run.model, run.gate_state, rows, run.table.schema);
  EXPECT_NO_THROW(check_predictions(predictions)) << name_of_enum(split);
  EXPECT_NO_THROW(check_predictions(run.calibrator.apply(predictions))) << name_of_enum(split) << ", calibrated";
  return predictions;
}

void expect_the_same_after_reload(TableRun& run) {
  const Predictions stored = read_predictions(run.folder.predictions(Split::valid)), again = predicted(run, Split::valid);
  EXPECT_GT(stored.size(), 0);
  EXPECT_EQ(again.rows, stored.rows);
  EXPECT_EQ(again.labels, stored.labels);
  EXPECT_EQ(again.probabilities, stored.probabilities);
}

GateFigures figures_of(const TableRun& run) { return gate_figures(run.model->sites(), run.gate_state); }

// What the shares of the classes among training rows would score.
double base_rate_nll(const TableRun& run, const Predictions& predictions) {
  const std::vector<int64_t>& rows = run.table.schema.class_rows;
  const auto total = static_cast<double>(std::accumulate(rows.begin(), rows.end(), int64_t{0}));
  double sum = 0;
  for (const int32_t label : predictions.labels) sum -= std::log(static_cast<double>(rows[static_cast<size_t>(label)]) / total);
  return sum / static_cast<double>(predictions.size());
}

class TableLimits : public testing::Test {
 protected:
  TableRun run_on(const std::string& csv, const Settings& settings, const std::string& name = "run") const {
    const fs::path file = folder_.write(name + ".csv", csv);
    return finished(tiny_config(with({"data.source=csv", "data.train=" + file.string(), "data.label=y"}, settings)),
                    folder_.path() / name);
  }
  TemporaryFolder folder_;
};

// ---- a thousand columns

std::string wide_table(int64_t columns, int64_t rows) {
  std::string text = "y";
  for (int64_t c = 0; c < columns; ++c) text += ",c" + std::to_string(c);
  for (int64_t row = 0; row < rows; ++row) {
    text += row % 2 == 0 ? "\nno" : "\nyes";
    for (int64_t c = 0; c < columns; ++c) {
      const int64_t value = (row * row * (c + 1) + row * 7 + c) % 97;  // never constant
      text += ',';
      text += c % 3 == 0 ? std::string(1, static_cast<char>('a' + value % 4)) : std::to_string(value);
    }
  }
  return text + "\n";
}

TEST_F(TableLimits, AThousandColumns) {
  const std::string csv = wide_table(1000, 200);
  for (const char* model : {"mlp", "deepfm"}) {  // deepfm: half a million pairs
    SCOPED_TRACE(model);
    TableRun run = run_on(csv,
                          {std::string("model.name=") + model, "model.width=1", "model.hidden=8", "train.epochs=2",
                           "gate.target_active=0.1"},
                          model);
    EXPECT_EQ(run.table.schema.columns.size(), 1000u);
    EXPECT_EQ(run.model->encoder().width(), 1000);
    EXPECT_EQ(figures_of(run).open_units, 100);
    expect_the_same_after_reload(run);
    EXPECT_EQ(predicted(run, Split::test).size(), 40);
  }
}

// ---- a column of identifiers

TEST_F(TableLimits, TwentyThousandIdentifiersInBuckets) {
  RandomStream random(3);
  std::string csv = "id,x,y\n";
  for (int64_t i = 0; i < 20000; ++i) {
    const double x = random.normal();
    csv += "user-" + std::to_string(i * 7919) + "," + std::to_string(x) +
           (random.uniform() < 1 / (1 + std::exp(-3 * x)) ? ",1\n" : ",0\n");
  }
  TableRun run = run_on(csv, {"columns.id.hash_buckets=4096", "table.statistics=none", "train.batch=512", "train.epochs=3",
                              "train.lr=0.01"});
  ASSERT_EQ(run.table.schema.fields.size(), 2u);
  EXPECT_EQ(run.table.schema.fields[0].kind, FieldKind::hashed);
  EXPECT_EQ(run.table.schema.fields[0].rows(), 4097);
  expect_the_same_after_reload(run);
  for (const Split split : {Split::valid, Split::test}) {  // whose identifiers are all new
    const Predictions predictions = predicted(run, split);
    EXPECT_LT(nll(predictions), 0.8 * base_rate_nll(run, predictions)) << name_of_enum(split);
  }
}

// ---- next to nothing: fewer training rows than the ten folds that statistics need, and one column that tells anything

std::string small_table(int64_t rows) {
  std::string csv = "x,colour,y\n";
  for (int64_t i = 0; i < rows; ++i) csv += std::to_string(i * 37 % 101) + "," + "rgb"[i % 3] + (i % 2 == 0 ? ",yes\n" : ",no\n");
  return csv;
}

TEST_F(TableLimits, FewerRowsThanFolds) {
  for (const int64_t rows : {5, 8}) {
    for (const char* statistics : {"auto", "columns", "pairs"}) {
      const std::string name = std::to_string(rows) + "-" + statistics;
      SCOPED_TRACE(name);
      TableRun run = run_on(small_table(rows), {std::string("table.statistics=") + statistics, "table.trees=on"}, name);
      ASSERT_LT(run.encoded(Split::train).rows(), 10);
      expect_the_same_after_reload(run);
      EXPECT_EQ(predicted(run, Split::test).size(), rows == 5 ? 1 : 2);
    }
  }
  const std::string message = message_of<UserError>([&] { run_on(small_table(3), {}, "three"); });
  EXPECT_NE(message.find("holds no row"), std::string::npos) << message;
}

TEST_F(TableLimits, EveryColumnIsConstantButOne) {
  std::string one = "x,same,number,empty,y\n", none = "same,y\n";
  for (int64_t i = 0; i < 300; ++i) {
    const int64_t x = i * 37 % 101;
    one += std::to_string(x) + ",a,7," + (x > 50 ? ",yes\n" : ",no\n");
    none += i % 2 == 0 ? "a,yes\n" : "a,no\n";
  }
  TableRun run = run_on(one, {"train.lr=0.02", "train.epochs=20"}, "one");
  ASSERT_EQ(run.table.schema.columns.size(), 1u);
  EXPECT_EQ(run.table.schema.columns[0].name, "x");
  expect_the_same_after_reload(run);
  const Predictions test = predicted(run, Split::test);
  EXPECT_LT(nll(test), 0.8 * base_rate_nll(run, test));
  const std::string message = message_of<UserError>([&] { run_on(none, {}, "none"); });
  EXPECT_NE(message.find("no input column is left"), std::string::npos) << message;
}

// ---- one row in ten thousand

// 10,000 rows to 1 in training, and the same among validation rows.
std::string rare_table() {
  std::string csv = "x,z,part,y\n";
  for (int64_t i = 0; i < 20000; ++i) {
    csv += std::to_string(i * 37 % 1009) + "," + std::to_string(i % 7) + (i % 2 == 0 ? ",train,0\n" : ",valid,0\n");
  }
  return csv + "1004,3,train,1\n1005,3,valid,1\n";
}

double mean_of_the_rare_class(const Predictions& predictions) {
  double sum = 0;
  for (int64_t i = 0; i < predictions.size(); ++i) sum += predictions.row(i)[1];
  return sum / static_cast<double>(predictions.size());
}

TEST_F(TableLimits, TrainingBeginsAtTheShareOfARareClass) {
  const std::string csv = rare_table();
  const Settings slow = {"data.split.column=part", "train.batch=512", "train.epochs=1", "train.lr=1e-6", "train.gate_lr=1e-6"};
  for (const char* model : {"mlp", "linear", "deepfm", "xdeepfm"}) {
    SCOPED_TRACE(model);
    TableRun run = run_on(csv, with(slow, {std::string("model.name=") + model, "cin.maps=[4, 4]"}), model);
    ASSERT_EQ(run.table.schema.class_rows, (std::vector<int64_t>{10000, 1}));
    expect_the_same_after_reload(run);
    const double mean = mean_of_the_rare_class(predicted(run, Split::valid)), share = 1.0 / 10001;
    EXPECT_GT(mean, share / 5);
    EXPECT_LT(mean, share * 5);
  }
}

TEST_F(TableLimits, ARareClassIsTrainedOn) {
  const std::string csv = rare_table();
  const std::vector<Settings> variants = {{"train.lr=0.02", "train.epochs=3", "train.calibrator=isotonic"},
                                          {"train.lr=0.02", "train.epochs=2", "train.calibrator=power", "coupling.kind=mmce"},
                                          {"train.class_weights=balanced", "train.epochs=2"},
                                          {"table.statistics=pairs", "train.epochs=2"}};
  for (size_t i = 0; i < variants.size(); ++i) {
    SCOPED_TRACE(variants[i][0]);
    TableRun run = run_on(csv, with({"data.split.column=part", "train.batch=512"}, variants[i]), "run" + std::to_string(i));
    expect_the_same_after_reload(run);
    const Predictions valid = predicted(run, Split::valid);
    EXPECT_EQ(valid.size(), 10001);
    EXPECT_TRUE(std::isfinite(nll(valid)));
    const double mean = mean_of_the_rare_class(valid);
    const bool balanced = run.config.train.class_weights == ClassWeights::balanced;  // then both classes weigh the same
    EXPECT_EQ(mean > 0.01, balanced) << mean;
  }
}

// ---- columns that come and go between the splits

// x tells the class. `late` is empty in training rows and filled elsewhere; `early` is the other way round.
std::string changing_table(bool with_late) {
  std::string csv = with_late ? "x,late,early,part,y\n" : "x,early,part,y\n";
  for (int64_t i = 0; i < 300; ++i) {
    const char* part = i < 180 ? "train" : i < 240 ? "valid" : "test";
    const int64_t x = i * 37 % 101;
    csv += std::to_string(x) + ",";
    if (with_late) csv += (i < 180 ? std::string() : std::to_string(i % 13)) + ",";
    csv += (i < 180 ? std::to_string(i % 11) : std::string()) + "," + part + (x > 50 ? ",yes\n" : ",no\n");
  }
  return csv;
}

TEST_F(TableLimits, AColumnThatIsEmptyInTrainingIsLeftOutWhateverItsType) {
  const Settings settings = {"data.split.column=part", "train.lr=0.02", "gate.lambda=0.001"};
  TableRun without = run_on(changing_table(false), settings, "without");
  const Predictions wanted = predicted(without, Split::test);
  const std::vector<Settings> variants = {{},
                                          {"columns.late.type=numeric"},
                                          {"columns.late.type=categorical"},
                                          {"columns.late.type=multi"},
                                          {"columns.late.hash_buckets=16"},
                                          {"columns.late.encoding=periodic"}};
  for (size_t i = 0; i < variants.size(); ++i) {
    SCOPED_TRACE(variants[i].empty() ? "inferred" : variants[i][0]);
    TableRun run = run_on(changing_table(true), with(settings, variants[i]), "run" + std::to_string(i));
    std::vector<std::string> names;
    for (const Column& column : run.table.schema.columns) names.push_back(column.name);
    EXPECT_EQ(names, (std::vector<std::string>{"x", "early"}));
    expect_the_same_after_reload(run);
    const Predictions test = predicted(run, Split::test);
    EXPECT_EQ(test.size(), 60);
    EXPECT_EQ(test.probabilities, wanted.probabilities) << "it has no say";
  }
}

// Training rows always had a value: without one the column's mean embedding stands in.
TEST_F(TableLimits, AColumnThatIsEmptyInTheTestStillLeavesSensiblePredictions) {
  for (const char* encoding : {"piecewise", "plain", "periodic"}) {
    SCOPED_TRACE(encoding);
    TableRun run = run_on(changing_table(false),
                          {"data.split.column=part", "train.lr=0.02", "train.epochs=20", "gate.unit=none",
                           std::string("columns.early.encoding=") + encoding},
                          encoding);
    const Predictions test = predicted(run, Split::test);
    EXPECT_LT(nll(test), 0.8 * base_rate_nll(run, test));
  }
}

// ---- static masks of fine units, through a run

TEST_F(TableLimits, StaticMasksOfFineUnitsLeaveOutWhatNoTrainingRowHas) {
  for (const char* by : {"gradient", "magnitude"}) {
    for (const char* attach : {"interface", "input"}) {
      const std::string name = std::string(by) + "-" + attach;
      SCOPED_TRACE(name);
      TableRun run = finished(tiny_config({"gate.unit=fine", "gate.logits=static", "gate.k=50", "schedule.warmup=0.4",
                                           std::string("gate.static_by=") + by, std::string("gate.attach=") + attach}),
                              folder_.path() / name);
      expect_the_same_after_reload(run);
      ASSERT_EQ(figures_of(run).open_units, 50);
      const GateSite& site = *run.model->sites()[0];
      const torch::Tensor open = site.gate->test_values(run.gate_state).gt(0);
      int64_t nobodys = 0;
      for (int64_t unit = 0; unit < site.gate->units(); ++unit) {
        const std::string unit_name = site.unit_name(unit);
        if (unit_name.find("(missing)") == std::string::npos && unit_name.find("(rare)") == std::string::npos) continue;
        EXPECT_FALSE(open[unit].item<bool>()) << unit_name;
        ++nobodys;
      }
      EXPECT_GE(nobodys, 24);  // twelve categorical columns, none of which is ever missing
    }
  }
}

// ---- every model

class EveryModel : public testing::TestWithParam<std::string> {
 protected:
  fs::path out(const std::string& name) const { return folder_.path() / name; }
  Settings model() const { return {"model.name=" + GetParam(), "cin.maps=[4, 4]"}; }
  TemporaryFolder folder_;
};

TEST_P(EveryModel, TrainsAndReloadsWithEveryUnitAtEveryPlace) {
  for (const std::string unit : {"dimension", "group", "fine"}) {
    for (const std::string attach : {"interface", "input"}) {
      const std::string name = unit + "-" + attach;
      SCOPED_TRACE(name);
      TableRun run = finished(tiny_config(with(model(), {"gate.unit=" + unit, "gate.attach=" + attach, "gate.target_active=0.5",
                                                         "train.epochs=2"})),
                              out(name));
      expect_the_same_after_reload(run);
      ASSERT_EQ(run.model->sites().size(), 1u);
      EXPECT_EQ(run.model->sites()[0]->name, attach);
      const GateFigures figures = figures_of(run);
      EXPECT_GT(figures.open_units, 0);
      EXPECT_LE(figures.active_cost_fraction, 0.5 + 1e-6);
      EXPECT_GT(figures.active_cost_fraction, 0.4);
    }
  }
}

TEST_P(EveryModel, LearnsThreeClassesWithThreeMembers) {
  std::string csv = "x,z,y\n";
  for (int i = 0; i < 300; ++i)
    csv += std::to_string(i % 3) + "," + std::to_string(i * 7 % 50) + ",class " + std::to_string(i % 3) + "\n";
  const fs::path file = folder_.write("three.csv", csv);
  const Settings settings = {"data.source=csv", "data.train=" + file.string(),
                             "data.label=y",    "model.members=3",
                             "train.lr=0.03",   "train.epochs=20",
                             "train.ema=0",     "gate.lambda=0.0001"};
  TableRun run = finished(tiny_config(with(model(), settings)), out("run"));
  expect_the_same_after_reload(run);
  const Predictions valid = predicted(run, Split::valid);
  ASSERT_EQ(valid.class_count(), 3);
  for (int64_t i = 0; i < valid.size(); ++i) EXPECT_NEAR(valid.row(i)[0] + valid.row(i)[1] + valid.row(i)[2], 1, 1e-9);
  EXPECT_LT(nll(valid), 0.9 * std::log(3.0));  // x tells the class

  const torch::NoGradGuard no_grad;
  const TableTensors rows(run.encoded(Split::valid), torch::kCPU, torch::kFloat32);
  const auto batch = rows.range(0, rows.rows());
  GatePass pass = GatePass::evaluation(run.gate_state, batch->example_ids);
  const torch::Tensor logits = run.model->forward(*batch, pass);
  ASSERT_EQ(logits.dim(), 3);
  EXPECT_EQ(logits.size(1), 3);
  EXPECT_EQ(logits.size(2), 3);
  // The terms of a linear model start at zero in all members, so that these are one.
  if (GetParam() != "linear") EXPECT_FALSE(at::equal(logits.select(1, 0), logits.select(1, 1))) << "members that are all alike";
}

INSTANTIATE_TEST_SUITE_P(Models, EveryModel, testing::Values("mlp", "linear", "fm", "wide-deep", "deepfm", "cin", "xdeepfm"),
                         [](const auto& model) {
                           std::string name = model.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace l0gm
