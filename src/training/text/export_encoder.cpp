#include "training/text/export_encoder.h"

#include <fmt/format.h>

#include "base/files.h"
#include "encoders/text/load_encoder.h"
#include "encoders/text/text_encoder.h"
#include "l0gm/error.h"
#include "training/text/text_modality.h"
#include "training/text/text_run.h"

namespace l0gm {

namespace fs = std::filesystem;

void export_encoder(const fs::path& path, const fs::path& folder, const Machine& machine) {
  if (const std::string modality = RunFolder::open(path).modality(); modality != TextModality().name()) {
    throw UserError(
        fmt::format("{} is a run of the modality {}; an encoder is exported from one on texts", path.string(), modality));
  }
  if (fs::exists(folder) && (!fs::is_directory(folder) || !fs::is_empty(folder)))
    throw UserError(fmt::format("{} has something in it; name a new folder", folder.string()));
  const TextRun run(path, machine);
  auto& encoder = dynamic_cast<TextEncoder&>(run.model->encoder());
  // The reference library knows no layers of different shapes: closed heads and neurons stay, and say nothing.
  encoder.narrow_structure(run.gate_state, /*same_shape=*/true);
  save_encoder(encoder.transformer(), folder);
  write_file_atomically(folder / "tokenizer.json", run.text.tokenizer->json());
}

}  // namespace l0gm
