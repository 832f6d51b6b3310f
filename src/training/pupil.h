#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "training/modality.h"

namespace l0gm {

// A teacher and its pupil: a run, and beside its files in RUN/pupil another one, small and of one member, that learns the first
// one's probabilities. It is the pupil that is served.
std::filesystem::path pupil_folder(const std::filesystem::path& run);
// What the pupil's configuration says in place of the teacher's, as assignments of --set; those of `serve.settings` come last.
std::vector<std::string> pupil_assignments(const ServeOptions& options, const std::filesystem::path& teacher);
// The run that a compact file is made of: the pupil where there is one. UserError where the pupil is not finished, or was wanted
// and is not there.
std::filesystem::path served_run(const Modalities& modalities, const std::filesystem::path& run);

}  // namespace l0gm
