#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "runtime/predictor.h"

namespace l0gm::testing_tools {

// What a FakePredictor was asked; shared with the test, which has given the predictor away.
struct Calls {
  std::atomic<int> count{0}, at_once{0}, most_at_once{0};
  std::atomic<int64_t> most_rows{0};
};

// Probability of class 1: the first cell as a number; "x" cannot be predicted, "new" was not seen.
class FakePredictor : public Predictor {
 public:
  FakePredictor(std::vector<std::string> columns, bool texts = false, std::shared_ptr<Calls> calls = std::make_shared<Calls>(),
                bool concurrent = false)
      : columns_(std::move(columns)), texts_(texts), concurrent_(concurrent), calls_(std::move(calls)) {}
  const std::vector<std::string>& columns() const override { return columns_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  bool concurrent() const override { return concurrent_; }
  bool reads_texts() const override { return texts_; }
  char number_notation(size_t column) const override { return column < notations.size() ? notations[column] : '\0'; }
  void predict(Cells cells, std::span<float> probabilities, InputCounts& counts) const override {
    ++calls_->count;
    calls_->most_at_once = std::max(calls_->most_at_once.load(), ++calls_->at_once);
    calls_->most_rows = std::max(calls_->most_rows.load(), cells.rows);
    for (int64_t row = 0; row < cells.rows; ++row) predict_row(cells, row, probabilities, counts);
    --calls_->at_once;
  }
  std::string notations;

 private:
  void predict_row(Cells cells, int64_t row, std::span<float> probabilities, InputCounts& counts) const {
    const auto at = static_cast<size_t>(row);
    const std::string cell(cells.cells[at * columns_.size()]);
    if (cell == "x") {
      --calls_->at_once;
      throw RowError(row, "'x' cannot be predicted");
    }
    if (cell == "new") ++counts.unseen[0];
    if (cell.empty()) ++counts.missing[0];
    const float p = texts_ || cell.empty() || cell == "new" ? 0.25F : std::stof(cell);
    probabilities[2 * at] = 1 - p;
    probabilities[2 * at + 1] = p;
  }
  std::vector<std::string> columns_, classes_ = {"no", "yes"};
  bool texts_, concurrent_;
  std::shared_ptr<Calls> calls_;
};

}  // namespace l0gm::testing_tools
