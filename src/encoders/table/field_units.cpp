#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>

#include "encoders/table/field_embeddings.h"

// How a table's interface, or its encoded row, is divided into units. A gate on the encoded row multiplies all that a field
// brings with one number, so that its units are those of the interface without their dimensions: a field, a column, a single
// code.
namespace l0gm {

namespace {

std::string value_name(const Field& field, int64_t code) {
  if (field.kind == FieldKind::hashed) return code == 0 ? "(missing)" : fmt::format("#{}", code - 1);
  if (code < 2) return code == 0 ? "(missing)" : "(rare)";
  const auto place = static_cast<size_t>(code - 2);
  return field.kind == FieldKind::exact ? fmt::format("{}", field.values[place]) : field.vocabulary[place];
}

}  // namespace

std::string FieldEmbeddings::dimension_name(int64_t d) const {
  const Field& field = schema_.fields[static_cast<size_t>(field_of_dimension(d))];
  return field.kind == FieldKind::statistic ? field.name : fmt::format("{}[{}]", field.name, d % field_width_);
}

InterfaceUnits FieldEmbeddings::units(UnitKind kind, Attach attach) const {
  std::vector<int64_t> field_index, source_index;
  for (int64_t d = 0; d < width(); ++d) {
    field_index.push_back(field_of_dimension(d));
    source_index.push_back(source_of_field_[static_cast<size_t>(field_index.back())]);
  }
  const bool input = attach == Attach::input;
  // Names are made on demand, from a copy: the encoder may be gone by then.
  const auto self = std::make_shared<FieldEmbeddings>(*this);
  if (kind == UnitKind::dimension && !input)
    return {at::ones({width()}), {}, [self](int64_t unit) { return self->dimension_name(unit); }};
  if (kind == UnitKind::dimension) {
    return {at::ones({static_cast<int64_t>(schema_.fields.size())}), at::tensor(field_index, torch::kInt64),
            [self](int64_t unit) { return self->schema_.fields[static_cast<size_t>(unit)].name; }};
  }
  if (kind == UnitKind::group) {
    const auto sources = static_cast<int64_t>(source_names_.size());
    const torch::Tensor index = at::tensor(source_index, torch::kInt64);
    const torch::Tensor cost = input ? at::ones({sources}) : at::zeros({sources}).index_add_(0, index, at::ones({width()}));
    return {cost, index, [self](int64_t unit) { return self->source_names_[static_cast<size_t>(unit)]; }};
  }
  // The fine units of one field (times one dimension, at the interface) cost 1 together.
  std::vector<double> cost;
  for (size_t f = 0; f < schema_.fields.size(); ++f) {
    const Field& field = schema_.fields[f];
    const int64_t rows = fine_begin_[f + 1] - fine_begin_[f],
                  dimensions = input || field.kind == FieldKind::statistic ? 1 : field_width_;
    cost.insert(cost.end(), static_cast<size_t>(rows * dimensions), 1.0 / static_cast<double>(rows));
  }
  const int64_t per_row = input ? 1 : field_width_, embedded_rows = fine_begin_[static_cast<size_t>(embedded_)];
  return {at::tensor(cost, torch::kFloat64).to(torch::kFloat32), {}, [self, per_row, embedded_rows](int64_t unit) {
            const bool statistic = unit >= embedded_rows * per_row;
            const int64_t row = statistic ? unit - embedded_rows * (per_row - 1) : unit / per_row;
            const auto f =
                std::upper_bound(self->fine_begin_.begin(), self->fine_begin_.end(), row) - self->fine_begin_.begin() - 1;
            const Field& field = self->schema_.fields[static_cast<size_t>(f)];
            const int64_t code = row - self->fine_begin_[static_cast<size_t>(f)];
            const std::string name = field.is_lookup() ? fmt::format("{}={}", field.name, value_name(field, code)) : field.name;
            return per_row == 1 || statistic ? name : fmt::format("{}[{}]", name, unit % per_row);
          }};
}

torch::Tensor FieldEmbeddings::fine_rows(const TableBatch& batch) const {
  const torch::Tensor begin = fine_begin_tensor_.narrow(0, 0, static_cast<int64_t>(schema_.fields.size()));
  return batch.codes.index_select(1, fine_slot_) * fine_lookup_ + begin;
}

torch::Tensor FieldEmbeddings::fine_index(const Batch& base, Attach attach) const {
  const torch::Tensor rows = fine_rows(static_cast<const TableBatch&>(base));
  const int64_t examples = rows.size(0);
  const torch::Tensor embedded = rows.narrow(1, 0, embedded_).unsqueeze(2), statistics = rows.narrow(1, embedded_, statistics_);
  if (attach == Attach::input)
    return at::cat({embedded.expand({examples, embedded_, field_width_}).reshape({examples, -1}), statistics}, 1);
  const int64_t skipped = fine_begin_[static_cast<size_t>(embedded_)] * (field_width_ - 1);  // a statistic has one dimension
  return at::cat({(embedded * field_width_ + at::arange(field_width_, rows.options())).reshape({examples, -1}),
                  statistics + skipped},
                 1);
}

torch::Tensor FieldEmbeddings::dimensions_of_fine_units(const torch::Tensor& open, Attach attach) const {
  torch::Tensor kept = at::zeros({width()}, torch::kBool);
  const int64_t per_row = attach == Attach::input ? 1 : field_width_;
  const int64_t embedded_rows = fine_begin_[static_cast<size_t>(embedded_)];
  for (int64_t f = 0; f < embedded_; ++f) {
    const int64_t begin = fine_begin_[static_cast<size_t>(f)], rows = fine_begin_[static_cast<size_t>(f) + 1] - begin;
    const torch::Tensor any = open.narrow(0, begin * per_row, rows * per_row).view({rows, per_row}).any(0);
    kept.narrow(0, f * field_width_, field_width_).copy_(any.expand({field_width_}));
  }
  kept.narrow(0, embedded_ * field_width_, statistics_).copy_(open.narrow(0, embedded_rows * per_row, statistics_));
  return kept;
}

}  // namespace l0gm
