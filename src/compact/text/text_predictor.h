#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "compact/compact_kinds.h"
#include "compact/text/text_file.h"

namespace l0gm {

// A text model through LibTorch: a compact file, or a run's folder. One column: the text.
//   const TextPredictor predictor("model.l0gm", {.calibrated = true, .machine = prepare_machine("cpu", 0, false)});
class TextPredictor : public Predictor {
 public:
  TextPredictor(const std::filesystem::path& model, const PredictorOptions& options);
  const std::vector<std::string>& columns() const override { return columns_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  bool concurrent() const override { return false; }  // LibTorch spreads one call over its own threads
  bool is_calibrated() const override { return calibrated_; }
  bool reads_texts() const override { return true; }
  char delimiter() const override { return delimiter_; }
  // Any bytes are a text; an empty one is predicted and counted as missing.
  void predict(Cells cells, std::span<float> probabilities, InputCounts& counts) const override;

 private:
  void open_run(const std::filesystem::path& run);
  void open_file(const std::filesystem::path& file);
  Machine machine_;
  bool calibrated_ = false;
  std::shared_ptr<Model> model_;
  GateState state_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  int64_t max_tokens_ = 0;
  std::vector<std::string> columns_, classes_;
  char delimiter_ = ',';
  Calibrator calibrator_;
};

}  // namespace l0gm
