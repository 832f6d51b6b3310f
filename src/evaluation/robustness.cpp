#include "evaluation/robustness.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/csv.h"
#include "base/files.h"
#include "base/log.h"
#include "data/table/perturb.h"
#include "data/table/source.h"
#include "l0gm/error.h"
#include "metrics/calibration.h"
#include "metrics/scores.h"

namespace l0gm {

namespace {

namespace fs = std::filesystem;

nlohmann::json number(double value) { return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr); }

}  // namespace

nlohmann::json perturbed_figures(const Predictions& predictions, const std::string& sha256) {
  return {{"sha256", sha256},
          {"accuracy", number(accuracy(predictions))},
          {"auc", number(auc(predictions))},
          {"nll", number(nll(predictions))},
          {"ece", number(predictions.class_count() == 2 ? ece_binary(predictions) : ece(predictions))}};
}

nlohmann::json mean_over_conditions(const nlohmann::json& conditions) {
  nlohmann::json means;
  for (const char* measure : {"accuracy", "auc", "nll"}) {
    double sum = 0;
    int64_t count = 0;
    for (const auto& condition : conditions) {
      if (condition[measure].is_null()) continue;
      sum += condition[measure].get<double>();
      ++count;
    }
    means[measure] = number(count > 0 ? sum / static_cast<double>(count) : NAN);
  }
  return means;
}

namespace {

// Removes the copy however its judging ends, and the folder behind the last one.
struct Removed {
  fs::path path;
  bool keep;
  ~Removed() {
    std::error_code ignored;
    if (keep) return;
    fs::remove(path, ignored);
    fs::remove(path.parent_path(), ignored);  // fails, as it should, while there is anything in it
  }
};

Predictions predict_copy(LoadedTable& run, const fs::path& path, const std::vector<int64_t>& row_numbers,
                         const Machine& machine) {
  const TextTable table = read_csv(path, {});
  std::vector<int64_t> rows(static_cast<size_t>(table.rows()));
  std::iota(rows.begin(), rows.end(), int64_t{0});
  EncodedTable encoded = encode_rows(table, RowEncoder(run.table.schema), rows, true);
  encoded.row_numbers = row_numbers;  // of the dataset, not of the copy
  const TableTensors tensors(encoded, machine.device, dtype_of(run.config.train.precision));
  return predict_table(*run.model, run.gate_state, tensors, run.table.schema.classes);
}

nlohmann::json read_record(const fs::path& path) {
  if (!fs::exists(path)) {
    throw UserError(
        fmt::format("{} does not exist: these predictions are not known to be of perturbed copies. Export with `l0gm data export "
                    "--perturb` and let the peer predict that folder (peers/README.md), or leave out --perturb.",
                    path.string()));
  }
  const nlohmann::json record = nlohmann::json::parse(read_file(path), nullptr, false);
  const bool good = record.is_object() && record.contains("conditions") && record["conditions"].is_object();
  if (!good)
    throw UserError(
        fmt::format("{} is damaged: wanted a JSON object with \"conditions\". Copy it from the export again.", path.string()));
  for (const auto& [name, condition] : record["conditions"].items()) {
    if (condition.is_object() && condition.contains("sha256") && condition["sha256"].is_string()) continue;
    throw UserError(
        fmt::format("{} is damaged: condition '{}' has no \"sha256\". Copy it from the export again.", path.string(), name));
  }
  return record;
}

}  // namespace

nlohmann::json judge_perturbed(LoadedTable& run, const std::string& split, const Machine& machine, bool keep_files) {
  const TableDataset data = load_dataset(run);
  const std::vector<int64_t>& rows = split == "valid" ? data.valid : data.test;
  if (rows.empty()) throw UserError(fmt::format("{} has no {} rows", data.name, split));
  const auto seed = static_cast<uint64_t>(run.config.train.seed);
  nlohmann::json conditions = nlohmann::json::object();
  for (const Perturbation& perturbation : perturbations()) {
    const Removed copy{run.folder.path() / "perturbed" / fmt::format("{}-{}.csv", split, perturbation.name), keep_files};
    const Perturber perturber(run.table.schema, data.table.names(), perturbation, seed);
    const std::string sha256 = write_numbered_rows(data.table, rows, copy.path, &perturber);
    log_info(fmt::format("{}: {} rows, SHA-256 {}", copy.path.string(), rows.size(), sha256));
    conditions[perturbation.name] = perturbed_figures(predict_copy(run, copy.path, rows, machine), sha256);
  }
  return {{"rob_mu", mean_over_conditions(conditions)}, {"conditions", conditions}};
}

nlohmann::json judge_perturbed_predictions(const fs::path& folder, const std::string& split) {
  if (!fs::is_directory(folder)) {
    throw UserError(fmt::format(
        "--perturb wants a folder with predictions/{}-<condition>.csv and perturbed.json, found the file {}. Give the "
        "folder, or leave out --perturb.",
        split, folder.string()));
  }
  const nlohmann::json record = read_record(folder / "perturbed.json");
  const Predictions plain = read_predictions(folder / "predictions" / (split + ".csv"));
  nlohmann::json conditions = nlohmann::json::object(), absent = nlohmann::json::array();
  for (const Perturbation& perturbation : perturbations()) {
    const fs::path file = folder / "predictions" / fmt::format("{}-{}.csv", split, perturbation.name);
    if (!record["conditions"].contains(perturbation.name) || !fs::exists(file)) {
      absent.push_back(perturbation.name);
      continue;
    }
    const Predictions predictions = read_predictions(file);
    if (predictions.rows != plain.rows || predictions.labels != plain.labels) {
      throw UserError(fmt::format(
          "{} has other rows or labels than {}.csv beside it: it is no perturbed copy of these rows. Predict both from one "
          "export.",
          file.string(), split));
    }
    conditions[perturbation.name] =
        perturbed_figures(predictions, record["conditions"][perturbation.name]["sha256"].get<std::string>());
  }
  if (conditions.empty()) {
    throw UserError(fmt::format(
        "{} has no {}-<condition>.csv. Export with `l0gm data export --perturb` and let the peer predict that folder, or "
        "leave out --perturb.",
        (folder / "predictions").string(), split));
  }
  nlohmann::json result = {{"rob_mu", mean_over_conditions(conditions)}, {"conditions", conditions}};
  if (!absent.empty()) result["missing_conditions"] = absent;
  return result;
}

}  // namespace l0gm
