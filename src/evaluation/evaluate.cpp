#include "evaluation/evaluate.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/progress.h"
#include "evaluation/stored_evaluation.h"
#include "l0gm/error.h"
#include "metrics/scores.h"
#include "training/gate_report.h"

namespace l0gm {

namespace fs = std::filesystem;

namespace {

// Validation rows are those that calibrators are fitted to.
CalibratedBy calibrated_by(Split split) { return split == Split::valid ? CalibratedBy::cross_fit : CalibratedBy::stored; }

RobustnessReport judge_perturbed(Run& run, Split split, const EvaluateOptions& options) {
  std::map<std::string, ConditionFigures> conditions;
  Progress progress("perturbed copies", std::ssize(perturbations()), {"copies"});
  for (const Perturbation& perturbation : perturbations()) {
    progress.update(std::ssize(conditions), perturbation.name);
    const PerturbedPredictions perturbed = run.predict_perturbed(split, perturbation, options.keep_perturbed);
    if (options.keep_predictions) {
      const std::string file = fmt::format("{}-{}.csv", name_of_enum(split), perturbation.name);
      write_predictions(run.folder.predictions(split).parent_path() / file, perturbed.predictions);
    }
    conditions[perturbation.name] = condition_figures(perturbed.predictions, perturbed.sha256);
  }
  return robustness_report(std::move(conditions));
}

nlohmann::json read_perturbed_record(const fs::path& path) {
  if (!fs::exists(path)) {
    throw UserError(
        fmt::format("{} does not exist: these predictions are not known to be of perturbed copies. Export with `l0gm data "
                    "export --perturb` and let the peer predict that folder (peers/README.md), or leave out --perturb.",
                    path.string()));
  }
  const nlohmann::json record = nlohmann::json::parse(read_file(path), nullptr, false);
  const bool good = record.is_object() && record.contains("conditions") && record["conditions"].is_object();
  if (!good) {
    throw UserError(
        fmt::format("{} is damaged: wanted a JSON object with \"conditions\". Copy it from the export again.", path.string()));
  }
  for (const auto& [name, condition] : record["conditions"].items()) {
    if (condition.is_object() && condition.contains("sha256") && condition["sha256"].is_string()) continue;
    throw UserError(
        fmt::format("{} is damaged: condition '{}' has no \"sha256\". Copy it from the export again.", path.string(), name));
  }
  return record;
}

RobustnessReport judge_perturbed_predictions(const fs::path& folder, Split split_kind) {
  const std::string split(name_of_enum(split_kind));
  if (!fs::is_directory(folder)) {
    throw UserError(
        fmt::format("--perturb wants a folder with predictions/{}-<condition>.csv and perturbed.json, found the file {}. Give "
                    "the folder, or leave out --perturb.",
                    split, folder.string()));
  }
  const nlohmann::json record = read_perturbed_record(folder / "perturbed.json");
  const Predictions plain = read_predictions(folder / "predictions" / (split + ".csv"));
  std::map<std::string, ConditionFigures> conditions;
  std::vector<std::string> absent;
  for (const Perturbation& perturbation : perturbations()) {
    const fs::path file = folder / "predictions" / fmt::format("{}-{}.csv", split, perturbation.name);
    if (!record["conditions"].contains(perturbation.name) || !fs::exists(file)) {
      absent.push_back(perturbation.name);
      continue;
    }
    const Predictions predictions = read_predictions(file);
    if (predictions.rows != plain.rows || predictions.labels != plain.labels) {
      throw UserError(
          fmt::format("{} has other rows or labels than {}.csv beside it: it is no perturbed copy of these rows. Predict both "
                      "from one export.",
                      file.string(), split));
    }
    const std::string sha256 = record["conditions"][perturbation.name]["sha256"];
    conditions[perturbation.name] = condition_figures(predictions, sha256);
  }
  if (conditions.empty()) {
    throw UserError(
        fmt::format("{} has no {}-<condition>.csv. Export with `l0gm data export --perturb` and let the peer predict that "
                    "folder, or leave out --perturb.",
                    (folder / "predictions").string(), split));
  }
  RobustnessReport report = robustness_report(std::move(conditions));
  if (!absent.empty()) report.missing_conditions = absent;
  return report;
}

RunFacts facts_of(const Run& run) {
  const nlohmann::json summary = run.folder.read_json(run.folder.summary());
  try {
    RunFacts facts{run.record().dataset,
                   run.config.train.seed,
                   summary.value("projected_units", int64_t{0}),
                   summary.value("converged", true),
                   {},
                   {},
                   {},
                   {}};
    const bool chosen = run.config.gate.unit != UnitKind::none && run.config.gate.logits != LogitKind::fixed &&
                        run.config.gate.control != ControlKind::lambda;
    if (chosen && summary.contains("late_changes")) {
      facts.late_changes = summary.at("late_changes").get<int64_t>();
      facts.logit_spread = summary.at("logit_spread").get<double>();
    }
    if (summary.contains("nonzero_weights")) {
      facts.nonzero_weight_fraction =
          summary.at("nonzero_weights").get<double>() / std::max(1.0, summary.at("prunable_weights").get<double>());
    }
    if (summary.contains("exchanges")) {
      facts.exchanges.emplace();
      for (const nlohmann::json& item : summary.at("exchanges")) {
        facts.exchanges->push_back({item.at("open").get<std::string>(), item.at("closed").get<std::string>(),
                                    item.at("rise").get<double>(), item.at("error").get<double>()});
      }
    }
    return facts;
  } catch (const nlohmann::json::exception& error) {
    throw UserError(fmt::format("{} is damaged: {}", run.folder.summary().string(), error.what()));
  }
}

Evaluation compute(Run& run, Split split, const EvaluateOptions& options) {
  const Predictions predictions = run.predict(split);
  Evaluation evaluation;
  evaluation.nouns = run.nouns();
  evaluation.summary = metrics_summary(predictions, run.calibrator, calibrated_by(split));
  evaluation.gates = run.gates(split);
  evaluation.inputs = run.inputs(split);
  const Record& record = run.record();
  if (!record.planted.empty() && evaluation.inputs) {
    evaluation.planted = compare_with_planted(record.planted, evaluation.inputs->open);
  }
  run.add_figures(split, evaluation);
  evaluation.facts = facts_of(run);
  write_predictions(run.folder.predictions(split), predictions);
  if (!fs::exists(run.folder.gates())) keep_units(run.folder, *run.model, run.gate_state);  // of a run that an older version made
  if (options.perturb) evaluation.robustness = judge_perturbed(run, split, options);
  return evaluation;
}

}  // namespace

Evaluation evaluate_run(const Modalities& modalities, const fs::path& path, Split split, const Machine& machine,
                        const EvaluateOptions& options) {
  const RunFolder folder = RunFolder::open(path);
  folder.require_finished();
  std::optional<Evaluation> evaluation;
  const bool writes = options.keep_perturbed || options.keep_predictions;
  if (!options.again && !writes) evaluation = stored_evaluation(folder, split, machine, options.perturb);
  if (!evaluation) {
    const std::unique_ptr<Run> run = open_run(modalities, path, machine);
    if (options.keep_perturbed && !run->keeps_perturbed_files()) {
      throw UserError(
          fmt::format("--keep-perturbed writes files; perturbed {} of this run are not files. Leave it out.", run->nouns().rows));
    }
    const std::optional<Evaluation> before = stored_evaluation(folder, split, machine, true);
    const nlohmann::json stamps = data_stamps(*run);
    evaluation = compute(*run, split, options);
    Evaluation kept = *evaluation;
    if (!kept.robustness && before) kept.robustness = before->robustness;  // of the same weights and data
    store_evaluation(*run, split, kept, stamps);
  }
  evaluation->run = path.string();
  evaluation->split = name_of_enum(split);
  return *evaluation;
}

Evaluation evaluate_file(const Modalities& modalities, const fs::path& path, const fs::path& file, const Machine& machine) {
  if (!RunFolder::is_run(path))
    throw UserError(fmt::format("--data judges a run on another file, and {} is no run", path.string()));
  const std::unique_ptr<Run> run = open_run(modalities, path, machine);
  const std::optional<Predictions> predictions = run->predict_file(file);
  if (!predictions) {
    throw UserError(
        fmt::format("--data: only runs on tables are judged on another file so far; {} is another kind. Predict the file "
                    "and give `eval` the predictions with their labels.",
                    path.string()));
  }
  Evaluation evaluation;
  evaluation.nouns = run->nouns();
  evaluation.summary = metrics_summary(*predictions, run->calibrator, CalibratedBy::stored);
  evaluation.facts = facts_of(*run);
  evaluation.run = path.string();
  evaluation.split = file.string();
  return evaluation;
}

Evaluation evaluate_predictions(const fs::path& path, Split split, CalibratorKind calibrator, const EvaluateOptions& options) {
  const bool folder = fs::is_directory(path);
  const fs::path file = folder ? path / "predictions" / (std::string(name_of_enum(split)) + ".csv") : path;
  const fs::path valid = file.parent_path() / "valid.csv";
  const Predictions predictions = read_predictions(file);
  const bool calibrated = folder && fs::exists(valid);
  Evaluation evaluation;
  const Predictions validation = calibrated ? read_predictions(valid) : Predictions{};
  if (calibrated && split == Split::valid && labelled_rows(validation) > 0) {
    evaluation.summary = metrics_summary(predictions, fit_calibrator(validation, calibrator), CalibratedBy::cross_fit);
  } else {
    evaluation.summary = metrics_summary(predictions, calibrated && split != Split::valid ? &validation : nullptr, calibrator);
  }
  evaluation.run = path.string();
  if (folder) evaluation.split = name_of_enum(split);
  if (options.perturb) evaluation.robustness = judge_perturbed_predictions(path, split);
  return evaluation;
}

Evaluation evaluate(const Modalities& modalities, const fs::path& path, Split split, const Machine& machine,
                    const EvaluateOptions& options) {
  if (!fs::exists(path)) throw UserError(fmt::format("{} does not exist", path.string()));
  if (RunFolder::is_run(path)) return evaluate_run(modalities, path, split, machine, options);
  const std::string file = std::string(name_of_enum(split)) + ".csv";
  if (fs::is_regular_file(path) || fs::exists(path / "predictions" / file)) {
    return evaluate_predictions(path, split, CalibratorKind::temperature, options);
  }
  throw UserError(fmt::format("{} is neither a run (no run.json) nor predictions (no predictions/{})", path.string(), file));
}

}  // namespace l0gm
