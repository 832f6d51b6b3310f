#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/model_state.h"
#include "runtime/text/text_model.h"

namespace l0gm {

// A compact file of any kind that the runtime serves: what is behind the C++ and the C interface.
class AnyModel {
 public:
  AnyModel(const Container& file, CompactModel::Options options) {
    if (file.kind() == "text") {
      text_ = std::make_unique<TextModel>(file, options);
    } else {
      table_ = std::make_unique<ModelState>(read_compact(file), options);
    }
  }

  const std::vector<std::string>& columns() const { return text_ ? text_->columns() : table_->columns(); }
  const std::vector<std::string>& classes() const { return text_ ? text_->classes() : table_->classes(); }
  const std::string& manifest() const { return text_ ? text_->manifest() : table_->manifest(); }
  size_t memory_bytes() const { return text_ ? text_->memory_bytes() : table_->memory_bytes(); }
  bool is_calibrated() const { return text_ ? text_->is_calibrated() : table_->is_calibrated(); }
  bool is_numeric(size_t column) const;                      // UserError if there is no such column
  int32_t code(size_t column, std::string_view text) const;  // UserError for a text
  InputCounts empty_counts() const {
    const std::vector<int64_t> zeros(columns().size(), 0);
    return {zeros, zeros, zeros};
  }

  // As ModelState predicts; rows of numbers are a UserError for a text model. Counts: InputCounts, or one array.
  template <class Rows, class Counts>
  void predict(const Rows& rows, int64_t count, float* probabilities, Counts* counts) const {
    if (table_) return table_->predict(rows, count, probabilities, counts);
    predict_texts(rows, count, probabilities, missing_in(counts));
  }

 private:
  static int64_t* missing_in(InputCounts* counts) { return counts == nullptr ? nullptr : counts->missing.data(); }
  static int64_t* missing_in(int64_t* counts) { return counts == nullptr ? nullptr : counts + 2; }  // unseen, unreadable, missing
  void predict_texts(const CellRows& rows, int64_t count, float* probabilities, int64_t* missing) const;
  void predict_texts(const CCellRows& rows, int64_t count, float* probabilities, int64_t* missing) const;
  void predict_texts(const NumberRows& rows, int64_t count, float* probabilities, int64_t* missing) const;

  std::unique_ptr<ModelState> table_;
  std::unique_ptr<TextModel> text_;  // either of them
};

}  // namespace l0gm
