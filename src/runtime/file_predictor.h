#pragma once

#include <filesystem>

#include "runtime/model_state.h"
#include "runtime/predictor.h"

namespace l0gm {

// A compact file as a Predictor. A call works on the caller's thread alone: whoever has many rows brings several.
class FilePredictor : public Predictor {
 public:
  FilePredictor(const std::filesystem::path& path, bool calibrated);
  FilePredictor(CompactFile file, bool calibrated);  // of a file that was read already

  const Schema& schema() const override { return state_.schema(); }
  bool concurrent() const override { return true; }
  char delimiter() const override { return state_.delimiter(); }
  void predict(const std::string_view* cells, int64_t rows, float* probabilities, RowEncoder::Counts& counts) override;

 private:
  ModelState state_;
};

}  // namespace l0gm
