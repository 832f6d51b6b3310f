// Serving a compact model (.l0gm) without LibTorch and without Python: link libl0gm_runtime. The same for C: l0gm/c_api.h.
//   const l0gm::CompactModel model = l0gm::CompactModel::load("adult.l0gm");
//   std::vector<float> p(model.classes().size());
//   const std::vector<std::string_view> row = {"39", "State-gov", …};  // as many as model.columns()
//   model.predict(row, p);
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "l0gm/api.h"
#include "l0gm/input_counts.h"

namespace l0gm {

// The positions of the model's columns in a caller's rows. Made by CompactModel::layout; other columns are skipped.
// Only for the model that made it.
struct RowLayout {
  int64_t width = 0;               // cells of one row
  std::vector<int32_t> positions;  // per column of the model
};

// Immutable: any number of threads may call it at once. Nothing is allocated after load() except for error messages. For a large
// model (more than 32 KB of working memory), or with counts from C, this holds for as many simultaneous calls as there are cores,
// at least four; further calls allocate. After fork() a child uses one thread. This header may change with every version;
// l0gm/c_api.h does not.
class L0GM_API CompactModel {
 public:
  struct Options {
    int threads = 1;                 // threads that one call may use for a large batch, including the caller's
    std::optional<bool> calibrated;  // true: apply the stored calibrator, false: raw; unset: apply it where validation rows say
                                     // that it helps
  };
  // A file that is damaged, forged, of a newer version or not a compact model is a UserError (l0gm/error.h); nothing of it is
  // used.
  static CompactModel load(const std::filesystem::path& path, Options options);
  static CompactModel load(const std::filesystem::path& path) { return load(path, Options{}); }
  static CompactModel from_bytes(std::string bytes, const std::string& name,
                                 Options options);  // a file in memory; `name` for messages
  CompactModel(CompactModel&&) noexcept;
  CompactModel& operator=(CompactModel&&) noexcept;
  ~CompactModel();

  const std::vector<std::string>& columns() const;  // what the model reads, in the order that predict() expects
  const std::vector<std::string>& classes() const;  // the order of the probabilities
  std::string_view manifest() const;                // JSON: the description of the model, all but the weights
  size_t memory_bytes() const;                      // of tables and weights
  bool is_calibrated() const;                       // whether the stored calibrator is applied

  // By name; UserError if a column is not among `names`. The order does not matter, other names are ignored.
  RowLayout layout(std::span<const std::string> names) const;

  // Probabilities [rows, classes] of rows of text cells, read as a table file's cells are: trimmed, missing marks, numbers in the
  // C locale. Without a layout a row has exactly columns(). UserError when sizes do not fit or a result is not finite (a forged
  // file's weights).
  void predict(std::span<const std::string_view> cells, std::span<float> probabilities, const RowLayout* layout = nullptr,
               InputCounts* counts = nullptr) const;
  // Rows of numbers: a numeric column's value (NaN: missing), any other column's code().
  void predict(std::span<const double> numbers, std::span<float> probabilities, const RowLayout* layout = nullptr,
               InputCounts* counts = nullptr) const;
  // The code of a text of a categorical column, for rows of numbers: 0 missing, 1 unseen, 2 … by vocabulary; hashed columns: 1 …
  // by bucket. Numeric column: UserError.
  int32_t code(size_t column, std::string_view text) const;
  bool is_numeric(size_t column) const;
  InputCounts empty_counts() const;

 private:
  struct State;
  explicit CompactModel(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace l0gm
