#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "l0gm/error.h"
#include "l0gm/input_counts.h"

namespace l0gm {

// Rows of text, as many cells each as the predictor has columns.
struct Cells {
  std::span<const std::string_view> cells;
  int64_t rows = 0;
};

// A cell that cannot be predicted; `row` is its place in the call.
class RowError : public UserError {
 public:
  RowError(int64_t row, const std::string& what) : UserError(what), row_(row) {}
  int64_t row() const { return row_; }

 private:
  int64_t row_;
};

// Rows of text in, probabilities out, whatever computes them: the runtime from a compact file, or LibTorch. A table has its
// columns, node look-ups a column `node`, links `from` and `to`, texts one column of any bytes.
class Predictor {
 public:
  virtual ~Predictor() = default;
  virtual const std::vector<std::string>& columns() const = 0;  // that are read, in the order of cells
  virtual const std::vector<std::string>& classes() const = 0;
  virtual bool concurrent() const = 0;                      // several threads may predict at once
  virtual bool uses_threads() const { return false; }       // a call spreads its rows over threads by itself: wants many rows
  virtual bool is_calibrated() const { return false; }      // its probabilities are those of the stored calibrator
  virtual char delimiter() const { return ','; }            // of the files it was trained on
  virtual bool columns_name_rows() const { return false; }  // its columns say which row is meant, and are written out again
  virtual bool reads_texts() const { return false; }        // its one column is free text, of any bytes and length
  // All rows that can be asked for, where the model knows them; none: rows come from the caller.
  virtual std::vector<std::string> known_rows() const { return {}; }
  // The same model with its stored calibrator applied, or without; shares its weights. None: it has no calibrator to apply, or
  // cannot tell the two apart.
  virtual std::unique_ptr<Predictor> with_calibration(bool /*calibrated*/) const { return nullptr; }
  // Work of one row, for callers that gather rows into batches of bounded work: 1, or of a text about its number of tokens.
  virtual int64_t row_cost(std::span<const std::string_view> cells) const {
    constexpr size_t bytes_per_token = 4;
    return reads_texts() && !cells.empty() ? static_cast<int64_t>(cells[0].size() / bytes_per_token) + 2 : 1;
  }
  // How numbers of this column are written (encode/table/number_text.h), for callers that have numbers and not texts.
  virtual char number_notation(size_t /*column*/) const { return 0; }
  // probabilities: rows x classes. Adds to counts (empty_counts).
  virtual void predict(Cells cells, std::span<float> probabilities, InputCounts& counts) const = 0;

  InputCounts empty_counts() const {
    const std::vector<int64_t> zeros(columns().size(), 0);
    return {zeros, zeros, zeros};
  }
};

}  // namespace l0gm
