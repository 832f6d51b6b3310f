#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>

#include "runtime/desk.h"
#include "runtime/model_state.h"
#include "runtime/probabilities.h"

// The way of rows through a model: encode a block, run the net on it, make probabilities of logits.
namespace l0gm {
namespace {

constexpr size_t stack_bytes = 32768;       // working memory up to this size lies on the caller's stack
constexpr int64_t rows_for_threads = 2048;  // fewer are done before another thread wakes
constexpr int64_t rows_at_once = 128;       // that a thread takes of what is left

template <class Function>
void each_kind(RowEncoder::Counts& counts, const Function& function) {
  function(counts.unseen);
  function(counts.unreadable);
  function(counts.missing);
}

void clear(RowEncoder::Counts& counts) {
  each_kind(counts, [](std::vector<int64_t>& numbers) { std::fill(numbers.begin(), numbers.end(), 0); });
}

}  // namespace

void ModelState::encode(const TextRows& rows, int64_t row, int32_t* codes, float* slopes, RowEncoder::Counts* counts,
                        std::byte*) const {
  encoder_.encode(rows.cells + row * rows.width, codes, slopes, counts, rows.positions);
}

void ModelState::encode(const NumberRows& rows, int64_t row, int32_t* codes, float* slopes, RowEncoder::Counts* counts,
                        std::byte*) const {
  encoder_.encode_numbers(rows.numbers + row * rows.width, codes, slopes, counts, rows.positions);
}

void ModelState::encode(const CTextRows& rows, int64_t row, int32_t* codes, float* slopes, RowEncoder::Counts* counts,
                        std::byte* memory) const {
  auto* const cells = reinterpret_cast<std::string_view*>(memory + shape_.cells);
  for (size_t c = 0; c < columns_.size(); ++c) {
    const int64_t at = row * rows.width + (rows.positions != nullptr ? rows.positions[c] : static_cast<int64_t>(c));
    const char* const text = rows.cells[at];
    if (text == nullptr) {
      new (cells + c) std::string_view();  // which the encoder reads as missing
    } else {
      new (cells + c) std::string_view(text, rows.lengths != nullptr ? rows.lengths[at] : std::strlen(text));
    }
  }
  encoder_.encode(cells, codes, slopes, counts);
}

void ModelState::finish_row(const float* logits, double* row, float* probabilities) const {
  const TableNet<PackedRows>& net = program_.net();
  bool finite = std::all_of(logits, logits + logits_, [](float logit) { return std::isfinite(logit); });
  mean_probabilities(logits, net.members, net.outputs, row);
  if (finite && calibrated_) calibrator_.apply_to_row({row, static_cast<size_t>(class_count_)});
  for (int64_t c = 0; c < class_count_; ++c) {
    finite = finite && std::isfinite(row[c]);
    probabilities[c] = static_cast<float>(row[c]);
  }
  if (!finite) {
    throw NotFiniteError(
        "the model gives no finite probability for a row: its weights are too large. The file was forged or made of a "
        "run that had diverged; compact another run");
  }
}

template <class Rows>
void ModelState::work(const Rows& rows, int64_t begin, int64_t end, float* probabilities, RowEncoder::Counts* counts,
                      std::byte* memory) const {
  auto* const codes = reinterpret_cast<int32_t*>(memory);
  auto* const slopes = reinterpret_cast<float*>(memory + shape_.slopes);
  auto* const logits = reinterpret_cast<float*>(memory + shape_.logits);
  auto* const row = reinterpret_cast<double*>(memory + shape_.row);
  for (int64_t first = begin; first < end; first += shape_.block) {
    const int64_t count = std::min(shape_.block, end - first);
    for (int64_t i = 0; i < count; ++i)
      encode(rows, first + i, codes + i * code_slots_, slopes + i * slope_slots_, counts, memory);
    program_.logits(codes, code_slots_, slopes, slope_slots_, count, logits, memory + shape_.program);
    for (int64_t i = 0; i < count; ++i) finish_row(logits + i * logits_, row, probabilities + (first + i) * class_count_);
  }
}

// Its own function, so that only calls that use it have so large a frame.
template <class Rows>
[[gnu::noinline]] void ModelState::work_on_stack(const Rows& rows, int64_t begin, int64_t end, float* probabilities,
                                                 RowEncoder::Counts* counts) const {
  alignas(64) std::byte memory[stack_bytes];
  work(rows, begin, end, probabilities, counts, memory);
}

void ModelState::add_up(const RowEncoder::Counts& part, RowEncoder::Counts& sum) const {
  for (size_t c = 0; c < columns_.size(); ++c) {
    sum.unseen[c] += part.unseen[c];
    sum.unreadable[c] += part.unreadable[c];
    sum.missing[c] += part.missing[c];
  }
}

template <class Rows>
void ModelState::work_together(const Rows& rows, int64_t count, float* probabilities, RowEncoder::Counts* counts) const {
  std::atomic<int64_t> next{0};
  std::mutex adding;
  const auto share = [&] {
    const DeskLease desk(*this);
    RowEncoder::Counts* const own = counts == nullptr ? nullptr : &desk.counts();
    if (own != nullptr) clear(*own);
    while (true) {
      const int64_t begin = next.fetch_add(rows_at_once, std::memory_order_relaxed);
      if (begin >= count) break;
      work(rows, begin, std::min(begin + rows_at_once, count), probabilities, own, desk.memory());
    }
    if (own == nullptr) return;
    const std::lock_guard lock(adding);
    add_up(*own, *counts);
  };
  if (!threads_->try_run(share)) share();  // another call has the workers
}

template <class Rows>
void ModelState::predict(const Rows& rows, int64_t count, float* probabilities, RowEncoder::Counts* counts) const {
  if (threads_ != nullptr && count >= rows_for_threads) return work_together(rows, count, probabilities, counts);
  if (shape_.bytes <= stack_bytes) return work_on_stack(rows, 0, count, probabilities, counts);
  const DeskLease desk(*this);
  work(rows, 0, count, probabilities, counts, desk.memory());
}

template <class Rows>
void ModelState::predict(const Rows& rows, int64_t count, float* probabilities, int64_t* counts) const {
  if (counts == nullptr) return predict(rows, count, probabilities, static_cast<RowEncoder::Counts*>(nullptr));
  const DeskLease desk(*this);
  clear(desk.counts());
  predict(rows, count, probabilities, &desk.counts());
  each_kind(desk.counts(), [&counts](const std::vector<int64_t>& numbers) {
    for (const int64_t number : numbers) *counts++ += number;
  });
}

template void ModelState::predict(const TextRows&, int64_t, float*, RowEncoder::Counts*) const;
template void ModelState::predict(const NumberRows&, int64_t, float*, RowEncoder::Counts*) const;
template void ModelState::predict(const CTextRows&, int64_t, float*, int64_t*) const;
template void ModelState::predict(const NumberRows&, int64_t, float*, int64_t*) const;

}  // namespace l0gm
