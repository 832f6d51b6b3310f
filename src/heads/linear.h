#pragma once

#include "encoders/table/field_embeddings.h"
#include "heads/head.h"
#include "heads/largest_gates.h"

namespace l0gm {

// A linear term over the raw input: a weight per category, a piecewise-linear function per number, a weight per statistic. The
// term of a source (a column, a pair of columns) is multiplied by the largest gate of the source's units: a column that is closed
// at the interface is closed here too.
class LinearHead : public Head {
 public:
  LinearHead(const Schema& schema, const std::vector<FieldCounts>& counts, const FieldEmbeddings& interface, HeadShape shape);
  torch::Tensor forward(const torch::Tensor& interface, const Batch& batch, GatePass& pass) override;
  int64_t parameters_with(const torch::Tensor& kept) const override;
  void settle() override { terms_->settle(); }
  bool reads_gates() const override { return true; }

  // The term of each field, [examples, fields, members * outputs], and the statistics' numbers, [examples, statistics], times
  // their gates; `pass` without a record: ungated.
  struct Terms {
    torch::Tensor fields, statistics;
  };
  Terms terms(const TableBatch& batch, const GatePass& pass) const;
  const torch::Tensor& statistic_weights() const { return statistic_weights_; }
  const FieldEmbeddings& encodings() const { return *terms_; }

  // The largest gate of each field's source, [examples or 1, all fields]; undefined while all gates are open.
  torch::Tensor field_gates(const GatePass& pass) const;

 private:
  HeadShape shape_;
  std::shared_ptr<FieldEmbeddings> terms_;  // of width members * outputs
  torch::Tensor statistic_weights_;         // [statistics, members * outputs]
  torch::Tensor fields_of_source_;          // [sources, most fields of one]: padded with the number of fields
  torch::Tensor source_of_field_;
  SourcesOfDimensions sources_;  // of the interface
};

// The same for a model without other branches: the interface holds the terms themselves, gated by column; this head sums them.
class TermSumHead : public Head {
 public:
  explicit TermSumHead(HeadShape shape);  // shape.width = members * outputs
  torch::Tensor forward(const torch::Tensor& interface, const Batch& batch, GatePass& pass) override;
  int64_t parameters_with(const torch::Tensor& kept) const override;
  const torch::Tensor& statistic_weights() const { return statistic_weights_; }

 private:
  HeadShape shape_;
  torch::Tensor statistic_weights_;
};

}  // namespace l0gm
