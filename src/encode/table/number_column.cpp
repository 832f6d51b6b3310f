#include "encode/table/number_column.h"

#include <algorithm>
#include <cmath>

#include "encode/table/schema.h"

namespace l0gm {

void NumberColumn::add(const Field& field, int64_t slot) {
  fields_.push_back(&field);
  ++width_;
  slots_.push_back(slot);
  exact_.emplace_back(field.kind == FieldKind::exact ? NumberCodes(field.values) : NumberCodes());
}

void NumberColumn::compute_known() {
  const auto is_exact = [](const Field* field) { return field->kind == FieldKind::exact; };
  const auto first = std::find_if(fields_.begin(), fields_.end(), is_exact);
  if (first == fields_.end()) return;
  known_ = exact_[static_cast<size_t>(first - fields_.begin())];
  rows_.reserve(((*first)->values.size() + 2) * width_);
  rows_.resize(2 * width_);
  for (const double value : (*first)->values) {
    for (size_t i = 0; i < width_; ++i) rows_.push_back(field_at(i, value + 0.0));  // + 0.0: -0 becomes 0
  }
}

CodeAndSlope NumberColumn::field_at(size_t i, double value) const {
  const Field& field = *fields_[i];
  if (std::isnan(value)) return {};
  if (field.kind == FieldKind::exact) return {exact_[i].code(value), 0.0F};
  if (field.kind == FieldKind::piecewise) return piecewise(field.edges, value);
  return {1, static_cast<float>(std::clamp((value - field.mean) / field.deviation, -8.0, 8.0))};  // plain, periodic
}

void NumberColumn::encode_other(double value, int32_t* codes, float* slopes) const {
  for (size_t i = 0; i < width_; ++i) {
    const CodeAndSlope result = field_at(i, value);
    codes[slots_[i]] = result.code;
    slopes[slots_[i]] = result.slope;
  }
}

}  // namespace l0gm
