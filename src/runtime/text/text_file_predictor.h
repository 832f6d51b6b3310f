#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/predictor.h"
#include "runtime/text/text_model.h"

namespace l0gm {

// A compact text file as a Predictor, without LibTorch. One column: the text, of any bytes; an empty one is predicted and counted
// as missing. A call uses several threads by itself.
class TextFilePredictor : public Predictor {
 public:
  TextFilePredictor(const Container& file, std::optional<bool> calibrated, int threads)
      : model_(file, CompactModel::Options{.threads = threads, .calibrated = calibrated}) {}
  const std::vector<std::string>& columns() const override { return model_.columns(); }
  const std::vector<std::string>& classes() const override { return model_.classes(); }
  bool concurrent() const override { return true; }
  bool uses_threads() const override { return true; }
  bool is_calibrated() const override { return model_.is_calibrated(); }
  bool reads_texts() const override { return true; }
  char delimiter() const override { return model_.header().delimiter; }
  void predict(Cells cells, std::span<float> probabilities, InputCounts& counts) const override {
    model_.predict(cells.cells, probabilities.data(), counts.missing.data());
  }
  const TextModel& model() const { return model_; }

 private:
  TextModel model_;
};

}  // namespace l0gm
