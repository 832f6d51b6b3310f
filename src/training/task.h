#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/split.h"
#include "batches/batch.h"
#include "metrics/predictions.h"
#include "model/model.h"
#include "run/run_folder.h"
#include "training/options.h"

namespace l0gm {

// What the trainer needs of a modality: batches, a loss, predictions. A whole graph is one batch per epoch; a sampled one brings
// weights; a second head brings its own loss.
class Task {
 public:
  virtual ~Task() = default;
  virtual int64_t steps_per_epoch() const = 0;
  // The same arguments give the same batch, in whatever order they are asked for: that is what makes a run resumable.
  virtual std::shared_ptr<Batch> training_batch(int64_t epoch, int64_t index) = 0;
  // One value per example, the mean over members; the trainer weighs and averages it.
  virtual torch::Tensor loss(const torch::Tensor& logits, const Batch& batch) const;
  virtual Predictions predict(Model& model, const GateState& state, Split split) = 0;
  // The same of some examples, about as many as asked for and always the same; a modality that has no such way predicts all.
  virtual Predictions predict_sample(Model& model, const GateState& state, Split split, int64_t /*examples*/) {
    return predict(model, state, split);
  }
  // Where units are measured: a set of as many that is better than the open ones (1), found without this model; nothing if none
  // is known. The same arguments give the same set; where `stop` is raised it ends soon, and what it found does not count.
  virtual std::optional<std::vector<uint8_t>> better_units(const std::vector<uint8_t>& /*open*/,
                                                           const std::atomic<bool>& /*stop*/) {
    return std::nullopt;
  }
  // Asked once, when the weights are final and before the run's own predictions: what is settled on validation rows, and kept in
  // the folder. False: it ended early because `stop` was raised, and has to be asked again.
  virtual bool complete(Model&, const GateState&, const RunFolder&, const std::atomic<bool>& /*stop*/) { return true; }
  virtual int64_t class_count() const = 0;
  // Whether batches of one size differ in their numbers alone, so that a step on a GPU can be captured once and replayed.
  virtual bool has_fixed_shapes() const { return false; }
  // Probabilities of another model over the training rows, in their order, to be learned beside the labels.
  virtual void set_soft_targets(const Predictions& predictions);
  // The interface of another model over the training rows, [rows, width], which that of this model is to come near.
  virtual void set_hidden_targets(const torch::Tensor& states, double weight);

  double label_smoothing = 0;
  torch::Tensor class_weights;      // [classes], or undefined
  std::vector<double> row_weights;  // by row number, of validation rows, too; empty: each row counts the same
  double distill_weight = 0;        // of a batch's soft targets
  double distill_temperature = 1;
};

// The loss of a step from the losses of its examples: their mean, or the sum weighted by the batch's weights. Those are not
// divided by their own sum, which varies from batch to batch together with the losses and would bias the estimate.
torch::Tensor step_loss(const torch::Tensor& losses, const Batch& batch);

// Probabilities [examples, classes]: the mean of the members'.
torch::Tensor mean_probabilities(const torch::Tensor& logits);

}  // namespace l0gm
