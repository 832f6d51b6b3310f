#pragma once

#include <filesystem>
#include <memory>

#include "run/run_folder.h"
#include "training/modality.h"

// The folder that a training writes into: a new one, or, where an interrupted run goes on, the one that is there.
namespace l0gm {

// Of a run that is resumed; nullptr: there is none.
std::unique_ptr<Record> stored_record(const Modality& modality, const std::filesystem::path& out, bool resume);

// A new folder with configuration and record in it, locked; or, with `resume`, the one that is there: UserError unless it is of
// the same configuration and data.
RunFolder open_folder(const Modality& modality, const Config& config, const std::filesystem::path& out, bool resume,
                      const Record& record, const Machine& machine);

}  // namespace l0gm
