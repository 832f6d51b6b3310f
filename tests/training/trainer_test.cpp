#include "training/trainer.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>

#include "data/table/fit.h"
#include "data/table/source.h"
#include "l0gm/error.h"
#include "metrics/calibrator.h"
#include "metrics/scores.h"
#include "model/table_model.h"
#include "training/tiny_run.h"

namespace l0gm {
namespace {

using testing_tools::metrics_of;
using testing_tools::tiny_config;
using testing_tools::Watcher;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// A table task whose loss turns into something else after some steps.
class BreakingTask : public TableTask {
 public:
  using TableTask::TableTask;
  torch::Tensor loss(const torch::Tensor& logits, const Batch& batch) const override {
    const torch::Tensor good = TableTask::loss(logits, batch);
    if (++calls_ == stop_at) *stop = true;
    return calls_ > good_steps ? good * factor : good;
  }
  Predictions predict(Model& model, const GateState& state, Split split) override {
    const Predictions found = TableTask::predict(model, state, split);
    if (split == Split::valid) told.push_back(found);
    return found;
  }
  std::optional<std::vector<uint8_t>> better_units(const std::vector<uint8_t>& open, const std::atomic<bool>&) override {
    ++asked;
    if (!stops_when_asked) return std::nullopt;
    *stop = true;
    return std::vector<uint8_t>(open.rbegin(), open.rend());
  }
  int asked = 0;  // for better units
  bool stops_when_asked = false;
  std::vector<Predictions> told;  // of validation rows, each time that they were asked for
  int64_t good_steps = std::numeric_limits<int64_t>::max();
  double factor = 1;
  int64_t stop_at = -1;
  std::atomic<bool>* stop = nullptr;

 private:
  mutable int64_t calls_ = 0;
};

class Trainers : public testing::Test {
 protected:
  void prepare(const std::vector<std::string>& assignments) {
    testing_tools::one_thread();
    config_ = tiny_config(assignments);
    const TableDataset data = load_table(config_.data, 0);
    const Schema schema = fit_schema(data.table, data.label, data.train, config_.table, {}, {});
    const EncodedTable train = encode_rows(data.table, RowEncoder(schema), data.train, true);
    model_ = make_table_model(schema, count_fields(train, schema), {config_.model, config_.fm, config_.cin}, config_.gate, 0);
    task_ = std::make_unique<BreakingTask>(schema, config_.train.batch, 0);
    task_->add_split(Split::train, train, torch::kCPU, torch::kFloat32);
    task_->add_split(Split::valid, encode_rows(data.table, RowEncoder(schema), data.valid, true), torch::kCPU, torch::kFloat32);
  }
  bool run(const RunFolder& folder) {
    Trainer trainer(model_, *task_, config_, folder);
    trainer.resume();
    const bool finished = trainer.run({&watcher_}, watcher_.stop);
    state_ = trainer.state();
    return finished;
  }
  RunFolder new_folder() { return RunFolder::create(folder_.path() / "run", "table"); }

  TemporaryFolder folder_;
  Config config_;
  std::shared_ptr<Model> model_;
  std::unique_ptr<BreakingTask> task_;
  Watcher watcher_;
  TrainerState state_;
};

TEST_F(Trainers, ALossThatIsNotANumberStopsAndTheLastCheckpointStays) {
  for (const double factor : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    TemporaryFolder place;
    prepare({"gate.lambda=0.001"});
    task_->good_steps = 15;  // two and a half epochs
    task_->factor = factor;
    const RunFolder folder = RunFolder::create(place.path() / "run", "table");
    const std::string message = message_of<UserError>([&] { run(folder); });
    EXPECT_TRUE(contains(message, "step 15")) << message;
    EXPECT_TRUE(contains(message, "not a finite number")) << message;
    EXPECT_TRUE(contains(message, "train.lr")) << message;
    const TensorFile kept = load_tensors(folder.state());
    EXPECT_TRUE(contains(kept.metadata.at("trainer"), "step = 12")) << kept.metadata.at("trainer");
    for (const auto& [name, tensor] : kept.tensors) EXPECT_TRUE(at::isfinite(tensor).all().item<bool>()) << name;
    // And one can go on from there once the cause is gone.
    prepare({"gate.lambda=0.001"});
    EXPECT_TRUE(run(folder));
    EXPECT_EQ(state_.step, 36);
    EXPECT_EQ(metrics_of(folder.path()).size(), 6u);
  }
}

TEST_F(Trainers, ALossThatGrowsWithoutBoundStops) {
  prepare({"gate.lambda=0.001"});
  task_->good_steps = 8;
  task_->factor = 1e4;
  const RunFolder folder = new_folder();
  const std::string message = message_of<UserError>([&] { run(folder); });
  EXPECT_TRUE(contains(message, "diverges")) << message;
  EXPECT_TRUE(contains(load_tensors(folder.state()).metadata.at("trainer"), "step = 6"));
}

TEST_F(Trainers, AGatedRunThatNeverHardensIsRefused) {
  prepare({"train.batch=1000", "train.epochs=1"});
  const RunFolder folder = new_folder();
  const std::string message = message_of<UserError>([&] { Trainer(model_, *task_, config_, folder); });
  EXPECT_TRUE(contains(message, "1 steps leave none for hardening")) << message;
  EXPECT_TRUE(contains(message, "schedule.anneal_until = 0.6")) << message;
  prepare({"train.batch=1000", "train.epochs=1", "gate.unit=none"});
  EXPECT_TRUE(run(folder));
}

TEST_F(Trainers, WithoutAScheduleTheLastStepCountsHoweverFewThereAre) {
  for (const std::string epochs : {"1", "2", "3"}) {
    TemporaryFolder place;
    prepare({"schedule.kind=none", "gate.lambda=0.001", "train.batch=1000", "train.epochs=" + epochs});
    const RunFolder folder = RunFolder::create(place.path() / "run", "table");
    EXPECT_TRUE(run(folder)) << epochs;
    EXPECT_GT(state_.best_step, 0) << epochs;
    EXPECT_TRUE(std::filesystem::exists(folder.best())) << epochs;
  }
}

TEST_F(Trainers, TheBestIsPickedAmongHardenedStepsOnly) {
  // A price that closes nearly everything: the open gates before it predict better than what remains.
  prepare({"gate.lambda=10", "train.gate_lr=0.5", "train.lr=0.02", "train.epochs=20", "schedule.warmup=0.4"});
  run(new_folder());
  double open_best = 1e9, hardened_best = 1e9;
  int64_t hardened_step = -1;
  for (const EpochRecord& epoch : watcher_.epochs) {
    if (epoch.phase != "harden") {
      EXPECT_FALSE(epoch.selected) << epoch.epoch;
      open_best = std::min(open_best, epoch.valid_nll);
    } else if (epoch.valid_nll < hardened_best) {
      EXPECT_TRUE(epoch.selected) << epoch.epoch;
      hardened_best = epoch.valid_nll;
      hardened_step = epoch.step;
    }
  }
  ASSERT_LT(open_best, hardened_best);  // else this test could not tell
  EXPECT_EQ(state_.best_nll, hardened_best);
  EXPECT_EQ(state_.best_step, hardened_step);
}

TEST_F(Trainers, ADenseRunPicksTheBestOfAllSteps) {
  prepare({"gate.unit=none", "train.lr=0.05", "train.epochs=15", "train.ema=0"});
  run(new_folder());
  double best = 1e9;
  for (const EpochRecord& epoch : watcher_.epochs) best = std::min(best, epoch.valid_nll);
  EXPECT_EQ(state_.best_nll, best);
  EXPECT_LT(state_.best_step, 90);  // it overfits: the end is not the best
  EXPECT_EQ(watcher_.epochs[0].phase, "dense");
}

// Weights that are too sure of themselves have a high loss, and a calibrator mends that: what is served decides.
TEST_F(Trainers, TheBestCanBePickedByTheLossThatACalibratorLeaves) {
  std::vector<int64_t> steps;
  for (const std::string select : {"loss", "calibrated"}) {
    const TemporaryFolder place;
    prepare({"gate.unit=none", "train.lr=0.05", "train.epochs=15", "train.ema=0", "train.select=" + select});
    run(RunFolder::create(place.path() / "run", "table"));
    std::vector<double> losses;
    for (const Predictions& told : task_->told)
      losses.push_back(nll(select == "loss" ? told : cross_fitted(told, CalibratorKind::temperature)));
    ASSERT_EQ(losses.size(), 15u);
    const auto lowest = std::min_element(losses.begin(), losses.end());
    EXPECT_DOUBLE_EQ(state_.best_nll, *lowest) << select;
    EXPECT_EQ(state_.best_step, task_->steps_per_epoch() * (lowest - losses.begin() + 1)) << select;
    steps.push_back(state_.best_step);
  }
  EXPECT_NE(steps[0], steps[1]) << "else this test could not tell";
}

TEST_F(Trainers, PatienceCountsHardenedEpochsOnly) {
  prepare(
      {"gate.lambda=0.0001", "train.lr=0.05", "train.epochs=40", "train.patience=2", "train.ema=0", "schedule.anneal_until=0.3"});
  EXPECT_TRUE(run(new_folder()));
  ASSERT_TRUE(state_.stopped_early);
  EXPECT_LT(state_.step, 240);
  const auto& epochs = watcher_.epochs;
  const size_t best = static_cast<size_t>(state_.best_step / 6) - 1;
  EXPECT_TRUE(epochs[best].selected);
  EXPECT_EQ(epochs.size(), best + 3);
  EXPECT_GE(epochs[best].epoch, 12);  // whatever happened before gates were fixed
}

TEST_F(Trainers, LabelSmoothingAndClassWeights) {
  prepare({});
  const torch::Tensor logits = at::tensor({0.3, -1.2, 2.0, 0.1, 0.2, 0.3}, torch::kFloat64).view({2, 1, 3});
  Batch batch;
  batch.targets = at::tensor({1, 2}, torch::kInt64);
  task_->label_smoothing = 0.3;
  task_->class_weights = at::tensor({5.0, 0.5, 2.0}, torch::kFloat64);
  const torch::Tensor loss = task_->TableTask::loss(logits, batch);
  for (int row = 0; row < 2; ++row) {
    double total = 0, smooth = 0;
    for (int c = 0; c < 3; ++c) total += std::exp(logits[row][0][c].item<double>());
    const auto log_p = [&](int c) { return logits[row][0][c].item<double>() - std::log(total); };
    for (int c = 0; c < 3; ++c) smooth -= ((c == row + 1 ? 0.7 : 0.0) + 0.3 / 3) * log_p(c);
    EXPECT_NEAR(loss[row].item<double>(), smooth * (row == 0 ? 0.5 : 2.0), 1e-12) << row;
  }
}

TEST_F(Trainers, TheLossOfMembersIsTheMeanOfTheirLossesAndTheProbabilityTheMeanOfTheirs) {
  prepare({});
  const torch::Tensor logits = at::tensor({2.0, -1.0}, torch::kFloat64).view({1, 2, 1});  // two members, two classes
  Batch batch;
  batch.targets = at::tensor({1}, torch::kInt64);
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  EXPECT_NEAR(task_->TableTask::loss(logits, batch).item<double>(), -(std::log(sigmoid(2)) + std::log(sigmoid(-1))) / 2, 1e-12);
  EXPECT_NEAR(mean_probabilities(logits)[0][1].item<double>(), (sigmoid(2) + sigmoid(-1)) / 2, 1e-12);
}

TEST_F(Trainers, BatchesFollowFromEpochAndIndexAlone) {
  prepare({});
  const auto ids = [&](int64_t epoch, int64_t index) { return task_->training_batch(epoch, index)->example_ids.clone(); };
  const torch::Tensor first = ids(3, 2);
  ids(0, 0);
  ids(7, 5);
  EXPECT_TRUE(at::equal(ids(3, 2), first));
  EXPECT_FALSE(at::equal(ids(4, 2), first));
  std::vector<torch::Tensor> all;
  for (int64_t i = 0; i < task_->steps_per_epoch(); ++i) all.push_back(ids(1, i));
  const torch::Tensor sorted = std::get<0>(at::cat(all).sort());
  EXPECT_EQ(sorted.size(0), 360);
  EXPECT_EQ(std::get<0>(at::unique_consecutive(sorted)).size(0), 360);  // every row once
}

// A run so long that the weights know the training rows by heart before the gates are fixed: the result must not start from
// there.
TEST_F(Trainers, WeightsThatOverfittedBeforeGatesAreFixedAreLeftBehind) {
  prepare({"gate.target_active=0.5", "train.epochs=80", "train.lr=0.02", "train.weight_decay=0", "model.dropout=0",
           "model.interface_dropout=0", "model.hidden=64", "train.patience=0", "table.statistics=none"});
  const RunFolder folder = new_folder();
  ASSERT_TRUE(run(folder));
  double best_before = 1e9, last_before = 0, best_after = 1e9;
  for (const EpochRecord& epoch : watcher_.epochs) {
    if (epoch.phase == "harden") {
      best_after = std::min(best_after, epoch.valid_nll);
    } else {
      best_before = std::min(best_before, epoch.valid_nll);
      last_before = epoch.valid_nll;
    }
  }
  ASSERT_GT(last_before, 1.5 * best_before);  // it did overfit
  EXPECT_LT(best_after, 0.5 * (best_before + last_before));
  EXPECT_DOUBLE_EQ(state_.best_nll, best_after);
  EXPECT_FALSE(std::filesystem::exists(folder.before_hardening()));
}

// While two starts are tried nothing of the run is over yet: it is stopped at once, and goes on as if it had not been.
TEST_F(Trainers, AStopWhileTwoStartsAreTriedChangesNothing) {
  const std::vector<std::string> overfitting = {"gate.target_active=0.5", "train.epochs=80",  "train.lr=0.02",
                                                "train.weight_decay=0",   "model.dropout=0",  "model.interface_dropout=0",
                                                "model.hidden=64",        "train.patience=0", "table.statistics=none"};
  prepare(overfitting);
  const RunFolder whole = RunFolder::create(folder_.path() / "whole", "table");
  ASSERT_TRUE(run(whole));
  const int64_t best = state_.best_step;
  prepare(overfitting);
  const RunFolder parts = RunFolder::create(folder_.path() / "parts", "table");
  task_->stop = &watcher_.stop;
  task_->stop_at = 288 + 25;  // of 480 steps 288 come first, then twice 19 are tried
  ASSERT_FALSE(run(parts));
  EXPECT_EQ(load_tensors(parts.state()).metadata.at("trainer").find("hardened = true"), std::string::npos);
  watcher_.stop = false;
  ASSERT_TRUE(run(parts));
  EXPECT_EQ(state_.best_step, best);
  EXPECT_EQ(read_file(parts.best()), read_file(whole.best()));
}

// What a search that was stopped found has no say: the whole look is taken back, and made when the run goes on.
TEST_F(Trainers, AStopWhileUnitsAreMeasuredChangesNothing) {
  const std::vector<std::string> columns = {"gate.unit=group", "gate.k=9"};
  prepare(columns);
  const RunFolder whole = RunFolder::create(folder_.path() / "whole", "table");
  ASSERT_TRUE(run(whole));
  ASSERT_EQ(task_->asked, 1);
  prepare(columns);
  const RunFolder parts = RunFolder::create(folder_.path() / "parts", "table");
  task_->stop = &watcher_.stop;
  task_->stops_when_asked = true;
  ASSERT_FALSE(run(parts));
  EXPECT_EQ(task_->asked, 1);
  EXPECT_EQ(state_.step, watcher_.steps.back());
  watcher_.stop = false;
  task_->stops_when_asked = false;
  ASSERT_TRUE(run(parts));
  EXPECT_EQ(task_->asked, 2);
  EXPECT_EQ(read_file(parts.best()), read_file(whole.best()));
  EXPECT_EQ(read_file(parts.state()), read_file(whole.state()));
}

}  // namespace
}  // namespace l0gm
