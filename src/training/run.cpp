#include "training/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "l0gm/error.h"
#include "l0gm/gate_control.h"
#include "model/tensor_file.h"

namespace l0gm {

Run::Run(const Modality& modality, const std::filesystem::path& path, const Machine& its_machine)
    : folder(RunFolder::open(path)), machine(its_machine) {
  folder.require_finished();
  const std::string found = folder.modality();
  if (!found.empty() && found != modality.name()) {
    throw UserError(fmt::format("{} is a run on a {}, and a {}'s is wanted here", path.string(), found, modality.name()));
  }
  config = read_run_config(modality, folder.config());
}

void Run::load_weights() {
  place(*model, machine.device, dtype_of(config.train.precision));
  copy_into(load_tensors(folder.best()).tensors, model->state(), folder.best().string());
  model->eval();
  gate_state = final_state(config, *model);
  const nlohmann::json summary = folder.read_json(folder.summary());
  if (!summary.contains("calibrator")) throw UserError(folder.summary().string() + " is damaged: it names no calibrator");
  calibrator = Calibrator::from_json(summary["calibrator"]);
}

const Modality& modality_of_run(const Modalities& modalities, const RunFolder& folder) {
  const std::string name = folder.modality();
  if (!name.empty()) return modality_named(modalities, name);
  return modality_of(modalities, read_config(modalities, folder.config(), {}).data);  // written before runs said it
}

std::unique_ptr<Run> open_run(const Modalities& modalities, const std::filesystem::path& path, const Machine& machine) {
  return modality_of_run(modalities, RunFolder::open(path)).open(path, machine);
}

GateState final_state(const Config& config, const Model& model) {
  return GateControl(config.gate, model.sites()).state(Schedule(config.schedule).at(1));
}

torch::Dtype dtype_of(Precision precision) { return precision == Precision::float64 ? torch::kFloat64 : torch::kFloat32; }

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

}  // namespace l0gm
