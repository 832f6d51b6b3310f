#include "encoders/table/field_rows.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <numbers>
#include <numeric>

namespace l0gm {

namespace {

constexpr int64_t ranks = 256;               // training slopes whose embeddings are averaged
constexpr double frequency_deviation = 0.5;  // periods over one standard deviation of the column, at the start

torch::Tensor integers(const std::vector<int64_t>& values) { return at::tensor(values, torch::kInt64); }

torch::Tensor reals(const std::vector<double>& values) { return at::tensor(values, torch::kFloat64).to(torch::kFloat32); }

torch::Tensor start_at(std::vector<int64_t> shape, double deviation) {
  return deviation == 0 ? at::zeros(shape) : at::randn(shape) * deviation;
}

torch::Tensor slots_of(const Schema& schema, const std::vector<int64_t>& fields) {
  const std::vector<int64_t> all = slots_of_fields(schema);
  std::vector<int64_t> slots;
  for (const int64_t f : fields) slots.push_back(all[static_cast<size_t>(f)]);
  return integers(slots);
}

double total(const FieldCounts& counts) { return std::max(1.0, std::accumulate(counts.count.begin(), counts.count.end(), 0.0)); }

// 1 for each field whose values were never missing in training.
torch::Tensor never_missing(const std::vector<FieldCounts>& counts, const std::vector<int64_t>& fields) {
  std::vector<double> flags;
  for (const int64_t f : fields) flags.push_back(counts[static_cast<size_t>(f)].count[0] == 0 ? 1 : 0);
  return reals(flags);
}

}  // namespace

LookupRows::LookupRows(const Schema& schema, const std::vector<FieldCounts>& counts, std::vector<int64_t> fields, int64_t width,
                       StartDeviations start)
    : FieldRows(std::move(fields)) {
  const std::vector<int64_t> slots = slots_of_fields(schema);
  std::vector<int64_t> offset, slot, slot_offset;
  std::vector<double> share, untrained;
  int64_t rows = 0;
  for (const int64_t f : this->fields()) {
    const Field& field = schema.fields[static_cast<size_t>(f)];
    offset.push_back(rows);
    row_counts_.push_back(field.rows());
    slot_counts_.push_back(field.slots);
    single_ = single_ && field.kind != FieldKind::multi;
    for (int64_t i = 0; i < field.slots; ++i) {
      slot.push_back(slots[static_cast<size_t>(f)] + i);
      slot_offset.push_back(rows);
    }
    const FieldCounts& counted = counts[static_cast<size_t>(f)];
    for (const double count : counted.count) {
      share.push_back(count / total(counted));
      untrained.push_back(count == 0 ? 1 : 0);
    }
    rows += field.rows();
  }
  rows_ = register_parameter("rows", start_at({rows, width}, start.rows));
  offset_ = register_buffer("offset", integers(offset));
  slot_ = register_buffer("slot", integers(slot));
  slot_offset_ = register_buffer("slot_offset", integers(slot_offset));
  share_ = register_buffer("share", reals(share));
  untrained_ = register_buffer("untrained", reals(untrained));
}

torch::Tensor LookupRows::forward(const TableBatch& batch) const {
  const torch::Tensor found =
      at::embedding(rows_, batch.codes.index_select(1, slot_) + slot_offset_);  // [examples, slots, width]
  if (single_) return found;
  const torch::Tensor weights = batch.slopes.index_select(1, slot_).unsqueeze(2);
  std::vector<torch::Tensor> parts;
  int64_t begin = 0;
  for (const int64_t slots : slot_counts_) {
    const torch::Tensor part = found.narrow(1, begin, slots);
    const bool multi = slots > 1;  // the weight of a single slot is always 1, or not used
    parts.push_back(multi ? (part * weights.narrow(1, begin, slots)).sum(1, true) : part);
    begin += slots;
  }
  return at::cat(parts, 1);
}

void LookupRows::settle() {
  torch::NoGradGuard no_grad;
  int64_t begin = 0;
  for (const int64_t count : row_counts_) {
    torch::Tensor rows = rows_.narrow(0, begin, count);
    const torch::Tensor share = share_.narrow(0, begin, count).to(rows.scalar_type());
    const torch::Tensor untrained = untrained_.narrow(0, begin, count).to(torch::kBool).unsqueeze(1);
    rows.copy_(at::where(untrained, at::matmul(share, rows).unsqueeze(0), rows));
    begin += count;
  }
}

NumericRows::NumericRows(const Schema& schema, const std::vector<FieldCounts>& counts, std::vector<int64_t> fields, int64_t width,
                         StartDeviations start)
    : FieldRows(std::move(fields)) {
  for (const int64_t f : this->fields()) most_bins_ = std::max(most_bins_, schema.fields[static_cast<size_t>(f)].rows() - 1);
  const auto numeric = static_cast<int64_t>(this->fields().size()), codes = most_bins_ + 1;
  std::vector<double> share(static_cast<size_t>(numeric * codes), 0), slope_share = share;
  std::vector<int64_t> offset;
  for (int64_t i = 0; i < numeric; ++i) {
    offset.push_back(i * codes);
    const FieldCounts& field = counts[static_cast<size_t>(this->fields()[static_cast<size_t>(i)])];
    for (size_t code = 0; code < field.count.size(); ++code) {
      share[static_cast<size_t>(i * codes) + code] = field.count[code] / total(field);
      slope_share[static_cast<size_t>(i * codes) + code] = field.slope_sum[code] / total(field);
    }
  }
  starts_ = register_parameter("starts", start_at({numeric, width}, start.rows));
  missing_ = register_parameter("missing", start_at({numeric, width}, start.rows));
  torch::Tensor directions = start_at({numeric, most_bins_, width}, start.directions);
  for (int64_t i = 0; i < numeric; ++i) {  // places of bins that a field does not have: nothing reads them
    const int64_t bins = schema.fields[static_cast<size_t>(this->fields()[static_cast<size_t>(i)])].rows() - 1;
    directions[i].slice(0, bins).zero_();
  }
  directions_ = register_parameter("directions", directions);
  slot_ = register_buffer("slot", slots_of(schema, this->fields()));
  offset_ = register_buffer("offset", integers(offset));
  share_ = register_buffer("share", reals(share).view({numeric, codes}));
  slope_share_ = register_buffer("slope_share", reals(slope_share).view({numeric, codes}));
  untrained_missing_ = register_buffer("untrained_missing", never_missing(counts, this->fields()));
}

torch::Tensor NumericRows::rows_at_zero() const {
  const torch::Tensor below = at::cumsum(directions_, 1) - directions_;
  return at::cat({missing_.unsqueeze(1), below + starts_.unsqueeze(1)}, 1);
}

torch::Tensor NumericRows::forward(const TableBatch& batch) const {
  const int64_t width = starts_.size(1);
  const torch::Tensor rows = batch.codes.index_select(1, slot_) + offset_;
  const torch::Tensor slopes = batch.slopes.index_select(1, slot_).unsqueeze(2);
  const torch::Tensor direction = at::constant_pad_nd(directions_, {0, 0, 1, 0}).reshape({-1, width});
  return at::addcmul(at::embedding(rows_at_zero().reshape({-1, width}), rows), slopes, at::embedding(direction, rows));
}

void NumericRows::settle() {
  torch::NoGradGuard no_grad;
  const auto real = directions_.scalar_type();
  const torch::Tensor direction = at::constant_pad_nd(directions_, {0, 0, 1, 0});
  const torch::Tensor mean = at::bmm(share_.to(real).unsqueeze(1), rows_at_zero()).squeeze(1) +
                             at::bmm(slope_share_.to(real).unsqueeze(1), direction).squeeze(1);
  missing_.copy_(at::where(untrained_missing_.to(torch::kBool).unsqueeze(1), mean, missing_));
}

PeriodicRows::PeriodicRows(const Schema& schema, const std::vector<FieldCounts>& counts, std::vector<int64_t> fields,
                           int64_t width, StartDeviations start)
    : FieldRows(std::move(fields)) {
  const auto count = static_cast<int64_t>(this->fields().size());
  starts_ = register_parameter("starts", start_at({count, width}, start.rows));
  missing_ = register_parameter("missing", start_at({count, width}, start.rows));
  frequencies_ = register_parameter("frequencies", at::randn({count, frequencies}) * frequency_deviation);
  map_ = register_parameter("map", start_at({count, 2 * frequencies, width}, start.directions));
  slot_ = register_buffer("slot", slots_of(schema, this->fields()));
  untrained_missing_ = register_buffer("untrained_missing", never_missing(counts, this->fields()));
  std::vector<double> ranked;
  for (const int64_t f : this->fields()) {
    const std::vector<double>& slopes = counts[static_cast<size_t>(f)].slopes;
    for (size_t i = 0; i < ranks; ++i) ranked.push_back(slopes.empty() ? 0 : slopes[i * slopes.size() / ranks]);
  }
  ranked_ = register_buffer("ranked", reals(ranked).view({count, ranks}).t().contiguous());
}

torch::Tensor PeriodicRows::at(const torch::Tensor& slopes) const {
  const torch::Tensor angle = slopes.unsqueeze(2) * frequencies_ * (2 * std::numbers::pi);
  const torch::Tensor waves = at::cat({at::sin(angle), at::cos(angle)}, 2).transpose(0, 1);  // [fields, examples, 2 frequencies]
  return at::baddbmm(starts_.unsqueeze(1), waves, map_).transpose(0, 1);
}

torch::Tensor PeriodicRows::forward(const TableBatch& batch) const {
  const torch::Tensor present = batch.codes.index_select(1, slot_).ne(0).unsqueeze(2);
  return at::where(present, at(batch.slopes.index_select(1, slot_)), missing_.unsqueeze(0));
}

void PeriodicRows::settle() {
  torch::NoGradGuard no_grad;
  missing_.copy_(
      at::where(untrained_missing_.to(torch::kBool).unsqueeze(1), at(ranked_.to(starts_.scalar_type())).mean(0), missing_));
}

}  // namespace l0gm
