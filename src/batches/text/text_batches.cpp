#include "batches/text/text_batches.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "base/random.h"

namespace l0gm {

namespace {

constexpr uint64_t order_of_texts = 0x7e47, order_of_batches = 0x7e48;  // keys of the two shuffles

// Memory on the host that a copy to this device can read while the program goes on.
torch::Tensor host_numbers(int64_t count, torch::Dtype dtype, torch::Device device) {
  return at::empty({count}, at::TensorOptions(dtype).pinned_memory(device.is_cuda()));
}

torch::Tensor to_device(const torch::Tensor& host, torch::Device device) {
  return device.is_cpu() ? host : host.to(device, host.scalar_type(), /*non_blocking=*/true);
}

}  // namespace

SequenceRows make_sequence_rows(std::vector<int64_t> lengths, torch::Device device) {
  SequenceRows rows;
  rows.lengths = std::move(lengths);
  torch::Tensor offsets = host_numbers(rows.sequences() + 1, torch::kInt32, device);
  auto* out = offsets.data_ptr<int32_t>();
  int64_t at = 0;
  out[0] = 0;
  for (size_t i = 0; i < rows.lengths.size(); ++i) {
    at += rows.lengths[i];
    if (at > INT32_MAX) throw std::logic_error("a batch of more than 2^31 tokens");
    out[i + 1] = static_cast<int32_t>(at);
    rows.longest = std::max(rows.longest, rows.lengths[i]);
  }
  rows.offsets = to_device(offsets, device);
  return rows;
}

std::vector<int32_t> without_some(std::span<const int32_t> ids, double share, uint64_t key) {
  std::vector<int32_t> kept;
  kept.reserve(ids.size());
  RandomStream random(key);
  for (size_t i = 0; i < ids.size(); ++i) {
    const bool special = i == 0 || i + 1 == ids.size();
    if (special || random.uniform() >= share) kept.push_back(ids[i]);
  }
  return kept;
}

TextBatch make_text_batch(std::span<const std::span<const int32_t>> texts, torch::Device device) {
  std::vector<int64_t> lengths;
  for (const auto& text : texts) {
    if (text.empty()) throw std::logic_error("make_text_batch: a text without tokens");
    lengths.push_back(static_cast<int64_t>(text.size()));
  }
  TextBatch batch;
  batch.texts = make_sequence_rows(std::move(lengths), device);
  const int64_t total = batch.texts.rows(), examples = batch.examples();
  torch::Tensor numbers = host_numbers(3 * total + examples, torch::kInt64, device);  // one copy for all
  auto* tokens = numbers.data_ptr<int64_t>();
  int64_t *positions = tokens + total, *example = positions + total, *first = example + total;
  int64_t at = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    first[i] = at;
    for (size_t j = 0; j < texts[i].size(); ++j, ++at) {
      tokens[at] = texts[i][j];
      positions[at] = static_cast<int64_t>(j);
      example[at] = static_cast<int64_t>(i);
    }
  }
  numbers = to_device(numbers, device);
  batch.tokens = numbers.narrow(0, 0, total);
  batch.positions = numbers.narrow(0, total, total);
  batch.example = numbers.narrow(0, 2 * total, total);
  batch.first = numbers.narrow(0, 3 * total, examples);
  return batch;
}

LengthOrder::LengthOrder(std::vector<int64_t> lengths, Settings settings) : lengths_(std::move(lengths)), settings_(settings) {
  if (settings_.batch < 1 || settings_.chunk < 1) throw std::logic_error("LengthOrder: batch and chunk are at least 1");
}

int64_t LengthOrder::batches() const { return (static_cast<int64_t>(lengths_.size()) + settings_.batch - 1) / settings_.batch; }

void LengthOrder::draw(int64_t epoch) const {
  const auto count = static_cast<int64_t>(lengths_.size());
  std::vector<int64_t> order =
      RandomStream(mix_key(settings_.seed, order_of_texts, static_cast<uint64_t>(epoch))).permutation(count);
  const int64_t chunk = settings_.chunk * settings_.batch;
  for (int64_t begin = 0; begin < count; begin += chunk) {
    std::stable_sort(order.begin() + begin, order.begin() + std::min(count, begin + chunk),
                     [&](int64_t a, int64_t b) { return lengths_[static_cast<size_t>(a)] < lengths_[static_cast<size_t>(b)]; });
  }
  drawn_.clear();
  const std::vector<int64_t> places =
      RandomStream(mix_key(settings_.seed, order_of_batches, static_cast<uint64_t>(epoch))).permutation(batches());
  for (const int64_t place : places) {
    const int64_t begin = place * settings_.batch, end = std::min(count, begin + settings_.batch);
    drawn_.emplace_back(order.begin() + begin, order.begin() + end);
  }
  drawn_epoch_ = epoch;
}

std::vector<int64_t> LengthOrder::batch(int64_t epoch, int64_t index) const {
  if (epoch != drawn_epoch_) draw(epoch);
  return drawn_.at(static_cast<size_t>(index));
}

std::vector<std::vector<int64_t>> blocks_by_length(std::span<const int64_t> lengths, int64_t tokens) {
  std::vector<int64_t> order(lengths.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return lengths[static_cast<size_t>(a)] > lengths[static_cast<size_t>(b)];  // the longest first: memory is asked for once
  });
  std::vector<std::vector<int64_t>> blocks;
  int64_t held = 0;
  for (const int64_t text : order) {
    const int64_t length = lengths[static_cast<size_t>(text)];
    if (blocks.empty() || held + length > tokens) {
      blocks.emplace_back();
      held = 0;
    }
    blocks.back().push_back(text);
    held += length;
  }
  return blocks;
}

}  // namespace l0gm
