#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/split.h"
#include "metrics/calibrator.h"
#include "metrics/predictions.h"

// What making a compact file takes, whatever the modality.
namespace l0gm {

// A file that is gone when this is: candidates are written, read and judged before anything appears under the final name.
class Candidate {
 public:
  explicit Candidate(const std::filesystem::path& out);
  ~Candidate();
  Candidate(const Candidate&) = delete;
  Candidate& operator=(const Candidate&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// model.l0gm gets model.md; any other name keeps its end, so that no two models share a card. `wanted`: what the user named, or
// empty. UserError when there is a file of that name that no compaction wrote.
std::filesystem::path card_path(const std::filesystem::path& out, const std::filesystem::path& wanted);

// The card as it is written, with what card_path() knows it by.
std::string signed_card(const std::string& text);

// The figures that a compact file and its card tell. On validation rows, to which the calibrator was fitted, the calibrated ones
// are cross-fitted.
nlohmann::json figures_of(const Predictions& predictions, const Calibrator& calibrator, Split split);

}  // namespace l0gm
