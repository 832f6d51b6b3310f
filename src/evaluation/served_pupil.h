#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "run/evaluation.h"
#include "training/config.h"

namespace l0gm {

// A trained pupil as it is served: its compact file, the microseconds of a row on this machine, and what it lost against its
// teacher.
struct ServedPupil {
  nlohmann::json json;
  std::string text;
};
// Writes RUN/served.l0gm and its card. `config`, `pupil`: of the teacher's run and of its pupil's.
ServedPupil serve_pupil(const std::filesystem::path& run, const Evaluation& of_teacher, const Evaluation& of_pupil,
                        const Config& config, const Config& pupil);

}  // namespace l0gm
