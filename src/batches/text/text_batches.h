// Token ids as batches on a device, and the order in which training reads them.
//   LengthOrder order(lengths, {.batch = 32, .seed = 0});
//   TextBatch batch = make_text_batch(texts_of(order.batch(epoch, index)), device);
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "batches/text/text_batch.h"

namespace l0gm {

// Ids of every text, packed without padding; example_ids and targets are the caller's to set. A text without tokens is a
// std::logic_error: tokenisers add at least their special tokens.
TextBatch make_text_batch(std::span<const std::span<const int32_t>> texts, torch::Device device);
// A text without a share of its tokens, drawn by `key`; the first and the last one, which are special tokens, stay.
std::vector<int32_t> without_some(std::span<const int32_t> ids, double share, uint64_t key);
// The rows of sequences of these lengths.
SequenceRows make_sequence_rows(std::vector<int64_t> lengths, torch::Device device);

// Which texts each training step reads: every epoch all of them once, in batches of similar length, so that a step's attention
// wastes little. Texts are shuffled, sorted by length within chunks of some batches, and the batches shuffled again. A pure
// function of seed, epoch and index: a resumed run reads on where it stopped. For one thread: it keeps the last epoch's order.
class LengthOrder {
 public:
  struct Settings {
    int64_t batch = 32;
    uint64_t seed = 0;
    int64_t chunk = 50;  // batches that are sorted together
  };
  LengthOrder(std::vector<int64_t> lengths, Settings settings);

  int64_t batches() const;  // of an epoch; the last may be smaller
  // Texts of a batch, as positions in `lengths`.
  std::vector<int64_t> batch(int64_t epoch, int64_t index) const;

 private:
  void draw(int64_t epoch) const;
  std::vector<int64_t> lengths_;
  Settings settings_;
  mutable int64_t drawn_epoch_ = -1;  // the last epoch asked for, kept
  mutable std::vector<std::vector<int64_t>> drawn_;
};

// All texts sorted by length, in blocks of at most `tokens` tokens (at least one text each): how evaluation reads them.
std::vector<std::vector<int64_t>> blocks_by_length(std::span<const int64_t> lengths, int64_t tokens);

}  // namespace l0gm
