#include "compact/text/text_predictor.h"

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "data/table/source.h"
#include "training/text/text_run.h"

namespace l0gm {

namespace fs = std::filesystem;

TextPredictor::TextPredictor(const fs::path& model, const PredictorOptions& options) : machine_(options.machine) {
  if (fs::is_directory(model)) {
    open_run(model);
  } else {
    open_file(model);
  }
  calibrated_ = calibrator_.is_used(options.calibrated);
}

void TextPredictor::open_run(const fs::path& path) {
  TextRun run(path, machine_);
  model_ = run.served();
  state_ = run.gate_state;
  tokenizer_ = run.text.tokenizer;
  max_tokens_ = run.text.max_tokens;
  columns_ = {run.text.text_column};
  classes_ = run.text.classes;
  delimiter_ = delimiter_of(run.config.data);
  calibrator_ = run.calibrator;
}

void TextPredictor::open_file(const fs::path& path) {
  TextFile file = read_text_model(path);
  const WeightType weights = file.header.weights;
  model_ = std::move(file.model);
  tokenizer_ = std::move(file.header.tokenizer);
  max_tokens_ = file.header.max_tokens;
  columns_ = {file.header.column};
  classes_ = std::move(file.header.classes);
  delimiter_ = file.header.delimiter;
  calibrator_ = std::move(file.header.calibrator);
  place(*model_, machine_.device, torch::kFloat32);
  if (weights == WeightType::bfloat16 && machine_.device.is_cuda()) {  // a processor is slower that way
    dynamic_cast<TextEncoder&>(model_->encoder()).compute_in(torch::kBFloat16);
  }
}

void TextPredictor::predict(Cells cells, std::span<float> probabilities, InputCounts& counts) const {
  TextPool texts;
  for (const std::string_view cell : cells.cells) {
    texts.add(cell);
    counts.missing[0] += trim(cell).empty() ? 1 : 0;
  }
  const Tokens tokens = tokenize(texts, *tokenizer_, max_tokens_);
  std::vector<int64_t> rows(cells.cells.size());
  std::iota(rows.begin(), rows.end(), int64_t{0});
  Predictions found = predict_texts(*model_, state_, {&tokens, rows, {}, {}, {}, {}}, classes_, machine_.device);
  if (calibrated_) found = calibrator_.apply(std::move(found));
  std::transform(found.probabilities.begin(), found.probabilities.end(), probabilities.begin(),
                 [](double p) { return static_cast<float>(p); });
}

}  // namespace l0gm
