#include "encoders/table/field_embeddings.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "data/table/batches.h"
#include "l0gm/error.h"

namespace l0gm {

namespace {

constexpr double category_deviation = 0.2, direction_deviation = 0.1;

torch::Tensor integers(const std::vector<int64_t>& values) { return at::tensor(values, torch::kInt64); }

torch::Tensor reals(const std::vector<double>& values) { return at::tensor(values, torch::kFloat64).to(torch::kFloat32); }

}  // namespace

FieldEmbeddings::FieldEmbeddings(const Schema& schema, const std::vector<FieldCounts>& counts, int64_t width)
    : schema_(schema), field_width_(width) {
  std::vector<int64_t> category_offset, numeric_offset, order(schema.fields.size());
  std::vector<double> category_share, category_untrained;
  for (size_t f = 0; f < schema.fields.size(); ++f) {
    if (categorical(f)) {
      category_offset.push_back(category_rows_);
      category_rows_ += schema.fields[f].rows();
      categorical_fields_.push_back(static_cast<int64_t>(f));
      const double total = std::max(1.0, std::accumulate(counts[f].count.begin(), counts[f].count.end(), 0.0));
      for (const double count : counts[f].count) {
        category_share.push_back(count / total);
        category_untrained.push_back(count == 0 ? 1 : 0);
      }
    } else {
      most_bins_ = std::max(most_bins_, schema.fields[f].rows() - 1);
      numeric_fields_.push_back(static_cast<int64_t>(f));
    }
  }
  for (size_t i = 0; i < numeric_fields_.size(); ++i) numeric_offset.push_back(static_cast<int64_t>(i) * (most_bins_ + 1));
  for (size_t i = 0; i < categorical_fields_.size(); ++i) order[static_cast<size_t>(categorical_fields_[i])] = static_cast<int64_t>(i);
  for (size_t i = 0; i < numeric_fields_.size(); ++i) {
    order[static_cast<size_t>(numeric_fields_[i])] = static_cast<int64_t>(categorical_fields_.size() + i);
  }
  category_offset_ = register_buffer("category_offset", integers(category_offset));
  numeric_offset_ = register_buffer("numeric_offset", integers(numeric_offset));
  field_order_ = register_buffer("field_order", integers(order));
  categorical_positions_ = register_buffer("categorical_positions", integers(categorical_fields_));
  numeric_positions_ = register_buffer("numeric_positions", integers(numeric_fields_));
  category_share_ = register_buffer("category_share", reals(category_share));
  category_untrained_ = register_buffer("category_untrained", reals(category_untrained));
  const auto numeric = static_cast<int64_t>(numeric_fields_.size());
  torch::Tensor share = at::zeros({numeric, most_bins_ + 1}), slope_share = at::zeros({numeric, most_bins_ + 1});
  torch::Tensor untrained = at::zeros({numeric});
  for (size_t i = 0; i < numeric_fields_.size(); ++i) {
    const FieldCounts& field = counts[static_cast<size_t>(numeric_fields_[i])];
    const double total = std::max(1.0, std::accumulate(field.count.begin(), field.count.end(), 0.0));
    for (size_t code = 0; code < field.count.size(); ++code) {
      share[static_cast<int64_t>(i)][static_cast<int64_t>(code)] = field.count[code] / total;
      slope_share[static_cast<int64_t>(i)][static_cast<int64_t>(code)] = field.slope_sum[code] / total;
    }
    if (field.count[0] == 0) untrained[static_cast<int64_t>(i)] = 1;
  }
  numeric_share_ = register_buffer("numeric_share", share);
  numeric_slope_share_ = register_buffer("numeric_slope_share", slope_share);
  numeric_untrained_missing_ = register_buffer("numeric_untrained_missing", untrained);
  categories_ = register_parameter("categories", at::randn({category_rows_, width}) * category_deviation);
  starts_ = register_parameter("starts", at::randn({numeric, width}) * category_deviation);
  missing_ = register_parameter("missing", at::randn({numeric, width}) * category_deviation);
  directions_ = register_parameter("directions", at::randn({numeric, most_bins_, width}) * direction_deviation);
}

torch::Tensor FieldEmbeddings::numeric_rows() const {
  const torch::Tensor sums = at::cumsum(directions_, 1) - directions_;  // of the bins below each bin
  return at::cat({missing_.unsqueeze(1), sums + starts_.unsqueeze(1)}, 1);
}

torch::Tensor FieldEmbeddings::forward(const Batch& base, GatePass&) {
  const auto& batch = static_cast<const TableBatch&>(base);
  const int64_t examples = batch.codes.size(0);
  std::vector<torch::Tensor> parts;
  if (!categorical_fields_.empty()) {
    const torch::Tensor rows = batch.codes.index_select(1, categorical_positions_) + category_offset_;
    parts.push_back(at::embedding(categories_, rows));
  }
  if (!numeric_fields_.empty()) {
    const torch::Tensor rows = batch.codes.index_select(1, numeric_positions_) + numeric_offset_;
    const torch::Tensor slopes = batch.slopes.index_select(1, numeric_positions_).unsqueeze(2);
    const torch::Tensor at_zero = numeric_rows().reshape({-1, field_width_});
    const torch::Tensor direction = at::constant_pad_nd(directions_, {0, 0, 1, 0}).reshape({-1, field_width_});
    parts.push_back(at::embedding(at_zero, rows) + slopes * at::embedding(direction, rows));
  }
  const bool in_order = categorical_fields_.empty() || numeric_fields_.empty();
  torch::Tensor fields = in_order ? parts[0] : at::cat(parts, 1).index_select(1, field_order_);
  return fields.reshape({examples, width()});
}

void FieldEmbeddings::settle() {
  torch::NoGradGuard no_grad;
  for (size_t i = 0; i < categorical_fields_.size(); ++i) {
    const int64_t begin = category_offset_[static_cast<int64_t>(i)].item<int64_t>();
    const int64_t count = schema_.fields[static_cast<size_t>(categorical_fields_[i])].rows();
    torch::Tensor rows = categories_.narrow(0, begin, count);
    const torch::Tensor share = category_share_.narrow(0, begin, count).to(rows.scalar_type());
    const torch::Tensor untrained = category_untrained_.narrow(0, begin, count).to(torch::kBool).unsqueeze(1);
    rows.copy_(at::where(untrained, at::matmul(share, rows).unsqueeze(0), rows));
  }
  if (numeric_fields_.empty()) return;
  const torch::Tensor direction = at::constant_pad_nd(directions_, {0, 0, 1, 0});
  const auto real = directions_.scalar_type();
  const torch::Tensor mean = at::bmm(numeric_share_.to(real).unsqueeze(1), numeric_rows()).squeeze(1) +
                             at::bmm(numeric_slope_share_.to(real).unsqueeze(1), direction).squeeze(1);
  missing_.copy_(at::where(numeric_untrained_missing_.to(torch::kBool).unsqueeze(1), mean, missing_));
}

std::vector<int64_t> FieldEmbeddings::source_of_dimension() const {
  std::vector<int64_t> source;
  for (const Field& field : schema_.fields) source.insert(source.end(), static_cast<size_t>(field_width_), field.column);
  return source;
}

std::vector<std::string> FieldEmbeddings::source_names() const {
  std::vector<std::string> names;
  for (const Column& column : schema_.columns) names.push_back(column.name);
  return names;
}

InterfaceUnits FieldEmbeddings::units(UnitKind kind) const {
  const int64_t per_field = field_width_;
  const auto name_dimension = [fields = schema_.fields, per_field](int64_t unit) {
    return fmt::format("{}[{}]", fields[static_cast<size_t>(unit / per_field)].name, unit % per_field);
  };
  if (kind == UnitKind::dimension) return {at::ones({width()}), {}, name_dimension};
  if (kind == UnitKind::group) {
    const std::vector<int64_t> source = source_of_dimension();
    torch::Tensor cost = at::zeros({static_cast<int64_t>(schema_.columns.size())});
    const torch::Tensor index = integers(source);
    cost.index_add_(0, index, at::ones({width()}));
    return {cost, index, [names = source_names()](int64_t unit) { return names[static_cast<size_t>(unit)]; }};
  }
  // Fine: category row x dimension, then numeric field x dimension; the units of one dimension cost 1 together.
  std::vector<double> cost;
  for (const int64_t f : categorical_fields_) {
    const int64_t rows = schema_.fields[static_cast<size_t>(f)].rows();
    cost.insert(cost.end(), static_cast<size_t>(rows * per_field), 1.0 / static_cast<double>(rows));
  }
  cost.insert(cost.end(), numeric_fields_.size() * static_cast<size_t>(per_field), 1.0);
  return {reals(cost), {}, [schema = schema_, cats = categorical_fields_, nums = numeric_fields_, per_field](int64_t unit) {
            int64_t row = unit / per_field;
            for (const int64_t f : cats) {
              const Field& field = schema.fields[static_cast<size_t>(f)];
              if (row >= field.rows()) {
                row -= field.rows();
                continue;
              }
              const std::string value = row == 0 ? "(missing)" : row == 1 ? "(rare)" : field.vocabulary[static_cast<size_t>(row - 2)];
              return fmt::format("{}={}[{}]", field.name, value, unit % per_field);
            }
            return fmt::format("{}[{}]", schema.fields[static_cast<size_t>(nums[static_cast<size_t>(row)])].name, unit % per_field);
          }};
}

torch::Tensor FieldEmbeddings::fine_index(const Batch& base) const {
  const auto& batch = static_cast<const TableBatch&>(base);
  const auto options = batch.codes.options();
  std::vector<torch::Tensor> parts;
  if (!categorical_fields_.empty()) parts.push_back(batch.codes.index_select(1, categorical_positions_) + category_offset_);
  if (!numeric_fields_.empty()) {
    const auto numeric = static_cast<int64_t>(numeric_fields_.size());
    parts.push_back((at::arange(numeric, options) + category_rows_).unsqueeze(0).expand({batch.codes.size(0), numeric}));
  }
  const torch::Tensor rows = at::cat(parts, 1).index_select(1, field_order_);
  return (rows.unsqueeze(2) * field_width_ + at::arange(field_width_, options)).reshape({batch.codes.size(0), width()});
}

torch::Tensor FieldEmbeddings::dimensions_of_fine_units(const torch::Tensor& open) const {
  torch::Tensor kept = at::zeros({static_cast<int64_t>(schema_.fields.size()), field_width_}, torch::kBool);
  const torch::Tensor rows = open.view({-1, field_width_});
  int64_t begin = 0;
  for (const int64_t f : categorical_fields_) {
    const int64_t count = schema_.fields[static_cast<size_t>(f)].rows();
    kept[f] = rows.narrow(0, begin, count).any(0);
    begin += count;
  }
  for (const int64_t f : numeric_fields_) kept[f] = rows[begin++];
  return kept.view({-1});
}

std::vector<int64_t> FieldEmbeddings::parameters_of_dimension() const {
  std::vector<int64_t> counts;
  for (size_t f = 0; f < schema_.fields.size(); ++f) {
    const int64_t rows = schema_.fields[f].rows() + (categorical(f) ? 0 : 1);  // numeric: + start
    counts.insert(counts.end(), static_cast<size_t>(field_width_), rows);
  }
  return counts;
}

}  // namespace l0gm
