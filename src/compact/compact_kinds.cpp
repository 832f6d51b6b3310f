#include "compact/compact_kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/log.h"
#include "compact/graph/graph_compaction.h"
#include "compact/graph/graph_predictor.h"
#include "compact/table/run_predictor.h"
#include "compact/table/table_compaction.h"
#include "compact/text/text_compaction.h"
#include "compact/text/text_predictor.h"
#include "l0gm/error.h"
#include "runtime/container.h"
#include "runtime/file_predictor.h"
#include "runtime/text/text_file_predictor.h"
#include "training/modalities.h"
#include "training/run.h"

namespace l0gm {

namespace fs = std::filesystem;

namespace {

int threads_of(const Machine& machine) {
  const auto cores = static_cast<int64_t>(std::thread::hardware_concurrency());
  return static_cast<int>(std::clamp<int64_t>(machine.threads > 0 ? machine.threads : cores, 1, 1024));
}

CompactKind table_kind() {
  CompactKind kind;
  kind.modality = &modality_named(modalities(), "table");
  kind.compaction = [](const fs::path& run, const CompactOptions& options) {
    return std::make_unique<TableCompaction>(run, options);
  };
  kind.run_predictor = [](const fs::path& run, const PredictorOptions& options) {
    return std::make_unique<RunPredictor>(run, options.machine, options.calibrated);
  };
  return kind;
}

CompactKind graph_kind() {
  const auto open = [](const fs::path& model, const PredictorOptions& options) {
    return std::make_unique<GraphPredictor>(model, options);
  };
  return {&modality_named(modalities(), "graph"), make_graph_compaction, open, "graph", open, true};
}

// By the runtime without LibTorch; by LibTorch on a GPU, and where the runtime cannot.
std::unique_ptr<Predictor> open_text_file(const fs::path& path, const PredictorOptions& options) {
  if (options.machine.device.is_cpu()) {
    const Container file = Container::read(path);
    const std::string why = text_obstacle(file);
    if (why.empty()) return std::make_unique<TextFilePredictor>(file, options.calibrated, threads_of(options.machine));
    log_info(fmt::format("{} is served with LibTorch: {}", path.string(), why));
  }
  return std::make_unique<TextPredictor>(path, options);
}

CompactKind text_kind() {
  CompactKind kind;
  kind.modality = &modality_named(modalities(), "text");
  kind.compaction = [](const fs::path& run, const CompactOptions& options) {
    return std::make_unique<TextCompaction>(run, options);
  };
  kind.run_predictor = [](const fs::path& run, const PredictorOptions& options) {
    return std::make_unique<TextPredictor>(run, options);
  };
  kind.file_predictor = open_text_file;
  kind.file_kind = "text";
  return kind;
}

// The kind that serves a path through LibTorch; nullptr: the runtime does, or says what is wrong with it.
const CompactKind* torch_kind(const CompactKinds& kinds, const fs::path& model) {
  std::error_code ignored;  // opening it says what is wrong with it
  if (fs::is_directory(model, ignored)) {
    return &kind_of_run(kinds, modality_of_run(modalities_of(kinds), RunFolder::open(model)).name());
  }
  const std::string found = Container::kind_of(model);
  for (const CompactKind& kind : kinds) {
    if (!kind.file_kind.empty() && kind.file_kind == found) return &kind;
  }
  return nullptr;
}

}  // namespace

const CompactKinds& compact_kinds() {
  static const CompactKinds kinds = {table_kind(), graph_kind(), text_kind()};
  return kinds;
}

Modalities modalities_of(const CompactKinds& kinds) {
  Modalities list;
  for (const CompactKind& kind : kinds) list.push_back(kind.modality);
  return list;
}

const CompactKind& kind_of_run(const CompactKinds& kinds, std::string_view modality) {
  for (const CompactKind& kind : kinds) {
    if (kind.modality->name() == modality) return kind;
  }
  throw std::logic_error(fmt::format("there is no compact kind for the modality '{}'", modality));
}

bool needs_context(const CompactKinds& kinds, const fs::path& model) {
  const CompactKind* kind = torch_kind(kinds, model);
  return kind != nullptr && kind->needs_context;
}

std::unique_ptr<Predictor> open_predictor(const CompactKinds& kinds, const fs::path& model, const PredictorOptions& options) {
  const CompactKind* kind = torch_kind(kinds, model);
  std::error_code ignored;
  if (kind != nullptr)
    return fs::is_directory(model, ignored) ? kind->run_predictor(model, options) : kind->file_predictor(model, options);
  const std::string found = Container::kind_of(model);
  if (!found.empty() && found != "table") {
    throw UserError(
        fmt::format("'{}' is a model of kind '{}', which this l0gm does not serve: use a newer one", model.string(), found));
  }
  if (fs::exists(model, ignored) && !options.machine.device.is_cpu()) {
    throw UserError(
        fmt::format("--device {}: this compact model is served by the processor alone. Leave --device out, or give the run's "
                    "folder.",
                    options.machine.device.str()));
  }
  return std::make_unique<FilePredictor>(model, options.calibrated);
}

}  // namespace l0gm
