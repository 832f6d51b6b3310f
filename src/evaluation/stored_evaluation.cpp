#include "evaluation/stored_evaluation.h"

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/hash.h"
#include "base/version.h"

namespace l0gm {

namespace fs = std::filesystem;

namespace {

// A file as it lies there; null: it does not.
nlohmann::json stamp_of(const fs::path& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error) return nullptr;
  const auto time = fs::last_write_time(path, error);
  if (error) return nullptr;
  return {{"path", path.string()}, {"size", size}, {"time", time.time_since_epoch().count()}};
}

// The program itself: another build may compute otherwise though version and commit are the same.
nlohmann::json program_stamp() {
  std::error_code error;
  const fs::path path = fs::read_symlink("/proc/self/exe", error);
  return error ? nlohmann::json(nullptr) : stamp_of(path);
}

// What decides on the figures and can be asked without loading the model.
nlohmann::json basis_of(const RunFolder& folder, Split split, const Machine& machine) {
  return {{"l0gm", version},
          {"commit", commit},
          {"program", program_stamp()},
          {"device", machine.device.str()},
          {"config", sha256_file(folder.config())},
          {"schema", sha256_file(folder.schema())},
          {"weights", sha256_file(folder.best())},
          {"summary", sha256_file(folder.summary())},
          {"predictions", fs::exists(folder.predictions(split)) ? sha256_file(folder.predictions(split)) : ""}};
}

}  // namespace

std::optional<Evaluation> stored_evaluation(const RunFolder& folder, Split split, const Machine& machine, bool perturbed) {
  const fs::path path = folder.evaluation(split);
  if (!fs::exists(path) || !fs::exists(folder.best()) || !fs::exists(folder.summary())) return std::nullopt;
  try {
    const nlohmann::json stored = nlohmann::json::parse(read_file(path));
    if (stored.at("basis") != basis_of(folder, split, machine)) return std::nullopt;
    for (const nlohmann::json& file : stored.at("files").get_ref<const nlohmann::json::array_t&>()) {
      if (file.is_null() || stamp_of(file.at("path").get<std::string>()) != file) return std::nullopt;
    }
    Evaluation evaluation = Evaluation::from_json(stored.at("evaluation"));
    if (perturbed && !evaluation.robustness) return std::nullopt;
    if (!perturbed) evaluation.robustness.reset();
    return evaluation;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;  // damaged, or of another version: it is made again
  }
}

nlohmann::json data_stamps(const Run& run) {
  nlohmann::json files = nlohmann::json::array();
  for (const FileStamp& file : run.record().files) files.push_back(stamp_of(file.path));
  return files;
}

void store_evaluation(const Run& run, Split split, const Evaluation& evaluation, const nlohmann::json& stamps) {
  fs::create_directories(run.folder.evaluation(split).parent_path());
  run.folder.write_json(run.folder.evaluation(split), {{"basis", basis_of(run.folder, split, run.machine)},
                                                       {"files", stamps},
                                                       {"evaluation", evaluation.to_json()}});
}

}  // namespace l0gm
