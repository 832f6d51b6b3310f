#include "evaluation/evaluate.h"

#include <fmt/format.h>

#include "evaluation/gate_report.h"
#include "evaluation/planted_report.h"
#include "evaluation/robustness.h"
#include "l0gm/error.h"
#include "metrics/summary.h"
#include "training/table/table_run.h"

namespace l0gm {

namespace fs = std::filesystem;

nlohmann::json evaluate_run(const fs::path& path, const std::string& split, const Machine& machine,
                            const EvaluateOptions& options) {
  const Config config = read_config(RunFolder::open(path).config(), {});
  nlohmann::json result =
      is_graph(config) ? evaluate_graph_run(path, split, machine, options) : evaluate_table_run(path, split, machine, options);
  const nlohmann::json summary = RunFolder::open(path).read_json(path / "summary.json");
  result["projected_units"] = summary.value("projected_units", 0);
  result["converged"] = summary.value("converged", true);
  result["run"] = path.string();
  result["split"] = split;
  result["seed"] = config.train.seed;
  return result;
}

nlohmann::json evaluate_table_run(const fs::path& path, const std::string& split, const Machine& machine,
                                  const EvaluateOptions& options) {
  LoadedTable run = load_table_run(path, machine);
  const EncodedTable rows = load_split(run, split);
  const TableTensors tensors(rows, machine.device, dtype_of(run.config.train.precision));
  const Predictions predictions = predict_table(*run.model, run.gate_state, tensors, run.table.schema.classes);
  write_predictions(run.folder.predictions(split), predictions);
  nlohmann::json result = judge(predictions, run.calibrator);
  result.update(report_gates(run, tensors));
  result["dataset"] = run.table.dataset;
  if (!run.table.planted.empty()) {
    result["planted"] = compare_with_planted(run, tensors, rows, result["open_columns"]);
    result["bayes_auc"] = run.table.bayes_auc;
  }
  if (options.perturb) result.update(judge_perturbed(run, split, machine, options.keep_perturbed));
  return result;
}

nlohmann::json evaluate_predictions(const fs::path& path, const std::string& split, CalibratorKind calibrator,
                                    const EvaluateOptions& options) {
  const bool folder = fs::is_directory(path);
  const fs::path file = folder ? path / "predictions" / (split + ".csv") : path;
  const fs::path valid = file.parent_path() / "valid.csv";
  const Predictions predictions = read_predictions(file);
  const bool calibrated = folder && split != "valid" && fs::exists(valid);
  Predictions validation;
  if (calibrated) validation = read_predictions(valid);
  nlohmann::json result = judge(predictions, calibrated ? &validation : nullptr, calibrator);
  result["run"] = path.string();
  if (folder) result["split"] = split;
  if (options.perturb) result.update(judge_perturbed_predictions(path, split));
  return result;
}

nlohmann::json evaluate(const fs::path& path, const std::string& split, const Machine& machine, const EvaluateOptions& options) {
  if (!fs::exists(path)) throw UserError(fmt::format("{} does not exist", path.string()));
  if (RunFolder::is_run(path)) return evaluate_run(path, split, machine, options);
  if (fs::is_regular_file(path) || fs::exists(path / "predictions" / (split + ".csv"))) {
    return evaluate_predictions(path, split, CalibratorKind::temperature, options);
  }
  throw UserError(fmt::format("{} is neither a run (no run.json) nor predictions (no predictions/{}.csv)", path.string(), split));
}

}  // namespace l0gm
