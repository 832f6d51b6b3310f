#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"
#include "compact/compact_run.h"
#include "support/temporary_folder.h"
#include "training/modalities.h"
#include "training/text/text_run.h"
#include "training/train.h"

namespace l0gm::testing_tools {

// A run of some seconds: 300 made texts, one layer of 16 dimensions.
inline Config tiny_text_config(const std::vector<std::string>& assignments = {}) {
  const TemporaryFolder folder;
  const auto path = folder.write("tiny.toml",
                                 "[data]\nsource = 'planted-text'\nrows = 300\n"
                                 "[encoder]\nwidth = 16\ndepth = 1\nheads = 2\nffn = 24\nvocabulary = 200\nmax_tokens = 48\n"
                                 "[train]\nepochs = 6\nbatch = 32\nlr = 0.005\nema = 0.5\n");
  return read_config(path, assignments);
}

inline Machine text_machine() { return prepare_machine("cpu", 1, false); }

// A finished run in a folder of its own.
struct TrainedTinyText {
  TemporaryFolder folder;
  std::filesystem::path run = folder.path() / "run", file = folder.path() / "model.l0gm";
  explicit TrainedTinyText(const std::vector<std::string>& assignments) { train_it(tiny_text_config(assignments)); }
  explicit TrainedTinyText(const Config* config) { train_it(*config); }
  void train_it(const Config& config) const {
    const std::atomic<bool> stop{false};
    if (!train(modalities(), config, run, false, text_machine(), {}, stop)) throw std::runtime_error("nobody asked it to stop");
  }
  nlohmann::json compact(const CompactOptions& options = {}) const {
    return compact_run(compact_kinds(), run, file, options).json;
  }
  // What the run's own model says of some texts, closed units and all, in float64: P(yes).
  std::vector<double> uncompacted(const std::vector<std::string>& texts) const {
    TextRun opened(run, text_machine());
    place(*opened.model, torch::kCPU, torch::kFloat64);
    dynamic_cast<TextEncoder&>(opened.model->encoder()).compute_closed_parts(true);
    TextPool pool;
    std::vector<int64_t> rows;
    for (const std::string& text : texts) {
      pool.add(text);
      rows.push_back(std::ssize(rows));
    }
    const Tokens tokens = tokenize(pool, *opened.text.tokenizer, opened.text.max_tokens);
    const Predictions found =
        predict_texts(*opened.model, opened.gate_state, {&tokens, rows, {}, {}, {}, {}}, opened.text.classes, torch::kCPU);
    std::vector<double> p;
    for (const int64_t row : rows) p.push_back(found.row(row)[1]);
    return p;
  }
};

// P(yes) that a predictor tells of some texts.
inline std::vector<double> told(const Predictor& predictor, const std::vector<std::string>& texts,
                                InputCounts* counts = nullptr) {
  const std::vector<std::string_view> cells(texts.begin(), texts.end());
  std::vector<float> probabilities(texts.size() * predictor.classes().size());
  InputCounts its = predictor.empty_counts();
  predictor.predict({cells, std::ssize(texts)}, probabilities, its);
  if (counts != nullptr) *counts = its;
  std::vector<double> p;
  for (size_t i = 0; i < texts.size(); ++i) p.push_back(probabilities[i * predictor.classes().size() + 1]);
  return p;
}

// Texts of all lengths, the odd ones included.
inline std::vector<std::string> some_texts() {
  std::vector<std::string> texts = {"", "  ", "a", "caf\xE9 \xFF", "[CLS] [MASK] [SEP]", "\xE6\x97\xA5\xE6\x9C\xAC"};
  for (const int words : {1, 5, 20, 60, 400}) {
    std::string text;
    for (int i = 0; i < words; ++i) text += "word" + std::to_string(i % 7) + " ";
    texts.push_back(text);
  }
  return texts;
}

inline double gap_of(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return INFINITY;
  double gap = 0;
  for (size_t i = 0; i < a.size(); ++i) gap = std::max(gap, std::abs(a[i] - b[i]));
  return gap;
}

}  // namespace l0gm::testing_tools
