#include "heads/linear.h"

#include <ATen/Functions.h>

#include <algorithm>

namespace l0gm {

LinearHead::LinearHead(const Schema& schema, const std::vector<FieldCounts>& counts, const FieldEmbeddings& interface,
                       HeadShape shape)
    : shape_(shape) {
  const int64_t outputs = shape.members * shape.outputs;
  terms_ = register_module("terms", std::make_shared<FieldEmbeddings>(schema, counts, outputs, StartDeviations{0, 0}));
  statistic_weights_ = register_parameter("statistic_weights", at::zeros({shape.statistics, outputs}));
  const std::vector<int64_t>& source = interface.source_of_field();
  std::vector<std::vector<int64_t>> fields(interface.source_names().size());
  size_t most = 1;
  for (size_t f = 0; f < source.size(); ++f) {
    auto& list = fields[static_cast<size_t>(source[f])];
    list.push_back(static_cast<int64_t>(f));
    most = std::max(most, list.size());
  }
  std::vector<int64_t> padded;
  for (auto& list : fields) {
    list.resize(most, static_cast<int64_t>(source.size()));
    padded.insert(padded.end(), list.begin(), list.end());
  }
  fields_of_source_ =
      register_buffer("fields_of_source",
                      at::tensor(padded, torch::kInt64).view({static_cast<int64_t>(fields.size()), static_cast<int64_t>(most)}));
  source_of_field_ = register_buffer("source_of_field", at::tensor(source, torch::kInt64));
  std::vector<int64_t> by_dimension;
  for (int64_t f = 0; f < shape.fields; ++f)
    by_dimension.insert(by_dimension.end(), static_cast<size_t>(shape.width), source[static_cast<size_t>(f)]);
  by_dimension.insert(by_dimension.end(), source.begin() + shape.fields, source.end());
  sources_ = SourcesOfDimensions(by_dimension, static_cast<int64_t>(interface.source_names().size()));
  sources_.offsets = register_buffer("source_offsets", sources_.offsets);
  sources_.dimensions = register_buffer("source_dimensions", sources_.dimensions);
}

torch::Tensor LinearHead::field_gates(const GatePass& pass) const {
  const GatePass::Record* at_interface = pass.interface_record();
  if (at_interface == nullptr) return {};
  const GatePass::Record& record = *at_interface;
  // While units are ranked by gradient, all are open: the probe takes the place of the gates, so that a column's term here counts
  // too.
  const torch::Tensor found = record.gated.gates.defined() ? record.gated.gates : record.probe;
  if (!found.defined()) return {};
  const torch::Tensor gates = found.view({-1, shape_.dimensions()}).to(statistic_weights_.scalar_type());
  if (record.gated.gates.defined() && has_largest_gates(gates))
    return largest_gates(gates, sources_).index_select(1, source_of_field_);
  const int64_t embedded = shape_.fields * shape_.width;
  const torch::Tensor of_field = gates.narrow(1, 0, embedded).view({-1, shape_.fields, shape_.width}).amax(2);
  const torch::Tensor closed = at::zeros({gates.size(0), 1}, gates.options());
  const torch::Tensor all = at::cat({of_field, gates.narrow(1, embedded, shape_.statistics), closed}, 1);
  const torch::Tensor by_source =
      all.index_select(1, fields_of_source_.view({-1})).view({-1, fields_of_source_.size(0), fields_of_source_.size(1)}).amax(2);
  return by_source.index_select(1, source_of_field_);
}

LinearHead::Terms LinearHead::terms(const TableBatch& batch, const GatePass& pass) const {
  Terms terms{terms_->fields(batch), terms_->statistics(batch)};
  if (const torch::Tensor gates = field_gates(pass); gates.defined()) {
    terms.fields = terms.fields * gates.narrow(1, 0, shape_.fields).unsqueeze(2);
    terms.statistics = terms.statistics * gates.narrow(1, shape_.fields, shape_.statistics);
  }
  return terms;
}

torch::Tensor LinearHead::forward(const torch::Tensor&, const Batch& base, GatePass& pass) {
  const Terms all = terms(static_cast<const TableBatch&>(base), pass);
  const torch::Tensor sum = at::addmm(all.fields.sum(1), all.statistics, statistic_weights_);
  return sum.view({-1, shape_.members, shape_.outputs});
}

int64_t LinearHead::parameters_with(const torch::Tensor& kept) const {
  std::vector<bool> open_source(static_cast<size_t>(fields_of_source_.size(0)), false), open_field;
  const torch::Tensor source = source_of_field_.cpu();
  const auto source_of = [&](int64_t f) { return static_cast<size_t>(source[f].item<int64_t>()); };
  for (int64_t d = 0; d < shape_.dimensions(); ++d) {
    const int64_t embedded = shape_.fields * shape_.width;
    if (kept[d].item<bool>()) open_source[source_of(d < embedded ? d / shape_.width : shape_.fields + d - embedded)] = true;
  }
  for (int64_t f = 0; f < shape_.fields; ++f) open_field.push_back(open_source[source_of(f)]);
  int64_t count = terms_->parameters_of_terms(open_field);
  for (int64_t s = 0; s < shape_.statistics; ++s)
    count += open_source[source_of(shape_.fields + s)] ? statistic_weights_.size(1) : 0;
  return count;
}

TermSumHead::TermSumHead(HeadShape shape) : shape_(shape) {
  statistic_weights_ = register_parameter("statistic_weights", at::zeros({shape.statistics, shape.width}));
}

torch::Tensor TermSumHead::forward(const torch::Tensor& interface, const Batch&, GatePass&) {
  const torch::Tensor statistics = interface.narrow(1, shape_.fields * shape_.width, shape_.statistics);
  return at::addmm(shape_.embeddings(interface).sum(1), statistics, statistic_weights_)
      .view({-1, shape_.members, shape_.outputs});
}

int64_t TermSumHead::parameters_with(const torch::Tensor& kept) const {
  return kept.narrow(0, shape_.fields * shape_.width, shape_.statistics).sum().item<int64_t>() * shape_.width;
}

}  // namespace l0gm
