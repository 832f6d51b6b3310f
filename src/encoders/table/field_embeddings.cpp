#include "encoders/table/field_embeddings.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace l0gm {

namespace {

std::vector<int64_t> fields_of(const Schema& schema, const std::vector<FieldKind>& kinds) {
  std::vector<int64_t> fields;
  for (size_t f = 0; f < schema.fields.size(); ++f) {
    if (std::find(kinds.begin(), kinds.end(), schema.fields[f].kind) != kinds.end()) fields.push_back(static_cast<int64_t>(f));
  }
  return fields;
}

std::string value_name(const Field& field, int64_t code) {
  if (field.kind == FieldKind::hashed) return code == 0 ? "(missing)" : fmt::format("#{}", code - 1);
  if (code < 2) return code == 0 ? "(missing)" : "(rare)";
  const auto place = static_cast<size_t>(code - 2);
  return field.kind == FieldKind::exact ? fmt::format("{}", field.values[place]) : field.vocabulary[place];
}

}  // namespace

FieldEmbeddings::FieldEmbeddings(const Schema& schema, const std::vector<FieldCounts>& counts, int64_t width,
                                 StartDeviations start, Sources sources)
    : schema_(schema), field_width_(width), sources_(sources) {
  statistics_ = schema.statistic_slots();
  first_statistic_ = schema.code_slots();
  embedded_ = static_cast<int64_t>(schema.fields.size()) - statistics_;
  const auto add = [&]<class Part>(std::shared_ptr<Part>& part, const char* name, const std::vector<FieldKind>& kinds) {
    const std::vector<int64_t> fields = fields_of(schema, kinds);
    if (fields.empty()) return;
    part = register_module(name, std::make_shared<Part>(schema, counts, fields, width, start));
    parts_.push_back(part);
  };
  std::shared_ptr<NumericRows> numeric;
  add(lookups_, "lookups", {FieldKind::categorical, FieldKind::exact, FieldKind::hashed, FieldKind::multi});
  add(numeric, "numeric", {FieldKind::piecewise, FieldKind::plain});
  add(periodic_, "periodic", {FieldKind::periodic});
  std::vector<int64_t> order(static_cast<size_t>(embedded_));
  int64_t place = 0;
  for (const auto& part : parts_) {
    for (const int64_t f : part->fields()) order[static_cast<size_t>(f)] = place++;
  }
  if (!std::is_sorted(order.begin(), order.end()))
    field_order_ = register_buffer("field_order", at::tensor(order, torch::kInt64));

  if (sources_ == Sources::look_ups) {
    LookUps look_ups = look_ups_of(schema);
    source_names_ = std::move(look_ups.names);
    source_of_field_ = std::move(look_ups.of_field);
  } else {
    find_columns_and_pairs();
  }
  int64_t rows = 0;
  std::vector<int64_t> slot, lookup;
  const std::vector<int64_t> slots = slots_of_fields(schema);
  for (size_t f = 0; f < schema.fields.size(); ++f) {
    const Field& field = schema.fields[f];
    fine_begin_.push_back(rows);
    lookup.push_back(field.is_lookup() ? 1 : 0);
    slot.push_back(field.is_lookup() ? slots[f] : 0);
    rows += field.is_lookup() ? field.rows() : 1;
  }
  fine_begin_.push_back(rows);
  fine_begin_tensor_ = register_buffer("fine_begin", at::tensor(fine_begin_, torch::kInt64));
  fine_slot_ = register_buffer("fine_slot", at::tensor(slot, torch::kInt64));
  fine_lookup_ = register_buffer("fine_lookup", at::tensor(lookup, torch::kInt64));
}

void FieldEmbeddings::find_columns_and_pairs() {
  for (const Column& column : schema_.columns) source_names_.push_back(column.name);
  std::map<std::pair<int64_t, int64_t>, int64_t> pairs;  // the source of two columns, at whatever resolutions they are paired
  for (const Field& field : schema_.fields) {
    const Statistic* statistic =
        field.kind == FieldKind::statistic ? &schema_.statistics[static_cast<size_t>(field.statistic)] : nullptr;
    if (statistic == nullptr || !statistic->of_pair()) {
      source_of_field_.push_back(field.column);
      continue;
    }
    const int64_t second = schema_.column_of(statistic->second);
    const auto [found, is_new] = pairs.try_emplace({field.column, second}, std::ssize(source_names_));
    if (is_new) {
      source_names_.push_back(
          fmt::format("{} x {}", source_names_[static_cast<size_t>(field.column)], source_names_[static_cast<size_t>(second)]));
    }
    source_of_field_.push_back(found->second);
  }
}

void FieldEmbeddings::set_serving_costs(const ServedShape& shape, const ServingPrices& prices) {
  serving_ = serving_costs(schema_, source_of_field_, std::ssize(source_names_), shape, prices);
}

torch::Tensor FieldEmbeddings::fields(const TableBatch& batch) const {
  std::vector<torch::Tensor> made;
  for (const auto& part : parts_) made.push_back(part->forward(batch));
  const torch::Tensor all = made.size() == 1 ? made[0] : at::cat(made, 1);
  return field_order_.defined() ? all.index_select(1, field_order_) : all;
}

torch::Tensor FieldEmbeddings::statistics(const TableBatch& batch) const {
  return batch.slopes.narrow(1, first_statistic_, statistics_);
}

torch::Tensor FieldEmbeddings::forward(const Batch& base, GatePass&) {
  const auto& batch = static_cast<const TableBatch&>(base);
  const torch::Tensor embedded = fields(batch).flatten(1);
  return statistics_ == 0 ? embedded : at::cat({embedded, statistics(batch)}, 1);
}

void FieldEmbeddings::settle() {
  for (const auto& part : parts_) part->settle();
}

std::vector<std::vector<int64_t>> FieldEmbeddings::columns_of_dimension() const {
  std::vector<std::vector<int64_t>> columns;
  for (const Field& field : schema_.fields) {
    std::vector<int64_t> read = {field.column};
    if (field.kind == FieldKind::statistic) {
      const Statistic& statistic = schema_.statistics[static_cast<size_t>(field.statistic)];
      if (statistic.of_pair()) read.push_back(schema_.column_of(statistic.second));
    }
    columns.insert(columns.end(), static_cast<size_t>(field.kind == FieldKind::statistic ? 1 : field_width_), read);
  }
  return columns;
}

std::vector<std::string> FieldEmbeddings::column_names() const {
  std::vector<std::string> names;
  for (const Column& column : schema_.columns) names.push_back(column.name);
  return names;
}

std::vector<int64_t> FieldEmbeddings::parameters_of_dimension() const {
  std::vector<int64_t> counts(static_cast<size_t>(width()), 0);
  for (const auto& part : parts_) {
    for (const int64_t f : part->fields()) {
      const int64_t count = part->parameters_per_dimension(schema_.fields[static_cast<size_t>(f)]);
      for (int64_t d = 0; d < field_width_; ++d) counts[static_cast<size_t>(f * field_width_ + d)] = count;
    }
  }
  return counts;
}

int64_t FieldEmbeddings::parameters_of_terms(const std::vector<bool>& kept_fields) const {
  const std::vector<int64_t> of_dimension = parameters_of_dimension();
  int64_t count = 0;
  for (int64_t d = 0; d < embedded_ * field_width_; ++d) {
    if (kept_fields[static_cast<size_t>(d / field_width_)]) count += of_dimension[static_cast<size_t>(d)];
  }
  return count;
}

// Units of the interface, and of the encoded row (Attach::input). A gate on the encoded row multiplies everything that a field
// contributes by one number, so its units are those of the interface without their dimensions: a field, a column, a single code.

std::string FieldEmbeddings::dimension_name(int64_t d) const {
  const Field& field = schema_.fields[static_cast<size_t>(field_of_dimension(d))];
  return field.kind == FieldKind::statistic ? field.name : fmt::format("{}[{}]", field.name, d % field_width_);
}

// By source; reading a column and cutting its numbers is shared by those that need it.
InterfaceUnits FieldEmbeddings::served_units(const torch::Tensor& index) const {
  const bool pairs = source_names_.size() > schema_.columns.size();
  std::vector<int64_t> users(serving_->units.parts.size(), 0);
  for (const auto& parts : serving_->units.parts_of)
    for (const int64_t part : parts) ++users[static_cast<size_t>(part)];
  const bool shared = std::any_of(users.begin(), users.end(), [](int64_t count) { return count > 1; });
  return {at::tensor(serving_->units.spread(), torch::kFloat64).to(torch::kFloat32),
          index,
          [names = source_names_](int64_t unit) { return names[static_cast<size_t>(unit)]; },
          sources_ == Sources::look_ups ? "look-ups"
          : pairs                       ? "columns and pairs"
                                        : "columns",
          shared ? std::make_shared<const SharedCosts>(serving_->units) : nullptr,
          serving_->besides};
}

InterfaceUnits FieldEmbeddings::units(UnitKind kind, Attach attach) const {
  std::vector<int64_t> field_index, source_index;
  for (int64_t d = 0; d < width(); ++d) {
    field_index.push_back(field_of_dimension(d));
    source_index.push_back(source_of_field_[static_cast<size_t>(field_index.back())]);
  }
  const bool input = attach == Attach::input;
  if (serving_ && !input && (kind == UnitKind::group || (kind == UnitKind::dimension && sources_ == Sources::look_ups)))
    return served_units(at::tensor(source_index, torch::kInt64));
  // Names are made on demand, from a copy, as the encoder may have been destroyed by then.
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
    const bool pairs = source_names_.size() > schema_.columns.size();
    return {cost, index, [self](int64_t unit) { return self->source_names_[static_cast<size_t>(unit)]; },
            pairs ? "columns and pairs" : "columns"};
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
