#include "training/pupil.h"

#include <fmt/format.h>

#include "l0gm/error.h"
#include "run/run_folder.h"

namespace l0gm {

std::filesystem::path pupil_folder(const std::filesystem::path& run) { return run / "pupil"; }

// One hidden layer of 31 units, which together with the linear term are 32 numbers per folded row: two cache lines. Nothing to
// look up: statistics cost more when served than all the rest.
std::vector<std::string> pupil_assignments(const ServeOptions& options, const std::filesystem::path& teacher) {
  std::vector<std::string> assignments = {"serve.pupil=false",    "serve.settings={}",
                                          "model.name=wide-deep", "model.members=1",
                                          "model.hidden=31",      "model.depth=1",
                                          "model.init_from=",     "table.statistics=none",
                                          "table.trees=off",      "distill.from=" + std::filesystem::absolute(teacher).string(),
                                          "distill.dense=off",    "distill.settings={}",
                                          "distill.weight=0.7",   "distill.temperature=1"};
  for (const auto& [key, value] : options.settings) {
    if (key.starts_with("data.") || key.starts_with("serve.") || key == "distill.from" || key == "distill.dense" ||
        key == "train.seed") {
      throw UserError(fmt::format(
          "serve.settings names {}: a pupil is of the teacher's data, rows and seed. Leave it out, or train with distill.from.",
          key));
    }
    assignments.push_back(fmt::format("{}={}", key, value));
  }
  return assignments;
}

std::filesystem::path served_run(const Modalities& modalities, const std::filesystem::path& run) {
  const std::filesystem::path pupil = pupil_folder(run);
  if (!RunFolder::is_run(pupil)) {
    const RunFolder folder = RunFolder::open(run);
    if (read_run_config(modality_named(modalities, folder.modality()), folder.config()).serve.pupil) {
      throw UserError(fmt::format(
          "{} was to have a pupil (serve.pupil = true), and its training ended before that. Repeat the training command with "
          "--resume, or take the large model with --teacher.",
          run.string()));
    }
    return run;
  }
  RunFolder::open(pupil).require_finished();
  return pupil;
}

}  // namespace l0gm
