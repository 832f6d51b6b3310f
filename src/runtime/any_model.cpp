#include "runtime/any_model.h"

#include <fmt/format.h>

#include <cstring>

namespace l0gm {

bool AnyModel::is_numeric(size_t column) const {
  if (table_) return table_->is_numeric(column);
  if (column == 0) return false;
  throw UserError(fmt::format("there is no column {}: the model reads texts, column 0 alone", column));
}

int32_t AnyModel::code(size_t column, std::string_view text) const {
  if (table_) return table_->code(column, text);
  is_numeric(column);
  throw UserError(fmt::format("column '{}' is free text and has no codes; give rows of text", columns().front()));
}

// A row of one text, wherever it lies in the caller's rows.
void AnyModel::predict_texts(const CellRows& rows, int64_t count, float* probabilities, int64_t* missing) const {
  const int64_t place = rows.positions != nullptr ? rows.positions[0] : 0;
  std::vector<std::string_view> texts;
  texts.reserve(static_cast<size_t>(count));
  for (int64_t row = 0; row < count; ++row) texts.push_back(rows.cells[row * rows.width + place]);
  text_->predict(texts, probabilities, missing);
}

void AnyModel::predict_texts(const CCellRows& rows, int64_t count, float* probabilities, int64_t* missing) const {
  const int64_t place = rows.positions != nullptr ? rows.positions[0] : 0;
  std::vector<std::string_view> texts;
  texts.reserve(static_cast<size_t>(count));
  for (int64_t row = 0; row < count; ++row) {
    const int64_t at = row * rows.width + place;
    const char* const text = rows.cells[at];
    if (text == nullptr) {
      texts.emplace_back();
    } else {
      texts.emplace_back(text, rows.lengths != nullptr ? rows.lengths[at] : std::strlen(text));
    }
  }
  text_->predict(texts, probabilities, missing);
}

void AnyModel::predict_texts(const NumberRows&, int64_t, float*, int64_t*) const {
  throw UserError(fmt::format("the model reads texts (column '{}'): rows of numbers say nothing to it; give rows of text",
                              columns().front()));
}

}  // namespace l0gm
