#pragma once

#include <fmt/format.h>

#include <string>

#include "base/random.h"
#include "run/evaluation.h"
#include "run/gate_units.h"
#include "run/run_folder.h"

namespace l0gm {

// A finished run as training and evaluation leave it, without either.
struct SampleRun {
  std::string column = "age", dataset = "made", first_class = "no";
  double active = 0.25, auc = 0.9;
  bool gated = true, converged = true, test = true;
  std::string train_file = "/home/somebody/secret/bank.csv";
};

inline Evaluation sample_evaluation(const SampleRun& run) {
  Predictions predictions;
  predictions.classes = {run.first_class, "yes"};
  RandomStream random(7);
  for (int64_t i = 0; i < 400; ++i) {
    const double p = random.uniform();
    predictions.rows.push_back(i);
    predictions.labels.push_back(random.uniform() < p ? 1 : 0);
    predictions.probabilities.insert(predictions.probabilities.end(), {1 - p, p});
  }
  Evaluation evaluation;
  evaluation.summary = metrics_summary(predictions, Calibrator{CalibratorKind::temperature, 1.2, 1, 1, {}, true});
  evaluation.summary.raw.auc = run.auc;
  evaluation.facts = RunFacts{run.dataset, 3, run.converged ? 0 : 12, run.converged, {}, {}, {}};
  evaluation.gates.emplace();
  evaluation.gates->units = 8;
  evaluation.gates->open_units = run.gated ? 2 : 8;
  evaluation.gates->active_fraction = run.gated ? run.active : 1;
  evaluation.gates->test_rule = run.gated ? "threshold" : "none";
  evaluation.inputs = InputReport{2, {{run.column, 2, 1.0, 0.01, 0.02}}};
  evaluation.robustness = robustness_report({{"missing-0.1", {"abc", 0.8, 0.85, 0.5, 0.02}}});
  return evaluation;
}

inline EpochRecord sample_epoch(int64_t epoch, bool gated) {
  EpochRecord record;
  record.step = 10 * epoch;
  record.epoch = epoch;
  record.phase = !gated ? "dense" : epoch < 2 ? "warmup" : epoch < 4 ? "anneal" : "harden";
  record.tau = 0.5;
  record.train_loss = 1.0 / static_cast<double>(epoch);
  record.valid_nll = 1.1 / static_cast<double>(epoch);
  if (gated) record.gates = {gate_histogram("interface", std::vector<double>{0.02, 0.97})};
  return record;
}

inline void make_sample_run(const std::filesystem::path& path, const SampleRun& run) {
  RunFolder folder = RunFolder::create(path, "table");
  folder.write_sealed(folder.config(),
                      fmt::format("[data]\nsource = \"csv\"\ntrain = '{}'\n[schedule]\nkind = \"anneal\"\nwarmup = "
                                  "0.1\nanneal_until = 0.6\n[train]\nseed = 3\n",
                                  run.train_file));
  folder.write_sealed(folder.schema(), "{}\n");
  folder.write_json(folder.environment(), {{"processor", "a processor"}, {"compiler", "/opt/somebody/gcc"}});
  folder.set_started();
  for (int64_t epoch = 1; epoch <= 5; ++epoch) folder.append_metrics(sample_epoch(epoch, run.gated));
  folder.write_json(folder.summary(),
                    {{"best_step", 50}, {"steps", 50}, {"planned_steps", 50}, {"seconds", 1.5}, {"stopped_early", false}});
  if (run.gated) {
    const auto name = [&](int64_t unit) { return fmt::format("{}[{}]", run.column, unit); };
    const SiteUnits units = site_units("interface", "units", name, std::vector<double>{0.02, 0.97}, std::vector<double>{0, 1});
    folder.write_json(folder.gates(), {{"sites", {fields_to_json(units)}}});
  }
  std::filesystem::create_directories(folder.evaluation(Split::test).parent_path());
  const nlohmann::json stored = {{"basis", {}}, {"files", {"/home/somebody"}}, {"evaluation", sample_evaluation(run).to_json()}};
  folder.write_json(folder.evaluation(Split::valid), stored);
  if (run.test) folder.write_json(folder.evaluation(Split::test), stored);
  folder.set_finished();
}

}  // namespace l0gm
