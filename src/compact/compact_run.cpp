#include "compact/compact_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/files.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/text.h"
#include "compact/candidate.h"
#include "compact/parity.h"
#include "l0gm/error.h"
#include "runtime/container.h"
#include "training/run.h"

namespace l0gm {

namespace fs = std::filesystem;

namespace {

constexpr double loose_limit = 1e-4;  // a bound beyond this says little: warned of

void warn_of_loose_bound(const Parity& parity) {
  if (parity.numerics_limit() <= loose_limit) return;
  log_warning(fmt::format(
      "the trained model in float32 is up to {:.1e} from itself in float64 (a gate on the edge falls to either side), "
      "so that the file was only held to {:.1e}; it is {:.1e} away",
      parity.own_error, parity.numerics_limit(), parity.numerics));
}

// Float32 weights, written and read back, must say what the trained model says. A folded file that does not is unfolded first.
Parity prove(Compaction& compaction, const std::vector<double>& wanted, const nlohmann::json& about, const fs::path& out) {
  Parity parity;
  parity.rows = compaction.checked().rows;
  parity.least_limit = compaction.least_limit();
  parity.own_error = std::max(0.0, largest_difference(compaction.trained(Precision::float32), wanted).difference);
  const double limit = parity.numerics_limit();
  for (;;) {
    parity.algebra = require_parity(compaction, compaction.folded(), wanted, algebra_limit, "folding, both in float64");
    const Candidate candidate(out);
    compaction.write(candidate.path(), WeightType::float32, compaction.calibrator(), about);
    const std::vector<double> served = compaction.served(candidate.path());
    if (served.size() != wanted.size()) throw std::logic_error("prove: two models speak of different rows");
    const Worst worst = largest_difference(served, wanted);
    parity.numerics = std::max(0.0, worst.difference);
    if (worst.difference <= limit) return parity;
    if (parity.folded_numerics || !compaction.unfold()) {
      throw UserError(
          difference_message(compaction, served, wanted, worst, limit, "the file in float32 against float64", way_out(parity)));
    }
    log_warning(
        fmt::format("folded, the file would be {:.2g} from the trained model, and allowed are {:.2g}: it is written unfolded, "
                    "which is slower",
                    worst.difference, limit));
    parity.folded_numerics = worst.difference;
  }
}

// What rounding to fewer bits changes, and the calibrator that belongs to the rounded weights.
nlohmann::json round_weights(Compaction& compaction, const std::vector<double>& wanted, WeightType weights,
                             Calibrator& calibrator, const nlohmann::json& about, const fs::path& out) {
  const Candidate candidate(out);
  compaction.write(candidate.path(), weights, calibrator, about);
  const std::vector<double> found = compaction.served(candidate.path());
  double largest = 0, sum = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    largest = std::max(largest, std::abs(wanted[i] - found[i]));
    sum += std::abs(wanted[i] - found[i]);
  }
  const Calibrator before = calibrator;
  calibrator = fit_calibrator(compaction.served(candidate.path(), Split::valid), before.kind);
  return {{"largest_difference", largest},
          {"mean_difference", sum / static_cast<double>(wanted.size())},
          {"calibrator_of_float32", before.to_json()}};
}

}  // namespace

CompactResult compact(Compaction& compaction, const fs::path& out, const CompactOptions& options) {
  const fs::path card = card_path(out, options.card);
  if (options.weights != WeightType::float32 && !compaction.can_round()) {
    throw UserError(fmt::format("--weights {}: this kind of model is written in float32 only so far. Leave --weights out.",
                                name_of_enum(options.weights)));
  }
  nlohmann::json about = compaction.about();
  Calibrator calibrator = compaction.calibrator();
  Progress progress("compacting", options.weights == WeightType::float32 ? 3 : 4);
  progress.update(0, "what the trained model says");
  const std::vector<double> wanted = compaction.trained(Precision::float64);
  progress.update(1, "parity of the file");
  const Parity parity = prove(compaction, wanted, about, out);
  warn_of_loose_bound(parity);
  about["parity"] = parity.to_json();
  if (options.weights != WeightType::float32) {
    progress.update(2, "rounding");
    about["rounding"] = round_weights(compaction, wanted, options.weights, calibrator, about, out);
  }
  progress.update(options.weights == WeightType::float32 ? 2 : 3, "figures of the file");
  int64_t bytes = 0;
  {
    const Candidate candidate(out);
    compaction.write(candidate.path(), options.weights, calibrator, about);
    about["figures"] = nlohmann::json::object();
    for (const Split split : {Split::valid, Split::test}) {
      const Predictions predictions = compaction.served(candidate.path(), split);
      if (predictions.size() > 0) about["figures"][std::string(name_of_enum(split))] = figures_of(predictions, calibrator, split);
    }
    const std::string judged = Container::read(candidate.path()).tensors_sha256();
    bytes = compaction.write(candidate.path(), options.weights, calibrator, about);
    if (Container::read(candidate.path()).tensors_sha256() != judged) {
      throw std::runtime_error(
          fmt::format("{} does not hold what was judged: the disk or another process changed it", candidate.path().string()));
    }
    fs::rename(candidate.path(), out);
  }
  about["weights"] = name_of_enum(options.weights);
  about["calibrator"] = calibrator.to_json();
  about["bytes"] = bytes;
  write_file_atomically(card, signed_card(compaction.card(out.filename().string(), about)));

  nlohmann::json result = {{"model", out.string()},
                           {"card", card.string()},
                           {"weights", name_of_enum(options.weights)},
                           {"units", about["dimensions"]},
                           {"open_units", about["open_dimensions"]},
                           {"closed_columns", about["closed_columns"]},
                           {"parity_float64", parity.algebra},
                           {"parity_float32", parity.numerics},
                           {"parity_float32_limit", parity.numerics_limit()},
                           {"rows_checked", parity.rows},
                           {"bytes", bytes},
                           {"bytes_dense", about["parameters_dense"].get<int64_t>() * static_cast<int64_t>(sizeof(float))},
                           {"figures", about["figures"]}};
  if (about["gate"].contains("units")) {
    result["units"] = about["gate"]["units"];
    result["open_units"] = about["gate"]["open_units"];
    result["units_are"] = about["gate"].value("units_are", "units");
  }
  if (about.contains("rounding")) result["rounding"] = about["rounding"];
  if (parity.folded_numerics) result["parity_float32_folded"] = *parity.folded_numerics;
  result.update(compaction.result(about));
  const std::string proven = fmt::format(
      "  predicts what the run predicts: within {:.1e} in float64, {:.1e} served in float32 (allowed {:.1e}), over {} {}\n",
      parity.algebra, parity.numerics, parity.numerics_limit(), with_thousands(parity.rows), compaction.checked().noun);
  return {result, compaction.describe(result) + proven + fmt::format("  model card: {}\n", card.string())};
}

CompactResult compact_run(const CompactKinds& kinds, const fs::path& run, const fs::path& out, const CompactOptions& options) {
  card_path(out, options.card);  // refused before anything is loaded
  const CompactKind& kind = kind_of_run(kinds, modality_of_run(modalities_of(kinds), RunFolder::open(run)).name());
  return compact(*kind.compaction(run, options), out, options);
}

}  // namespace l0gm
