#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encode/table/row_encoder.h"
#include "l0gm/error.h"
#include "l0gm/runtime.h"
#include "runtime/compact_file.h"
#include "runtime/finish_row.h"
#include "runtime/program.h"
#include "runtime/row_layout.h"
#include "runtime/thread_pool.h"

// The implementation behind the C++ interface, the C interface and FilePredictor: a compact file ready to serve.
namespace l0gm {

// Rows as callers hold them: `width` cells from row to row; the model's columns lie at `positions`, or side by side without them.
struct CellRows {
  const std::string_view* cells;
  int64_t width;
  const int32_t* positions;
};
struct NumberRows {
  const double* numbers;
  int64_t width;
  const int32_t* positions;
};
struct CCellRows {  // lengths null: all cells end with a zero byte; a null cell is missing
  const char* const* cells;
  const size_t* lengths;
  int64_t width;
  const int32_t* positions;
};

// Immutable apart from the workspaces, which are leased to one call at a time; any number of threads may predict.
class ModelState {
 public:
  ModelState(CompactFile file, CompactModel::Options options);
  ~ModelState();
  ModelState(const ModelState&) = delete;
  ModelState& operator=(const ModelState&) = delete;

  const std::string& manifest() const { return manifest_; }
  char delimiter() const { return delimiter_; }
  const RowEncoder& encoder() const { return encoder_; }
  const std::vector<std::string>& columns() const { return columns_; }
  const std::vector<std::string>& classes() const { return schema().classes; }
  const Schema& schema() const { return encoder_.schema(); }
  size_t memory_bytes() const;
  bool is_numeric(size_t column) const;  // UserError if there is no such column
  int32_t code(size_t column, std::string_view text) const;
  bool is_calibrated() const { return calibrated_; }  // unless a call asks for the other
  bool has_calibrator() const { return calibrator_.is_used(true); }

  // probabilities: count x classes. Counts are added to.
  template <class Rows>
  void predict(const Rows& rows, int64_t count, float* probabilities, RowEncoder::Counts* counts, bool calibrated) const;
  template <class Rows>
  void predict(const Rows& rows, int64_t count, float* probabilities, RowEncoder::Counts* counts) const {
    predict(rows, count, probabilities, counts, calibrated_);
  }
  // The same with counts as one array: unseen, unreadable, missing, each per column.
  template <class Rows>
  void predict(const Rows& rows, int64_t count, float* probabilities, int64_t* counts) const;

 private:
  struct Output {  // of a call
    float* probabilities;
    bool calibrated;
  };
  struct Workspace;  // working memory of one thread
  class WorkspaceLease;
  struct MemoryLayout {  // where the parts of a workspace begin, in bytes; the codes come first
    int64_t block = 1;   // rows at a time
    size_t slopes = 0, logits = 0, row = 0, cells = 0, program = 0, bytes = 0;
  };
  static MemoryLayout memory_layout_of(const Schema& schema, const TableProgram& program);
  void make_workspaces(int threads);
  template <class Rows>
  void predict_range(const Rows& rows, int64_t begin, int64_t end, Output output, RowEncoder::Counts* counts,
                     std::byte* memory) const;
  template <class Rows>
  void predict_on_stack(const Rows& rows, int64_t begin, int64_t end, Output output, RowEncoder::Counts* counts) const;
  template <class Rows>
  void predict_in_parallel(const Rows& rows, int64_t count, Output output, RowEncoder::Counts* counts) const;
  void encode(const CellRows& rows, int64_t row, int32_t* codes, float* slopes, RowEncoder::Counts* counts,
              std::byte* memory) const;
  void encode(const NumberRows& rows, int64_t row, int32_t* codes, float* slopes, RowEncoder::Counts* counts,
              std::byte* memory) const;
  void encode(const CCellRows& rows, int64_t row, int32_t* codes, float* slopes, RowEncoder::Counts* counts,
              std::byte* memory) const;
  void add_up(const RowEncoder::Counts& part, RowEncoder::Counts& sum) const;

  std::string manifest_;
  Calibrator calibrator_;
  char delimiter_;
  RowEncoder encoder_;
  TableProgram program_;
  int64_t code_slots_, slope_slots_, logits_, class_count_;
  bool calibrated_;
  MemoryLayout memory_layout_;
  std::vector<std::string> columns_;
  std::vector<std::unique_ptr<Workspace>> workspaces_;
  mutable std::atomic<uint32_t> next_workspace_{0};
  std::unique_ptr<ThreadPool> threads_;  // null: every call uses its own thread only
};

}  // namespace l0gm
