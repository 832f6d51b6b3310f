#include "runtime/model_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "runtime/finish_row.h"
#include "runtime/mix_trees.h"
#include "runtime/workspace.h"

namespace l0gm {
namespace {

constexpr size_t most_workspace_bytes = size_t{1} << 30, most_bytes_of_all_workspaces = size_t{1} << 28;
constexpr size_t most_block_bytes = size_t{1} << 20;  // of codes and slopes: with very many codes a block has fewer rows
constexpr size_t stack_bytes = 32768;                 // a workspace up to this size is on the caller's stack
constexpr int64_t rows_for_threads = 2048;            // fewer rows are finished before another thread wakes up
constexpr int64_t rows_at_once = 128;                 // that a thread takes from the remaining ones

template <class Function>
void for_each_count(RowEncoder::Counts& counts, const Function& function) {
  function(counts.unseen);
  function(counts.unreadable);
  function(counts.missing);
}

void clear(RowEncoder::Counts& counts) {
  for_each_count(counts, [](std::vector<int64_t>& numbers) { std::fill(numbers.begin(), numbers.end(), 0); });
}

}  // namespace

ModelState::ModelState(CompactFile file, CompactModel::Options options)
    : manifest_(std::move(file.manifest)),
      calibrator_(std::move(file.header.calibrator)),
      delimiter_(file.header.delimiter),
      encoder_(std::move(file.header.schema)),
      program_(std::move(file.net)),
      code_slots_(schema().code_slots()),
      slope_slots_(schema().slope_slots()),
      logits_(program_.net().logits()),
      class_count_(static_cast<int64_t>(schema().classes.size())),
      calibrated_(calibrator_.is_used(options.calibrated)),
      memory_layout_(memory_layout_of(schema(), program_)) {
  const int threads = checked_threads(options.threads);
  for (const Column& column : schema().columns) columns_.push_back(column.name);
  make_workspaces(threads);
  if (threads > 1) threads_ = std::make_unique<ThreadPool>(threads - 1);
}

ModelState::~ModelState() = default;

ModelState::MemoryLayout ModelState::memory_layout_of(const Schema& schema, const TableProgram& program) {
  MemoryLayout layout;
  const auto slots = [](int64_t count) { return static_cast<size_t>(count) * sizeof(float); };
  const size_t row_bytes = slots(schema.code_slots()) + slots(schema.slope_slots());
  layout.block =
      std::clamp<int64_t>(static_cast<int64_t>(most_block_bytes / std::max<size_t>(row_bytes, 1)), 1, TableProgram::block_rows);
  size_t end = 0;
  const auto reserve = [&end](size_t bytes) {  // every part begins on a cache line
    const size_t begin = end;
    end = (end + bytes + 63) / 64 * 64;
    return begin;
  };
  reserve(slots(layout.block * schema.code_slots()));
  layout.slopes = reserve(slots(layout.block * schema.slope_slots()));
  layout.logits = reserve(slots(layout.block * program.net().logits()));
  layout.row = reserve(schema.classes.size() * sizeof(double));
  layout.cells = reserve(schema.columns.size() * sizeof(std::string_view));
  layout.program = reserve(program.workspace_bytes());
  layout.bytes = end;
  if (end > most_workspace_bytes) {
    throw UserError(fmt::format("the model needs {} bytes of working memory per thread, {} are allowed; compact a smaller one",
                                end, most_workspace_bytes));
  }
  return layout;
}

void ModelState::make_workspaces(int threads) {
  const size_t wanted = std::max<size_t>({4, std::thread::hardware_concurrency(), static_cast<size_t>(threads) + 1});
  const size_t count = std::clamp<size_t>(most_bytes_of_all_workspaces / std::max<size_t>(memory_layout_.bytes, 1), 1, wanted);
  for (size_t i = 0; i < count; ++i)
    workspaces_.push_back(std::make_unique<Workspace>(memory_layout_.bytes, encoder_.empty_counts()));
}

size_t ModelState::memory_bytes() const {
  size_t bytes = 0;
  program_.net().visit(
      [&bytes](const std::string&, const PackedRows& rows, int64_t, int64_t, ArrayKind) { bytes += rows.bytes(); });
  return bytes;
}

bool ModelState::is_numeric(size_t column) const {
  if (column < columns_.size()) return schema().columns[column].type == ColumnType::numeric;
  throw UserError(fmt::format("there is no column {}: the model has {}, counted from 0", column, columns_.size()));
}

int32_t ModelState::code(size_t column, std::string_view text) const {
  if (!is_numeric(column)) return encoder_.code_of(column, text);
  throw UserError(fmt::format("column '{}' is numeric and has no codes; give its value itself", columns_[column]));
}

// Prediction: encode a block of rows, run the net on it, turn logits into probabilities.

void ModelState::encode(const CellRows& rows, int64_t row, int32_t* codes, float* slopes, RowEncoder::Counts* counts,
                        std::byte*) const {
  encoder_.encode(rows.cells + row * rows.width, codes, slopes, counts, rows.positions);
}

void ModelState::encode(const NumberRows& rows, int64_t row, int32_t* codes, float* slopes, RowEncoder::Counts* counts,
                        std::byte*) const {
  encoder_.encode_numbers(rows.numbers + row * rows.width, codes, slopes, counts, rows.positions);
}

void ModelState::encode(const CCellRows& rows, int64_t row, int32_t* codes, float* slopes, RowEncoder::Counts* counts,
                        std::byte* memory) const {
  auto* const cells = reinterpret_cast<std::string_view*>(memory + memory_layout_.cells);
  for (size_t c = 0; c < columns_.size(); ++c) {
    const int64_t at = row * rows.width + (rows.positions != nullptr ? rows.positions[c] : static_cast<int64_t>(c));
    const char* const text = rows.cells[at];
    if (text == nullptr) {
      new (cells + c) std::string_view();  // the encoder reads it as missing
    } else {
      new (cells + c) std::string_view(text, rows.lengths != nullptr ? rows.lengths[at] : std::strlen(text));
    }
  }
  encoder_.encode(cells, codes, slopes, counts);
}

template <class Rows>
void ModelState::predict_range(const Rows& rows, int64_t begin, int64_t end, Output output, RowEncoder::Counts* counts,
                               std::byte* memory) const {
  auto* const codes = reinterpret_cast<int32_t*>(memory);
  auto* const slopes = reinterpret_cast<float*>(memory + memory_layout_.slopes);
  auto* const logits = reinterpret_cast<float*>(memory + memory_layout_.logits);
  auto* const row = reinterpret_cast<double*>(memory + memory_layout_.row);
  for (int64_t first = begin; first < end; first += memory_layout_.block) {
    const int64_t count = std::min(memory_layout_.block, end - first);
    for (int64_t i = 0; i < count; ++i)
      encode(rows, first + i, codes + i * code_slots_, slopes + i * slope_slots_, counts, memory);
    program_.logits(codes, code_slots_, slopes, slope_slots_, count, logits, memory + memory_layout_.program);
    for (int64_t i = 0; i < count; ++i) {
      finish_row(logits + i * logits_, program_.net().members, program_.net().outputs, output.calibrated ? &calibrator_ : nullptr,
                 {row, static_cast<size_t>(class_count_)}, output.probabilities + (first + i) * class_count_,
                 [&](double* mixed) { mix_trees(schema().trees, slopes + (i + 1) * slope_slots_, mixed); });
    }
  }
}

// A function of its own, so that only the calls that need it have such a large stack frame.
template <class Rows>
[[gnu::noinline]] void ModelState::predict_on_stack(const Rows& rows, int64_t begin, int64_t end, Output output,
                                                    RowEncoder::Counts* counts) const {
  alignas(64) std::byte memory[stack_bytes];
  predict_range(rows, begin, end, output, counts, memory);
}

void ModelState::add_up(const RowEncoder::Counts& part, RowEncoder::Counts& sum) const {
  for (size_t c = 0; c < columns_.size(); ++c) {
    sum.unseen[c] += part.unseen[c];
    sum.unreadable[c] += part.unreadable[c];
    sum.missing[c] += part.missing[c];
  }
}

template <class Rows>
void ModelState::predict_in_parallel(const Rows& rows, int64_t count, Output output, RowEncoder::Counts* counts) const {
  std::atomic<int64_t> next{0};
  std::mutex adding;
  const auto share = [&] {
    const WorkspaceLease workspace(*this);
    RowEncoder::Counts* const own = counts == nullptr ? nullptr : &workspace.counts();
    if (own != nullptr) clear(*own);
    while (true) {
      const int64_t begin = next.fetch_add(rows_at_once, std::memory_order_relaxed);
      if (begin >= count) break;
      predict_range(rows, begin, std::min(begin + rows_at_once, count), output, own, workspace.memory());
    }
    if (own == nullptr) return;
    const std::lock_guard lock(adding);
    add_up(*own, *counts);
  };
  if (!threads_->try_run(share)) share();  // another call uses the workers
}

template <class Rows>
void ModelState::predict(const Rows& rows, int64_t count, float* probabilities, RowEncoder::Counts* counts,
                         bool calibrated) const {
  const Output output{probabilities, calibrated};
  if (threads_ != nullptr && count >= rows_for_threads) return predict_in_parallel(rows, count, output, counts);
  if (memory_layout_.bytes <= stack_bytes) return predict_on_stack(rows, 0, count, output, counts);
  const WorkspaceLease workspace(*this);
  predict_range(rows, 0, count, output, counts, workspace.memory());
}

template <class Rows>
void ModelState::predict(const Rows& rows, int64_t count, float* probabilities, int64_t* counts) const {
  if (counts == nullptr) return predict(rows, count, probabilities, static_cast<RowEncoder::Counts*>(nullptr));
  const WorkspaceLease workspace(*this);
  clear(workspace.counts());
  predict(rows, count, probabilities, &workspace.counts());
  for_each_count(workspace.counts(), [&counts](const std::vector<int64_t>& numbers) {
    for (const int64_t number : numbers) *counts++ += number;
  });
}

template void ModelState::predict(const CellRows&, int64_t, float*, RowEncoder::Counts*, bool) const;
template void ModelState::predict(const NumberRows&, int64_t, float*, RowEncoder::Counts*, bool) const;
template void ModelState::predict(const CCellRows&, int64_t, float*, int64_t*) const;
template void ModelState::predict(const NumberRows&, int64_t, float*, int64_t*) const;

}  // namespace l0gm
