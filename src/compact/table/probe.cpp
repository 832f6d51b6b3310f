#include "compact/table/probe.h"

#include <ATen/Functions.h>

#include <stdexcept>

namespace l0gm {

CodedRows::CodedRows(const Schema& schema, int64_t rows)
    : count(rows),
      code_slots(schema.code_slots()),
      slope_slots(schema.slope_slots()),
      codes(static_cast<size_t>(rows * code_slots), 0),
      slopes(static_cast<size_t>(rows * slope_slots), 0.0F) {}

ModelProbe::ModelProbe(Model& model, const GateState& state, const Schema& schema)
    : model_(model), state_(state), row_encoder_(schema), statistics_(schema) {
  encoder_ = dynamic_cast<const FieldEmbeddings*>(&model.encoder());
  sum_ = dynamic_cast<const SumHead*>(&model.head());
  if (encoder_ == nullptr || sum_ == nullptr) throw std::logic_error("ModelProbe: not a table model");
  for (const auto& branch : sum_->branches()) {
    const auto is = [&]<class Kind>(const Kind*& place) { return (place = dynamic_cast<const Kind*>(branch.get())) != nullptr; };
    const bool known = (linear_ == nullptr && is(linear_)) || (term_sum_ == nullptr && is(term_sum_)) ||
                       (deep_ == nullptr && is(deep_)) || (batch_ == nullptr && is(batch_)) ||
                       (pairs_ == nullptr && is(pairs_)) || (cin_ == nullptr && is(cin_));
    if (!known) throw std::logic_error("ModelProbe: a branch of an unknown kind");
  }
  site_ = model.interface_site();
  instance_ = site_ != nullptr && site_->gate->has_instance_logits();
}

TableBatch ModelProbe::batch_of(const CodedRows& rows) const {
  TableBatch batch;
  batch.example_ids = at::zeros({rows.count}, torch::kInt64);
  batch.codes = at::tensor(rows.codes, torch::kInt32).to(torch::kInt64).view({rows.count, rows.code_slots});
  batch.slopes = at::tensor(rows.slopes, torch::kFloat32).to(torch::kFloat64).view({rows.count, rows.slope_slots});
  return batch;
}

GatePass ModelProbe::pass_for(const TableBatch& batch) const {
  GatePass pass = GatePass::evaluation(state_, batch.example_ids);
  if (!instance_) model_.interface(batch, pass);  // what the gates did is on record now
  return pass;
}

torch::Tensor ModelProbe::interface(const CodedRows& rows) const {
  const TableBatch batch = batch_of(rows);
  GatePass pass = GatePass::evaluation(state_, batch.example_ids);
  return instance_ ? model_.encoder().forward(batch, pass) : model_.interface(batch, pass);
}

torch::Tensor ModelProbe::terms(const CodedRows& rows, const std::vector<int64_t>& fields) const {
  torch::Tensor sum = at::zeros({rows.count, branch_logits()}, torch::kFloat64);
  if (linear_ == nullptr) return sum;
  const TableBatch batch = batch_of(rows);
  const LinearHead::Terms terms = linear_->terms(batch, pass_for(batch));
  const int64_t embedded = encoder_->embedded_fields();
  for (const int64_t f : fields) {
    if (f < embedded) {
      sum += terms.fields.select(1, f);
    } else {
      sum += terms.statistics.narrow(1, f - embedded, 1) * linear_->statistic_weights().select(0, f - embedded);
    }
  }
  return sum;
}

torch::Tensor ModelProbe::dimension_gates(const CodedRows& rows) const {
  const GatePass pass = pass_for(batch_of(rows));
  const GatePass::Record* record = pass.interface_record();
  const bool open = record == nullptr || !record->gated.gates.defined();
  if (open) return at::ones({rows.count, width()}, torch::kFloat64);
  return record->gated.gates.view({-1, width()}).expand({rows.count, width()}).to(torch::kFloat64);
}

torch::Tensor ModelProbe::field_gates(const CodedRows& rows) const {
  const auto fields = static_cast<int64_t>(schema().fields.size());
  const torch::Tensor gates = linear_ == nullptr ? torch::Tensor{} : linear_->field_gates(pass_for(batch_of(rows)));
  return gates.defined() ? gates.expand({rows.count, fields}) : at::ones({rows.count, fields}, torch::kFloat64);
}

}  // namespace l0gm
