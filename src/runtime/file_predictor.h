#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "runtime/model_state.h"
#include "runtime/predictor.h"

namespace l0gm {

// A compact file as a Predictor, without LibTorch. A call works on the caller's thread alone: a caller with many rows uses
// several.
class FilePredictor : public Predictor {
 public:
  FilePredictor(const std::filesystem::path& path, std::optional<bool> calibrated);
  FilePredictor(CompactFile file, std::optional<bool> calibrated);  // of a file that was read already

  const std::vector<std::string>& columns() const override { return state_->columns(); }
  const std::vector<std::string>& classes() const override { return state_->classes(); }
  bool concurrent() const override { return true; }
  char delimiter() const override { return state_->delimiter(); }
  bool is_calibrated() const override { return calibrated_; }
  std::unique_ptr<Predictor> with_calibration(bool calibrated) const override;
  char number_notation(size_t column) const override { return state_->schema().columns[column].notation; }
  void predict(Cells cells, std::span<float> probabilities, InputCounts& counts) const override;

 private:
  FilePredictor(std::shared_ptr<const ModelState> state, bool calibrated);
  std::shared_ptr<const ModelState> state_;  // shared by the predictors with and without the calibrator
  bool calibrated_;
};

}  // namespace l0gm
