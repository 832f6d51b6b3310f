// The encoder of a finished run for other programs:
//   export_encoder("runs/tickets", "tickets-encoder", machine);
//   AutoModel.from_pretrained("tickets-encoder"), AutoTokenizer.from_pretrained(...)  # in the reference library
#pragma once

#include <filesystem>

#include "training/run.h"

namespace l0gm {

// Writes config.json, model.safetensors (float32) and tokenizer.json; gate and head stay in the run. UserError where the run is
// not one on texts, or the folder has something in it.
void export_encoder(const std::filesystem::path& run, const std::filesystem::path& folder, const Machine& machine);

}  // namespace l0gm
