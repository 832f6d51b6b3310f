#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/hash.h"
#include "l0gm/error.h"
#include "metrics/predictions.h"
#include "model/tensor_file.h"
#include "training/table/table_modality.h"
#include "training/tiny_run.h"

// Learning from another run's probabilities: what a student takes from its teacher, and which teachers are refused. The loss:
// task_test.
namespace l0gm {
namespace {

namespace fs = std::filesystem;
using testing_tools::differences;
using testing_tools::one_thread;
using testing_tools::result_of;
using testing_tools::tiny_config;
using testing_tools::train;
using testing_tools::Watcher;
using Settings = std::vector<std::string>;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class Distill : public testing::Test {
 protected:
  fs::path out(const std::string& name) const { return folder_.path() / name; }
  void train_teacher(const Settings& settings = {}) { train(tiny_config(settings), out("teacher")); }
  Config student(Settings settings = {}) const {
    settings.push_back("distill.from=" + out("teacher").string());
    return tiny_config(settings);
  }
  // What a student that is refused is told; nothing of it may stay behind.
  std::string refusal(const Config& config) {
    const fs::path place = out("student " + std::to_string(++students_));
    const std::string message = message_of<UserError>([&] { train(config, place); });
    EXPECT_FALSE(fs::exists(place));
    return message;
  }
  Settings own_table(const std::string& label = "y") const {
    std::string text = "x,colour,y,z\n";
    for (int i = 0; i < 400; ++i) {
      text += std::to_string(i * 37 % 101) + "," + (i % 3 ? "red" : "blue") + "," + (i * 37 % 101 > 50 ? "yes" : "no") + "," +
              (i % 5 > 2 ? "yes" : "no") + "\n";
    }
    return {"data.source=csv", "data.train=" + folder_.write("t.csv", text).string(), "data.label=" + label, "gate.unit=none"};
  }
  TemporaryFolder folder_;
  int students_ = 0;
};

Settings with(Settings settings, const Settings& further) {
  settings.insert(settings.end(), further.begin(), further.end());
  return settings;
}

double mean_distance(const Predictions& a, const Predictions& b) {
  EXPECT_EQ(a.rows, b.rows);
  double sum = 0;
  for (size_t i = 0; i < a.probabilities.size(); ++i) sum += std::abs(a.probabilities[i] - b.probabilities.at(i));
  return sum / static_cast<double>(a.probabilities.size());
}

TEST_F(Distill, AStudentComesNearerToItsTeacher) {
  const Settings plain = {"gate.unit=none", "train.lr=0.02", "train.epochs=10", "train.ema=0"};
  train_teacher(with(plain, {"train.seed=5", "train.label_smoothing=0.8"}));  // a cautious one, as labels alone make nobody
  train(student(with(plain, {"distill.weight=1"})), out("taught"));
  train(student(with(plain, {"distill.weight=0"})), out("alone"));
  const auto valid = [&](const char* name) { return read_predictions(out(name) / "predictions/valid.csv"); };
  const double near = mean_distance(valid("taught"), valid("teacher")), far = mean_distance(valid("alone"), valid("teacher"));
  EXPECT_GT(far, 0.05) << "else this test could not tell";
  EXPECT_LT(near, 0.7 * far);
  // A teacher without weight changes nothing at all.
  train(tiny_config(plain), out("never taught"));
  EXPECT_EQ(read_file(out("alone") / "predictions/valid.csv"), read_file(out("never taught") / "predictions/valid.csv"));
}

// Teacher and students that are ensembles: the teacher's mean probability is what every member learns.
TEST_F(Distill, BatchEnsemblesTeachAndLearn) {
  const Settings plain = {"gate.unit=none", "train.lr=0.02", "train.epochs=10", "train.ema=0", "model.members=3"};
  train_teacher(with(plain, {"train.seed=5", "train.label_smoothing=0.8"}));
  train(student(with(plain, {"distill.weight=1"})), out("taught"));
  train(student(with(plain, {"distill.weight=0"})), out("alone"));
  const auto valid = [&](const char* name) { return read_predictions(out(name) / "predictions/valid.csv"); };
  EXPECT_LT(mean_distance(valid("taught"), valid("teacher")), 0.7 * mean_distance(valid("alone"), valid("teacher")));
}

TEST_F(Distill, WeightAndTemperatureChangeTheResult) {
  train_teacher({"gate.unit=none"});
  std::vector<std::string> results;
  for (const Settings& settings : std::vector<Settings>{{}, {"distill.weight=0.9"}, {"distill.temperature=2"}}) {
    const std::string name = "student" + std::to_string(results.size());
    train(student(with({"gate.target_active=0.25"}, settings)), out(name));
    results.push_back(read_file(out(name) / "predictions/valid.csv"));
  }
  EXPECT_NE(results[0], results[1]);
  EXPECT_NE(results[0], results[2]);
}

// The loss is scaled by the square of the temperature: large numbers are no sign of divergence.
TEST_F(Distill, AHighTemperatureIsNotTakenForDivergence) {
  train_teacher({"gate.unit=none"});
  EXPECT_NO_THROW(train(student({"gate.unit=none", "distill.weight=1", "distill.temperature=8"}), out("student")));
}

TEST_F(Distill, ATeacherOfOtherDataIsRefused) {
  train_teacher({"gate.unit=none"});
  const std::string seed = refusal(student({"data.split.seed=1"}));
  EXPECT_TRUE(contains(seed, "distill.from = " + out("teacher").string())) << seed;
  EXPECT_TRUE(contains(seed, "planted-table/global/0")) << seed;
  EXPECT_TRUE(contains(seed, "planted-table/global/1")) << seed;
  const std::string protocol = refusal(student({"data.protocol=instance"}));
  EXPECT_TRUE(contains(protocol, "planted-table/instance/0")) << protocol;
  const std::string own = refusal(student(own_table()));
  EXPECT_TRUE(contains(own, "this run is on t.csv")) << own;
}

// Same file, same name: but the teacher has seen rows, or a label, that the student is judged by.
TEST_F(Distill, ATeacherOfAnotherSplitOfTheSameFileIsRefused) {
  train_teacher(with(own_table(), {"data.split.seed=3"}));
  EXPECT_TRUE(contains(refusal(student(own_table())), "split"));
}

TEST_F(Distill, ATeacherOfAnotherLabelOfTheSameFileIsRefused) {
  train_teacher(own_table("z"));  // y is an input of it
  EXPECT_FALSE(refusal(student(own_table())).empty());
}

TEST_F(Distill, ATeacherOfMoreRowsOfTheSameMadeTableIsRefused) {
  train_teacher({"gate.unit=none", "data.rows=700"});  // the first 600 are ours, split otherwise
  EXPECT_FALSE(refusal(student({"gate.unit=none"})).empty());
}

TEST_F(Distill, ATeacherOfAFileThatHasChangedIsRefused) {
  const Settings settings = own_table();
  train_teacher(settings);
  train(student(settings), out("student"));  // as long as it has not
  folder_.write("t.csv", read_file(out("t.csv")) + "5,red,yes,no\n");
  const std::string message = refusal(student(settings));
  EXPECT_TRUE(contains(message, "t.csv")) << message;
  EXPECT_TRUE(contains(message, "has changed since")) << message;
}

TEST_F(Distill, OnlyAFinishedRunTeaches) {
  const std::string absent = refusal(student());
  EXPECT_TRUE(contains(absent, out("teacher").string())) << absent;
  EXPECT_TRUE(contains(absent, "does not exist")) << absent;
  fs::create_directories(out("teacher"));
  const std::string empty = refusal(student());
  EXPECT_TRUE(contains(empty, "is not a run")) << empty;
  fs::remove(out("teacher"));
  Watcher watcher;
  watcher.stop_at = 10;
  ASSERT_FALSE(train(tiny_config(), out("teacher"), watcher));
  const std::string unfinished = refusal(student());
  EXPECT_TRUE(contains(unfinished, "has not finished training")) << unfinished;
}

TEST_F(Distill, TheRecordNamesTheTeachersWeights) {
  train_teacher({"gate.unit=none"});
  train(student({"gate.unit=none"}), out("student"));
  const auto recorded = [&](const char* name) {
    return nlohmann::json::parse(read_file(out(name) / "schema.json")).at("teacher").get<std::string>();
  };
  const std::string hash = recorded("student");
  EXPECT_EQ(hash.size(), 64u);
  EXPECT_EQ(hash.find_first_not_of("0123456789abcdef"), std::string::npos) << hash;
  EXPECT_EQ(hash, sha256_file(out("teacher") / "checkpoint/best.safetensors"));
  EXPECT_EQ(TableRun(out("student"), one_thread()).table.teacher, hash);
  EXPECT_EQ(recorded("teacher"), "");
  fs::remove_all(out("teacher"));  // it is needed to train, and not to predict
  EXPECT_NO_THROW(TableRun(out("student"), one_thread()));
}

TEST_F(Distill, ResumeIsRefusedWhenTheTeacherHasChanged) {
  train_teacher({"gate.unit=none"});
  const Config config = student({"gate.target_active=0.25"});
  train(config, out("whole"));
  Watcher stopped;
  stopped.stop_at = 20;
  ASSERT_FALSE(train(config, out("parts"), stopped));

  const fs::path weights = out("teacher") / "checkpoint/best.safetensors";
  const std::string good = read_file(weights);
  TensorFile file = load_tensors(weights);
  file.tensors.at("head.bias").add_(0.25);
  file.metadata.erase("sha256");
  save_tensors(weights, file.tensors, file.metadata);
  ASSERT_NO_THROW(TableRun(out("teacher"), one_thread()));  // another teacher, and a sound one
  Watcher refused;
  const std::string message = message_of<UserError>([&] { train(config, out("parts"), refused, true); });
  EXPECT_TRUE(contains(message, "--resume")) << message;
  EXPECT_TRUE(refused.steps.empty());

  write_file_atomically(weights, good);
  Watcher resumed;
  ASSERT_TRUE(train(config, out("parts"), resumed, true));
  EXPECT_EQ(resumed.steps.front(), 21);
  EXPECT_EQ(differences(result_of(out("whole")), result_of(out("parts"))), std::vector<std::string>{});
}

// ---- a teacher with target statistics

EncodedTable in_fold(TableRun& run) {
  const TableDataset& data = run.dataset();
  return encode_rows(data.table, RowEncoder(run.table.schema), data.train, true);
}

TEST_F(Distill, TrainingRowsOfARunHaveStatisticsOutOfFold) {
  train_teacher({"table.statistics=columns", "gate.unit=none"});
  TableRun teacher(out("teacher"), one_thread());
  ASSERT_FALSE(teacher.table.schema.statistics.empty());
  const EncodedTable honest = teacher.encoded(Split::train), leaking = in_fold(teacher);
  EXPECT_EQ(honest.row_numbers, leaking.row_numbers);
  EXPECT_EQ(honest.labels, leaking.labels);
  EXPECT_EQ(honest.codes, leaking.codes);
  ASSERT_EQ(honest.slope_slots, leaking.slope_slots);
  ASSERT_EQ(honest.slopes.size(), leaking.slopes.size());
  int64_t equal_inputs = 0, other_statistics = 0;
  for (size_t i = 0; i < honest.slopes.size(); ++i) {
    const bool statistic = static_cast<int64_t>(i) % honest.slope_slots >= honest.code_slots;
    const bool same = honest.slopes[i] == leaking.slopes[i];
    equal_inputs += !statistic && same ? 1 : 0;
    other_statistics += statistic && !same ? 1 : 0;
  }
  EXPECT_EQ(equal_inputs, honest.rows() * honest.code_slots);
  EXPECT_GT(other_statistics, honest.rows() * (honest.slope_slots - honest.code_slots) / 2);
  // Rows that were not trained on have the statistics of all training rows.
  const TableDataset& data = teacher.dataset();
  EXPECT_EQ(teacher.encoded(Split::valid).slopes,
            encode_rows(data.table, RowEncoder(teacher.table.schema), data.valid, true).slopes);
}

// What a new model of the run's configuration says of the run's training rows, before the first step: log-probabilities.
torch::Tensor first_words(TableRun& run) {
  const torch::NoGradGuard no_grad;
  const auto model = TableModality().make_model(run.table, run.config, static_cast<uint64_t>(run.config.train.seed));
  place(*model, torch::kCPU, torch::kFloat64);
  model->train();
  const TableTensors rows(run.encoded(Split::train), torch::kCPU, torch::kFloat64);
  const auto batch = rows.range(0, rows.rows());
  GatePass pass(GateState{}, 0, 0, batch->example_ids);
  return log_probabilities(model->forward(*batch, pass));
}

// A student that learns from nothing else, all rows in one step: its first loss tells which soft labels it was given.
TEST_F(Distill, SoftLabelsComeThroughStatisticsOutOfFold) {
  train_teacher({"table.statistics=columns", "gate.unit=none", "train.lr=0.02"});
  Watcher watcher;
  ASSERT_TRUE(train(student({"distill.weight=1", "gate.unit=none", "model.dropout=0", "model.interface_dropout=0",
                             "train.batch=1000", "train.epochs=1", "train.precision=float64"}),
                    out("student"), watcher));
  TableRun teacher(out("teacher"), one_thread()), taught(out("student"), one_thread());
  const torch::Tensor said = first_words(taught);
  const auto loss_with = [&](const EncodedTable& encoded) {
    const TableTensors rows(encoded, torch::kCPU, dtype_of(teacher.config.train.precision));
    const Predictions p = predict_table(*teacher.model, teacher.gate_state, rows, teacher.table.schema);
    const torch::Tensor wanted = at::tensor(p.probabilities, torch::kFloat64).view({p.size(), 1, p.class_count()});
    return -(wanted * said).sum(2).mean().item<double>();
  };
  const double honest = loss_with(teacher.encoded(Split::train)), leaking = loss_with(in_fold(teacher));
  EXPECT_GT(std::abs(honest - leaking), 1e-6) << "else this test could not tell";
  ASSERT_FALSE(watcher.losses.empty());
  EXPECT_NEAR(watcher.losses.front(), honest, 1e-9);
}

}  // namespace
}  // namespace l0gm
