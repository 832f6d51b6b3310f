#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compact/compaction.h"
#include "runtime/predictor.h"
#include "training/modality.h"

// What each modality brings for compact files and for serving, as an explicit list: compact_run(compact_kinds(), …).
namespace l0gm {

// How a predictor is opened.
struct PredictorOptions {
  std::optional<bool> calibrated;  // unset: where validation rows say that it helps
  Machine machine;
  std::filesystem::path context;  // what rows refer to, where they do: a graph (its configuration or file); empty: none is needed
};

struct CompactKind {
  const Modality* modality = nullptr;
  std::function<std::unique_ptr<Compaction>(const std::filesystem::path& run, const CompactOptions& options)> compaction;
  // A run's own model through LibTorch.
  std::function<std::unique_ptr<Predictor>(const std::filesystem::path& run, const PredictorOptions& options)> run_predictor;
  // A compact file that the runtime without LibTorch does not serve: its kind, and what serves it. Empty: there is none.
  std::string file_kind;
  std::function<std::unique_ptr<Predictor>(const std::filesystem::path& file, const PredictorOptions& options)> file_predictor;
  bool needs_context = false;  // rows refer to something that is given beside them
};
using CompactKinds = std::vector<CompactKind>;

// The product's list. A new modality is an entry in compact_kinds.cpp.
const CompactKinds& compact_kinds();

Modalities modalities_of(const CompactKinds& kinds);
const CompactKind& kind_of_run(const CompactKinds& kinds, std::string_view modality);

// The predictor of a path: a run's folder, or a compact file by its kind.
std::unique_ptr<Predictor> open_predictor(const CompactKinds& kinds, const std::filesystem::path& model,
                                          const PredictorOptions& options);
// Whether rows of this model refer to something that is given beside them (PredictorOptions::context).
bool needs_context(const CompactKinds& kinds, const std::filesystem::path& model);

}  // namespace l0gm
