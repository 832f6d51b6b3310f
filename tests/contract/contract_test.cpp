#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <sstream>

#include "base/csv.h"
#include "base/files.h"
#include "base/text.h"
#include "compact/compact_run.h"
#include "compact/parity.h"
#include "contract/toy_compaction.h"
#include "evaluation/evaluate.h"
#include "l0gm/error.h"
#include "runtime/container.h"
#include "serving/predict_file.h"
#include "support/temporary_folder.h"
#include "training/modalities.h"
#include "training/train.h"

// What every modality does by the same calls: train, resume, eval, perturb, compact, predict. The toy's files are its own; src/
// knows nothing of it.
namespace l0gm {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing_tools::kinds_with_toy;
using testing_tools::modalities_with_toy;

constexpr double wanted_active = 0.25;
constexpr double float32_gap = 1e-5;

struct Subject {
  std::string name, modality, file_kind, config;
  std::string foreign, reader;       // an option that nothing reads here, and who would
  std::vector<std::string> rows;     // to predict, below a header; empty: those of the made data
  std::vector<std::string> figures;  // of its own, beside those that all have
  friend std::ostream& operator<<(std::ostream& out, const Subject& subject) { return out << subject.name; }
};

std::vector<Subject> subjects() {
  const std::string graph =
      "[data]\nsource = 'planted-graph'\nrows = 240\n[model]\nname = 'gcn'\nhidden = 12\ndropout = 0.1\ninterface_dropout = 0.1\n"
      "[train]\nepochs = 12\nlr = 0.02\nevaluate_every = 4\ncheckpoint_every = 2\nema = 0.5\n";
  return {
      {"toy",
       "toy",
       "toy",
       "[data]\nsource = 'toy'\nrows = 300\n[model]\nwidth = 16\nhidden = 8\ndepth = 1\n[train]\nepochs = 8\nlr = 0.02\n",
       "graph.norm=batch",
       "a graph",
       {},
       {"mean_margin"}},
      {"table",
       "table",
       "table",
       "[data]\nsource = 'planted-table'\nrows = 600\n[model]\nname = 'mlp'\nwidth = 4\nhidden = 16\ndepth = 1\n"
       "members = 1\n[train]\nepochs = 6\nbatch = 64\n",
       "graph.norm=batch",
       "a graph",
       {},
       {}},
      {"nodes", "graph", "graph", graph, "fm.weighted=false", "a table", {}, {"nodes", "attributes"}},
      {"links",
       "graph",
       "graph",
       graph + "[graph]\ntask = 'links'\n",
       "table.min_count=3",
       "a table",
       {"from,to", "3,9", "0,1", "17,200", "5,5", "239,4", "9,3", "100,101"},
       {"mrr", "hits_10"}},
      {"texts",
       "text",
       "text",
       "[data]\nsource = 'planted-text'\nrows = 300\n[encoder]\nwidth = 16\ndepth = 1\nheads = 2\nffn = 24\nvocabulary = 200\n"
       "max_tokens = 48\n[train]\nepochs = 8\nbatch = 32\nlr = 0.005\nema = 0.5\n",
       "graph.norm=batch",
       "a graph",
       {},
       {"max_tokens", "truncated_share"}}};
}

// As a kill: by an exception in the middle of a run.
class Killer : public Observer {
 public:
  struct Killed {};
  void step_finished(int64_t step, int64_t, double) override {
    if (first_step < 0) first_step = step;
    if (step == kill_at) throw Killed();
  }
  int64_t kill_at = -1, first_step = -1;
};

double largest_gap(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.empty() || a.size() != b.size()) return INFINITY;
  return largest_difference(a, b).difference;
}

class Contract : public testing::TestWithParam<Subject> {
 protected:
  const Modality& modality() const { return modality_named(modalities_with_toy(), GetParam().modality); }
  Config config(const std::vector<std::string>& further = {}) const {
    std::vector<std::string> assignments = {fmt::format("gate.target_active={}", wanted_active)};
    assignments.insert(assignments.end(), further.begin(), further.end());
    return read_config(modalities_with_toy(), folder_.write("run.toml", GetParam().config), assignments);
  }
  bool train_into(const fs::path& out, Observer* observer = nullptr, bool resume = false) const {
    const std::atomic<bool> stop{false};
    std::vector<Observer*> observers;
    if (observer != nullptr) observers.push_back(observer);
    return train(modalities_with_toy(), config(), out, resume, machine(), observers, stop);
  }
  fs::path trained() const {
    const fs::path run = folder_.path() / "run";
    EXPECT_TRUE(train_into(run));
    return run;
  }
  static Machine machine() { return prepare_machine("cpu", 1, false); }
  Evaluation judged(const fs::path& run, Split split, const EvaluateOptions& options = {}) const {
    return evaluate(modalities_with_toy(), run, split, machine(), options);
  }
  fs::path compacted(const fs::path& run, json* result = nullptr) const {
    const fs::path file = folder_.path() / "model.l0gm";
    CompactOptions options;
    options.generated_rows = 200;
    const CompactResult made = compact_run(kinds_with_toy(), run, file, options);
    if (result != nullptr) *result = made.json;
    return file;
  }
  // What a predictor says of rows (with a header), written to a file and read back: [rows, classes].
  std::vector<double> predicted(const Predictor& predictor, const std::vector<std::string>& lines) const {
    const fs::path input = folder_.write("rows.csv", join(lines, "\n") + "\n"), output = folder_.path() / "predictions.csv";
    const json report = predict_file(predictor, input, output, {});
    EXPECT_EQ(report["rows"].get<size_t>(), lines.size() - 1);
    const TextTable table = read_csv(output, {});
    EXPECT_EQ(table.rows(), std::ssize(lines) - 1);
    const auto named = static_cast<int64_t>(predictor.columns_name_rows() ? predictor.columns().size() : 1);
    std::vector<double> probabilities;
    for (int64_t row = 0; row < table.rows(); ++row) {
      std::string cells(table.cell(row, 0));
      for (int64_t c = 1; c < named; ++c) cells += "," + std::string(table.cell(row, c));
      EXPECT_EQ(cells, predictor.columns_name_rows() ? lines[static_cast<size_t>(row) + 1] : std::to_string(row));
      double sum = 0;
      for (int64_t c = named + 1; c < table.columns(); ++c) {
        probabilities.push_back(parse_double(table.cell(row, c)).value());
        sum += probabilities.back();
      }
      EXPECT_NEAR(sum, 1, 1e-4);
    }
    EXPECT_EQ(probabilities.size(), static_cast<size_t>(table.rows()) * predictor.classes().size());
    return probabilities;
  }
  TemporaryFolder folder_;
};

TEST_P(Contract, TrainsIntoARunThatSaysItsModality) {
  const fs::path path = trained();
  EXPECT_EQ(RunFolder::open(path).modality(), GetParam().modality);
  const auto run = open_run(modalities_with_toy(), path, machine());
  const json record = run->record().to_json();
  EXPECT_EQ(modality().read_record(json::parse(record.dump()))->to_json(), record);
  EXPECT_EQ(run->record().class_names().size(), run->record().rows_of_classes().size());
  EXPECT_FALSE(run->record().label().empty());
  Config settled = config();
  modality().settle(settled, run->record());
  EXPECT_EQ(to_toml(run->config), to_toml(settled));
  for (const Split split : {Split::train, Split::valid, Split::test}) {
    if (split == Split::train && GetParam().name == "links") continue;  // messages pass over training links
    const Predictions predictions = run->predict(split);
    EXPECT_GT(predictions.size(), 0);
    EXPECT_EQ(predictions.classes, run->record().class_names());
    EXPECT_NO_THROW(check_predictions(predictions));
  }
}

TEST_P(Contract, ARunThatWasKilledEndsAsAnUndisturbedOne) {
  const fs::path whole = folder_.path() / "whole", killed = folder_.path() / "killed";
  ASSERT_TRUE(train_into(whole));
  Killer killer;
  killer.kill_at = json::parse(read_file(whole / "summary.json"))["steps"].get<int64_t>() / 2 + 1;
  EXPECT_THROW(train_into(killed, &killer), Killer::Killed);
  Killer witness;
  ASSERT_TRUE(train_into(killed, &witness, true));
  EXPECT_GT(witness.first_step, 1);  // it went on and did not begin again
  EXPECT_LE(witness.first_step, killer.kill_at);
  for (const char* file : {"checkpoint/best.safetensors", "checkpoint/state.safetensors", "predictions/valid.csv"}) {
    EXPECT_TRUE(read_file(whole / file) == read_file(killed / file)) << file;
  }
}

TEST_P(Contract, IsEvaluated) {
  const fs::path run = trained();
  for (const Split split : {Split::valid, Split::test}) {
    SCOPED_TRACE(name_of_enum(split));
    const Evaluation evaluation = judged(run, split);
    EXPECT_GT(evaluation.summary.rows, 0);
    for (const Measures& figures : {evaluation.summary.raw, evaluation.summary.calibrated}) {
      for (const double figure : {figures.accuracy, figures.auc, figures.nll, figures.brier, figures.macro_f1}) {
        EXPECT_TRUE(std::isfinite(figure));
      }
    }
    EXPECT_TRUE(std::isfinite(evaluation.summary.main_ece().value));
    ASSERT_TRUE(evaluation.gates && evaluation.facts);
    EXPECT_NEAR(evaluation.gates->active_fraction, wanted_active, 0.01);
    EXPECT_NEAR(evaluation.gates->active_cost_fraction, wanted_active, 0.01);
    EXPECT_GT(evaluation.gates->units, evaluation.gates->open_units);
    EXPECT_LT(evaluation.gates->parameters, evaluation.gates->parameters_dense);
    EXPECT_EQ(evaluation.facts->seed, 0);
    EXPECT_EQ(evaluation.split, std::string(name_of_enum(split)));
    for (const std::string& figure : GetParam().figures) EXPECT_TRUE(evaluation.further.contains(figure)) << figure;
    const json told = evaluation.to_json();
    const Evaluation again = Evaluation::from_json(json::parse(told.dump()));
    EXPECT_EQ(again.to_json(), told);
    EXPECT_EQ(again.further, evaluation.further);
    EXPECT_EQ(read_predictions(run / "predictions" / (*evaluation.split + ".csv")).size(), evaluation.summary.rows);
  }
}

// A figure is changed in the store: whoever tells the changed one has read it there.
TEST_P(Contract, ASecondEvaluationComesFromTheStore) {
  const fs::path run = trained(), store = run / "evaluation" / "valid.json";
  const double nll = judged(run, Split::valid).summary.raw.nll;
  json stored = json::parse(read_file(store));
  stored["evaluation"]["nll"] = nll + 1;
  write_file_atomically(store, stored.dump());
  EXPECT_EQ(judged(run, Split::valid).summary.raw.nll, nll + 1);
  EvaluateOptions again;
  again.again = true;
  EXPECT_EQ(judged(run, Split::valid, again).summary.raw.nll, nll);
  EXPECT_EQ(judged(run, Split::valid).summary.raw.nll, nll);
}

TEST_P(Contract, IsJudgedOnPerturbedCopies) {
  const fs::path path = trained();
  EvaluateOptions options;
  options.perturb = true;
  const Evaluation evaluation = judged(path, Split::test, options);
  ASSERT_TRUE(evaluation.robustness);
  const auto& conditions = evaluation.robustness->conditions;
  EXPECT_EQ(conditions.size(), 12u);
  EXPECT_TRUE(std::isfinite(evaluation.robustness->rob_mu.nll));
  std::set<std::string> hashes;
  const auto run = open_run(modalities_with_toy(), path, machine());
  for (const Perturbation& perturbation : perturbations()) {
    SCOPED_TRACE(perturbation.name);
    ASSERT_TRUE(conditions.contains(perturbation.name));
    const ConditionFigures& figures = conditions.at(perturbation.name);
    EXPECT_EQ(figures.sha256.size(), 64u);
    EXPECT_TRUE(std::isfinite(figures.nll) && std::isfinite(figures.accuracy));
    hashes.insert(figures.sha256);
    run->config.train.seed = 0;
    EXPECT_EQ(run->predict_perturbed(Split::test, perturbation, false).sha256, figures.sha256);
    run->config.train.seed = 1;
    const std::string other = run->predict_perturbed(Split::test, perturbation, false).sha256;
    EXPECT_EQ(other == figures.sha256, perturbation.damage == Damage::quantise);  // which draws nothing
  }
  EXPECT_EQ(hashes.size(), 12u);
}

TEST_P(Contract, IsCompactedWithinTheBounds) {
  const fs::path run = trained();
  json result;
  const fs::path file = compacted(run, &result);
  EXPECT_LE(result["parity_float64"].get<double>(), algebra_limit);
  EXPECT_LE(result["parity_float32"].get<double>(), result["parity_float32_limit"].get<double>());
  EXPECT_LE(result["parity_float32_limit"].get<double>(), 1e-4);
  EXPECT_GT(result["rows_checked"].get<int64_t>(), 0);
  EXPECT_EQ(result["bytes"].get<uintmax_t>(), fs::file_size(file));
  EXPECT_LT(result["open_units"].get<int64_t>(), result["units"].get<int64_t>());
  for (const char* split : {"valid", "test"}) EXPECT_TRUE(result["figures"].contains(split)) << split;
  const std::string card = read_file(result["card"].get<std::string>());
  EXPECT_NE(card.find("Largest difference of any class probability"), std::string::npos) << card;
  EXPECT_EQ(Container::kind_of(file), GetParam().file_kind);
  const Container read = Container::read(file);
  EXPECT_EQ(read.kind(), GetParam().file_kind);
  EXPECT_EQ(read.manifest()["about"]["parity"]["rows"], result["rows_checked"]);
}

TEST_P(Contract, TheFileAndTheRunPredictAlike) {
  const fs::path path = trained(), file = compacted(path);
  const bool refers = needs_context(kinds_with_toy(), path);
  EXPECT_EQ(needs_context(kinds_with_toy(), file), refers);
  const fs::path made = folder_.path() / (refers ? "made.safetensors" : "made.csv");
  modality().make_data(config(), made);
  PredictorOptions options{false, machine(), refers ? made : fs::path()};
  const auto of_file = open_predictor(kinds_with_toy(), file, options), of_run = open_predictor(kinds_with_toy(), path, options);
  EXPECT_EQ(of_file->classes(), of_run->classes());
  std::vector<std::string> lines = GetParam().rows;
  const bool all = lines.empty();
  if (all && refers) {
    lines = of_run->known_rows();
    lines.insert(lines.begin(), of_run->columns()[0]);
  } else if (all) {
    std::istringstream text(read_file(made));
    for (std::string line; std::getline(text, line);) lines.push_back(line);
  }
  const std::vector<double> served = predicted(*of_file, lines), exact = predicted(*of_run, lines);
  EXPECT_LE(largest_gap(served, exact), float32_gap);
  const size_t classes = of_run->classes().size();
  if (all) {  // rows are numbered as in the run's data
    const Predictions test = open_run(modalities_with_toy(), path, machine())->predict(Split::test);
    std::vector<double> same;
    for (const int64_t row : test.rows) {
      for (size_t c = 0; c < classes; ++c) same.push_back(exact[static_cast<size_t>(row) * classes + c]);
    }
    EXPECT_LE(largest_gap(same, test.probabilities), float32_gap);
  }
  std::reverse(lines.begin() + 1, lines.end());
  const std::vector<double> backwards = predicted(*of_file, lines);
  ASSERT_EQ(backwards.size(), served.size());
  std::vector<double> turned;
  for (size_t row = backwards.size() / classes; row-- > 0;) {
    for (size_t c = 0; c < classes; ++c) turned.push_back(backwards[row * classes + c]);
  }
  EXPECT_LE(largest_gap(turned, served), float32_gap);
  options.calibrated = true;
  EXPECT_LE(largest_gap(predicted(*open_predictor(kinds_with_toy(), file, options), lines),
                        predicted(*open_predictor(kinds_with_toy(), path, options), lines)),
            float32_gap);
}

TEST_P(Contract, AnUnknownModelIsRefusedWithThoseThereAre) {
  const std::string message = message_of<UserError>([&] { config({"model.name=nonsense"}); });
  EXPECT_NE(message.find("nonsense"), std::string::npos) << message;
  EXPECT_NE(message.find("is a " + GetParam().modality), std::string::npos) << message;
  EXPECT_NE(message.find("take one of " + join(modality().models(), ", ")), std::string::npos) << message;
}

TEST_P(Contract, WhatNothingReadsIsSaid) {
  EXPECT_EQ(unread_options(modality(), config()), std::vector<std::string>{});
  const std::string key = GetParam().foreign.substr(0, GetParam().foreign.find('='));
  EXPECT_EQ(unread_options(modality(), config({GetParam().foreign})),
            std::vector<std::string>{fmt::format("{} has no effect here: it is read for {} only", key, GetParam().reader)});
}

INSTANTIATE_TEST_SUITE_P(Modalities, Contract, testing::ValuesIn(subjects()),
                         [](const auto& subject) { return subject.param.name; });

class Toy : public Contract {};

// Another program, which has no such modality, says so.
TEST_P(Toy, IsUnknownToTheProduct) {
  const fs::path run = trained();
  EXPECT_NE(message_of<UserError>([&] { open_run(modalities(), run, machine()); }).find("'toy' is unknown"), std::string::npos);
  EXPECT_NE(message_of<UserError>([&] { open_predictor(compact_kinds(), compacted(run), {}); }).find("kind 'toy'"),
            std::string::npos);
}

TEST_P(Toy, LearnedBuffersAreInEveryCheckpointAndFile) {
  const fs::path run = trained();
  const torch::Tensor best = load_tensors(run / "checkpoint/best.safetensors").tensors.at("encoder.centre");
  EXPECT_GT(best.abs().min().item<double>(), 0);
  EXPECT_EQ(load_tensors(run / "checkpoint/state.safetensors").tensors.at("model/encoder.centre").numel(), best.numel());
  testing_tools::ToyRun opened(run, machine());
  EXPECT_TRUE(opened.model->encoder().learned_buffers().at("centre").equal(best));
  const testing_tools::ToyFile file = testing_tools::read_toy_file(compacted(run));
  EXPECT_TRUE(file.model->encoder().learned_buffers().at("centre").equal(best));
  EXPECT_EQ(file.model->encoder().width(), 4);  // of 16
}

INSTANTIATE_TEST_SUITE_P(Modalities, Toy, testing::Values(subjects().front()),
                         [](const auto& subject) { return subject.param.name; });

}  // namespace
}  // namespace l0gm
