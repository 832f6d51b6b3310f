#pragma once

#include <filesystem>
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

  const std::vector<std::string>& columns() const override { return state_.columns(); }
  const std::vector<std::string>& classes() const override { return state_.classes(); }
  bool concurrent() const override { return true; }
  char delimiter() const override { return state_.delimiter(); }
  bool is_calibrated() const override { return state_.is_calibrated(); }
  void predict(Cells cells, std::span<float> probabilities, InputCounts& counts) const override;

 private:
  ModelState state_;
};

}  // namespace l0gm
