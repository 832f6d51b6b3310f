#include "training/text/text_task.h"

#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <utility>

#include "base/progress.h"
#include "base/random.h"
#include "batches/to_device.h"

namespace l0gm {

namespace {

constexpr uint64_t draw_epoch = 0x746f6b656eULL, draw_dropped = 1;

// Tokens of one block of an evaluation. On a processor the states of a block should stay in its caches.
int64_t tokens_of_block(torch::Device device) { return device.is_cpu() ? 4096 : 65536; }

std::vector<int64_t> lengths_of(const Tokens& tokens, std::span<const int64_t> rows) {
  std::vector<int64_t> lengths;
  lengths.reserve(rows.size());
  for (const int64_t row : rows) lengths.push_back(tokens.length(row));
  return lengths;
}

torch::Tensor on_device(const std::vector<int64_t>& values, torch::Device device) {
  return to_device(at::tensor(values, torch::kInt64), device, torch::kInt64);
}

}  // namespace

std::shared_ptr<TextBatch> make_batch(const TextRows& texts, std::span<const int64_t> positions, torch::Device device) {
  std::vector<int64_t> rows, targets;
  std::vector<std::span<const int32_t>> ids;
  std::vector<std::vector<int32_t>> thinned;
  if (texts.drop_tokens > 0) thinned.reserve(positions.size());  // ids point into it
  for (const int64_t position : positions) {
    const int64_t row = texts.rows[static_cast<size_t>(position)];
    rows.push_back(row);
    targets.push_back(texts.labels.empty() ? -1 : texts.labels[static_cast<size_t>(row)]);
    ids.push_back(texts.tokens->ids(row));
    if (texts.drop_tokens > 0) {
      ids.back() = thinned.emplace_back(
          without_some(ids.back(), texts.drop_tokens, mix_key(texts.drop_key, draw_dropped, static_cast<uint64_t>(row))));
    }
  }
  auto batch = std::make_shared<TextBatch>();
  if (texts.features.defined()) {  // nobody reads the tokens
    batch->features = texts.features.index_select(0, on_device({positions.begin(), positions.end()}, texts.features.device()));
  } else {
    *batch = make_text_batch(ids, device);
  }
  batch->example_ids = on_device(rows, device);
  batch->targets = on_device(targets, device);
  if (texts.soft_targets.defined()) {
    batch->soft_targets =
        texts.soft_targets.index_select(0, on_device({positions.begin(), positions.end()}, texts.soft_targets.device()));
  }
  if (texts.change) texts.change(*batch, rows);
  return batch;
}

void for_each_block(const TextRows& texts, torch::Device device,
                    const std::function<void(std::span<const int64_t> positions, TextBatch& batch)>& use) {
  Progress progress("reading texts with the model", std::ssize(texts.rows), {"texts"});
  int64_t done = 0;
  // The longest first: memory is asked for once.
  for (const std::vector<int64_t>& block : blocks_by_length(lengths_of(*texts.tokens, texts.rows), tokens_of_block(device))) {
    use(block, *make_batch(texts, block, device));
    progress.update(done += std::ssize(block));
  }
}

Predictions predict_texts(Model& model, const GateState& state, const TextRows& texts, const std::vector<std::string>& classes,
                          torch::Device device) {
  c10::InferenceMode inference;
  model.eval();
  Predictions result;
  result.classes = classes;
  result.rows.assign(texts.rows.begin(), texts.rows.end());
  result.probabilities.resize(texts.rows.size() * classes.size());
  for (const int64_t row : texts.rows)
    result.labels.push_back(texts.labels.empty() ? -1 : texts.labels[static_cast<size_t>(row)]);
  std::vector<std::pair<std::vector<int64_t>, torch::Tensor>> pending;  // asked for when all are computed: no wait between blocks
  for_each_block(texts, device, [&](std::span<const int64_t> positions, TextBatch& batch) {
    GatePass pass = GatePass::evaluation(state, batch.example_ids);
    pending.emplace_back(std::vector<int64_t>(positions.begin(), positions.end()), model.forward(batch, pass));
  });
  for (const auto& [positions, logits] : pending) {
    const torch::Tensor p = mean_probabilities(logits.to(torch::kCPU, torch::kFloat64)).contiguous();
    for (size_t i = 0; i < positions.size(); ++i) {
      std::copy_n(p.data_ptr<double>() + i * classes.size(), classes.size(),
                  result.probabilities.begin() + positions[i] * static_cast<int64_t>(classes.size()));
    }
  }
  return result;
}

TextTask::TextTask(std::shared_ptr<TextDataset> dataset, std::vector<std::string> classes, int64_t batch, uint64_t seed,
                   torch::Device device, double drop_tokens)
    : dataset_(std::move(dataset)),
      classes_(std::move(classes)),
      device_(device),
      seed_(seed),
      drop_tokens_(drop_tokens),
      order_(lengths_of(dataset_->tokens, dataset_->data.rows(Split::train)), {.batch = batch, .seed = seed}) {}

TextRows TextTask::rows_of(Split split) const {
  TextRows texts{&dataset_->tokens, dataset_->data.rows(split), dataset_->data.labels, {}, {}};
  if (split == Split::train) texts.features = train_features_;
  if (split == Split::valid) texts.features = valid_features_;
  return texts;
}

std::shared_ptr<Batch> TextTask::training_batch(int64_t epoch, int64_t index) {
  TextRows texts = rows_of(Split::train);
  texts.soft_targets = soft_targets_;
  texts.drop_tokens = drop_tokens_;
  texts.drop_key = mix_key(seed_, draw_epoch, static_cast<uint64_t>(epoch));
  const auto positions = order_.batch(epoch, index);
  std::shared_ptr<TextBatch> batch = make_batch(texts, positions, device_);
  if (hidden_targets_.defined()) {
    batch->teacher_states = hidden_targets_.index_select(0, on_device({positions.begin(), positions.end()}, device_));
    batch->teacher_weight = hidden_weight_;
  }
  return batch;
}

Predictions TextTask::predict(Model& model, const GateState& state, Split split) {
  return predict_texts(model, state, rows_of(split), classes_, device_);
}

void TextTask::set_soft_targets(const Predictions& predictions) {
  soft_targets_ =
      at::tensor(predictions.probabilities, torch::kFloat64).view({predictions.size(), -1}).to(device_, torch::kFloat32);
}

void TextTask::set_hidden_targets(const torch::Tensor& states, double weight) {
  hidden_targets_ = states.to(device_).clone();
  const torch::Tensor exact = states.to(torch::kCPU, torch::kFloat64);
  hidden_weight_ = weight / std::max((exact - exact.mean(0)).square().mean().item<double>(), 1e-12);
}

void TextTask::set_features(torch::Tensor train, torch::Tensor valid) {
  train_features_ = std::move(train);
  valid_features_ = std::move(valid);
}

}  // namespace l0gm
