#include "training/run.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "base/log.h"
#include "l0gm/error.h"
#include "training/graph/graph_run.h"
#include "training/table/table_run.h"
#include "training/trainer.h"

namespace l0gm {

namespace {

// The resolved configurations must agree; the first option that differs is named with both values.
void require_same_config(Config given, const std::filesystem::path& path) {
  if (to_toml(given) == read_file(path)) return;
  Config stored = read_config(path, {});
  const nlohmann::json now = OptionList::of(given).json(), then = OptionList::of(stored).json();
  nlohmann::json keys = now;
  keys.update(then);
  const auto told = [](const nlohmann::json& options, const std::string& key) {
    return options.contains(key) ? options[key].dump() : "unset";
  };
  for (const auto& [key, unused] : keys.items()) {
    if (told(now, key) == told(then, key)) continue;
    throw UserError(fmt::format(
        "--resume: the configuration is not that of {}: {} = {}, there {}. Give the same one, or choose another --out.",
        path.string(), key, told(now, key), told(then, key)));
  }
  throw UserError(
      fmt::format("--resume: {} was written by another version of l0gm, with other options or defaults. Go on with that version, "
                  "or choose another "
                  "--out.",
                  path.string()));
}

// Going on is bit for bit on one machine and thread count; elsewhere it is merely going on.
void warn_of_another_machine(const nlohmann::json& then, const nlohmann::json& now) {
  for (const char* key : {"l0gm", "libtorch", "device", "cpu_capability", "threads"}) {
    if (!then.contains(key) || then[key] == now[key]) continue;
    log_warning(
        fmt::format("--resume: {} is {} now and was {} when the run was started: the result will not be equal bit for bit", key,
                    now[key].dump(), then[key].dump()));
  }
}

// Where gates stand after training. With top-k and no schedule nothing was hardened: the share that may pass still counts.
GateState final_state(const Config& config, const Model& model) {
  return GateControl(config.gate, model.sites()).state(Schedule(config.schedule).at(1));
}

void finish(RunFolder& folder, const Config& config, Task& task, Model& model, const Trainer& trainer, const GateState& state,
            double seconds) {
  const TrainerState& stood = trainer.state();
  const TensorFile best = load_tensors(folder.best());
  copy_into(best.tensors, named(model), folder.best().string());
  const Predictions valid = task.predict(model, state, "valid");
  write_predictions(folder.predictions("valid"), valid);
  const Calibrator calibrator = fit_calibrator(valid, config.train.calibrator);
  folder.write_json(folder.summary(), {{"best_step", stood.best_step},
                                       {"best_valid_nll", stood.best_nll},
                                       {"steps", stood.step},
                                       {"stopped_early", stood.stopped_early},
                                       {"hardened", stood.hardened},
                                       {"projected_units", stood.hardening.projected_units},
                                       {"converged", stood.hardening.converged},
                                       {"calibrator", calibrator.to_json()},
                                       {"seconds", seconds}});
  folder.set_finished();
}

}  // namespace

torch::Dtype dtype_of(Precision precision) { return precision == Precision::float64 ? torch::kFloat64 : torch::kFloat32; }

torch::Tensor balanced_weights(const std::vector<int64_t>& class_rows) {
  const auto rows = static_cast<double>(std::accumulate(class_rows.begin(), class_rows.end(), int64_t{0}));
  std::vector<double> weights;
  for (const int64_t of_class : class_rows) {
    weights.push_back(of_class > 0 ? rows / (static_cast<double>(class_rows.size()) * static_cast<double>(of_class)) : 0);
  }
  return at::tensor(weights, torch::kFloat64);
}

void require_unchanged(const RunFolder& folder, const std::vector<FileStamp>& then, const std::vector<FileStamp>& now) {
  for (size_t i = 0; i < std::max(now.size(), then.size()); ++i) {
    const bool same = i < now.size() && i < then.size() && now[i].sha256 == then[i].sha256;
    if (same) continue;
    const std::string file = i < now.size() ? now[i].path.string() : then[i].path.string();
    throw UserError(
        fmt::format("{} has changed since {} was trained: figures would not belong to that run. Restore the file or train again; "
                    "`l0gm predict` takes any file.",
                    file, folder.path().string()));
  }
}

RunFolder open_run(const Config& config, const std::filesystem::path& out, bool resume, const nlohmann::json& record,
                   const std::function<void(const nlohmann::json& stored)>& require_same_data, const Machine& machine) {
  const std::string toml = to_toml(config);
  if (resume && RunFolder::is_run(out)) {
    RunFolder folder = RunFolder::open(out);
    if (folder.started()) {
      folder.lock();
      require_same_config(config, folder.config());
      require_same_data(folder.read_json(folder.schema()));
      warn_of_another_machine(folder.read_json(folder.environment()), describe_environment(machine, config.train.seed));
      return folder;
    }
  }
  RunFolder folder = RunFolder::create(out);
  folder.lock();
  folder.write_sealed(folder.config(), toml);
  folder.write_sealed(folder.schema(), record.dump(1) + "\n");
  folder.write_json(folder.environment(), describe_environment(machine, config.train.seed));
  return folder;
}

bool fit(RunFolder& folder, const Config& config, const std::shared_ptr<Model>& model, Task& task, bool resume,
         const std::vector<Observer*>& observers, const std::atomic<bool>& stop, std::chrono::steady_clock::time_point start) {
  task.label_smoothing = config.train.label_smoothing;
  Trainer trainer(model, task, config, folder);
  if (!folder.started()) folder.set_started();
  if (resume) trainer.resume();
  if (!trainer.run(observers, stop)) return false;
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  finish(folder, config, task, *model, trainer, final_state(config, *model), seconds.count());
  return true;
}

void load_result(LoadedRun& run, const Machine& machine) {
  place(*run.model, machine.device, dtype_of(run.config.train.precision));
  copy_into(load_tensors(run.folder.best()).tensors, named(*run.model), run.folder.best().string());
  run.model->eval();
  run.gate_state = final_state(run.config, *run.model);
  const nlohmann::json summary = run.folder.read_json(run.folder.summary());
  if (!summary.contains("calibrator")) throw UserError(run.folder.summary().string() + " is damaged: it names no calibrator");
  run.calibrator = Calibrator::from_json(summary["calibrator"]);
}

bool train(const Config& config, const std::filesystem::path& out, bool resume, const Machine& machine,
           const std::vector<Observer*>& observers, const std::atomic<bool>& stop) {
  return is_graph(config) ? train_graph(config, out, resume, machine, observers, stop)
                          : train_table(config, out, resume, machine, observers, stop);
}

}  // namespace l0gm
