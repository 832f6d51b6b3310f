#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "batches/text/text_batches.h"
#include "data/text/text_dataset.h"
#include "data/text/token_cache.h"
#include "training/modality.h"

namespace l0gm {

// Texts as they were read, and their tokens once fitting has made them.
class TextDataset : public Dataset {
 public:
  explicit TextDataset(TextData texts) : data(std::move(texts)) {}
  const std::string& name() const override { return data.name; }

  TextData data;
  Tokens tokens;
};

// Which texts of a dataset, in which order.
struct TextRows {
  const Tokens* tokens = nullptr;
  std::span<const int64_t> rows;    // of the dataset
  std::span<const int32_t> labels;  // of all its texts
  torch::Tensor features;           // [rows, width], or undefined: what the encoder says of them, computed before
  torch::Tensor soft_targets;       // [rows, classes], or undefined
  double drop_tokens = 0;           // share of the tokens that are left out, drawn by drop_key and row
  uint64_t drop_key = 0;
  // Changes the batch before the model reads it (perturbed texts); empty: it stays.
  std::function<void(TextBatch& batch, std::span<const int64_t> rows)> change = {};
};

// The texts at some positions of `texts.rows` as one batch.
std::shared_ptr<TextBatch> make_batch(const TextRows& texts, std::span<const int64_t> positions, torch::Device device);

// Probabilities in the order of texts.rows; computed by length, in blocks of so many tokens.
Predictions predict_texts(Model& model, const GateState& state, const TextRows& texts, const std::vector<std::string>& classes,
                          torch::Device device);
// Calls `use` with each block's positions and batch, longest block first.
void for_each_block(const TextRows& texts, torch::Device device,
                    const std::function<void(std::span<const int64_t> positions, TextBatch& batch)>& use);

// Classes of texts.
class TextTask : public Task {
 public:
  TextTask(std::shared_ptr<TextDataset> dataset, std::vector<std::string> classes, int64_t batch, uint64_t seed,
           torch::Device device, double drop_tokens = 0);

  int64_t steps_per_epoch() const override { return order_.batches(); }
  std::shared_ptr<Batch> training_batch(int64_t epoch, int64_t index) override;
  Predictions predict(Model& model, const GateState& state, Split split) override;
  int64_t class_count() const override { return static_cast<int64_t>(classes_.size()); }
  void set_soft_targets(const Predictions& predictions) override;
  void set_hidden_targets(const torch::Tensor& states, double weight) override;
  // A frozen encoder: what it says of training and validation texts, in the order of their rows.
  void set_features(torch::Tensor train, torch::Tensor valid);

 private:
  TextRows rows_of(Split split) const;
  std::shared_ptr<TextDataset> dataset_;
  std::vector<std::string> classes_;
  torch::Device device_;
  uint64_t seed_;
  double drop_tokens_;
  LengthOrder order_;
  torch::Tensor soft_targets_, train_features_, valid_features_;
  torch::Tensor hidden_targets_;  // [training texts, width], or undefined
  double hidden_weight_ = 0;
};

}  // namespace l0gm
