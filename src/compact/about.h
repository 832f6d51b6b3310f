#pragma once

#include <nlohmann/json.hpp>

#include "training/run.h"

// What every compact file says of the run that it was made of.
namespace l0gm {

// Provenance: program, dataset and its files, seed, model.
nlohmann::json about_run(const Run& run);
// What the gates leave open; `examples`: a pass over some rows, needed where gates depend on the row.
nlohmann::json about_gate(const Run& run, const GatePass* examples);

}  // namespace l0gm
