#include "compact/candidate.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/files.h"
#include "l0gm/error.h"
#include "metrics/summary.h"

namespace l0gm {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view card_mark = "<!-- model card of l0gm, written anew with its model -->";

// Cards of earlier versions end without the mark.
bool is_card(const fs::path& path) {
  if (!fs::is_regular_file(path)) return false;
  const std::string text = read_file(path);
  return text.empty() || text.find(card_mark) != std::string::npos || text.find("Made with l0gm ") != std::string::npos;
}

}  // namespace

Candidate::Candidate(const fs::path& out) : path_(fmt::format("{}.{}.candidate", out.string(), getpid())) {}

Candidate::~Candidate() {
  std::error_code ignored;
  fs::remove(path_, ignored);
}

fs::path card_path(const fs::path& out, const fs::path& wanted) {
  const fs::path card = !wanted.empty()              ? wanted
                        : out.extension() == ".l0gm" ? fs::path(out).replace_extension(".md")
                                                     : fs::path(out.string() + ".md");
  if (fs::absolute(card).lexically_normal() == fs::absolute(out).lexically_normal()) {
    throw UserError(
        fmt::format("the model and its card would both be {}: give them different names with --out and --card", out.string()));
  }
  std::error_code ignored;
  if (fs::exists(card, ignored) && !is_card(card)) {
    throw UserError(
        fmt::format("{} is there and is no model card of this program: it would be overwritten. Name another file for the card "
                    "with --card, or "
                    "another one for the model.",
                    card.string()));
  }
  return card;
}

std::string signed_card(const std::string& text) { return text + "\n" + std::string(card_mark) + "\n"; }

nlohmann::json figures_of(const Predictions& predictions, const Calibrator& calibrator, Split split) {
  const CalibratedBy by = split == Split::valid ? CalibratedBy::cross_fit : CalibratedBy::stored;
  const nlohmann::json all = fields_to_json(metrics_summary(predictions, calibrator, by));
  nlohmann::json some;
  for (const char* key :
       {"rows", "accuracy", "auc", "macro_f1", "nll", "brier", "ece", "ece_floor", "ece_floor_sd", "ece_binary",
        "ece_binary_floor", "ece_binary_floor_sd", "nll_scaled", "ece_scaled", "ece_binary_scaled", "calibrated_by"}) {
    if (all.contains(key)) some[key] = all[key];
  }
  return some;
}

}  // namespace l0gm
