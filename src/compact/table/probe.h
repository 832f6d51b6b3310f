#pragma once

#include <vector>

#include "encode/table/row_encoder.h"
#include "encode/table/statistics.h"
#include "encoders/table/field_embeddings.h"
#include "heads/batch_ensemble.h"
#include "heads/cin.h"
#include "heads/deep.h"
#include "heads/fm.h"
#include "heads/linear.h"
#include "heads/sum.h"
#include "model/model.h"

namespace l0gm {

// Rows as RowEncoder codes them, of one schema.
struct CodedRows {
  int64_t count = 0, code_slots = 0, slope_slots = 0;
  std::vector<int32_t> codes;
  std::vector<float> slopes;
  CodedRows(const Schema& schema, int64_t rows);  // every cell missing, statistics 0
  int32_t* codes_of(int64_t row) { return codes.data() + row * code_slots; }
  float* slopes_of(int64_t row) { return slopes.data() + row * slope_slots; }
};

// A trained table model, asked part by part. It is asked, not taken apart, wherever an answer can be had that way: how an
// embedding is made stays inside the encoder. In double precision, on the CPU, closed gates applied; a gate that depends on the
// example is left out.
class ModelProbe {
 public:
  ModelProbe(Model& model, const GateState& state, const Schema& schema);

  const Schema& schema() const { return row_encoder_.schema(); }
  const RowEncoder& row_encoder() const { return row_encoder_; }
  const StatisticEncoder& statistics() const { return statistics_; }
  bool instance() const { return instance_; }     // gates depend on the example
  const GateSite* site() const { return site_; }  // none when dense
  const GateState& state() const { return state_; }
  const FieldEmbeddings& encoder() const { return *encoder_; }
  const SumHead& sum() const { return *sum_; }
  const LinearHead* linear() const { return linear_; }  // branches that the model does not have are nullptr
  const TermSumHead* term_sum() const { return term_sum_; }
  const DeepHead* deep() const { return deep_; }
  const BatchEnsembleHead* batch() const { return batch_; }  // in place of a deep branch whose members are heads
  DeepHead::Layers deep_layers() const { return deep_->open_layers(state_); }
  BatchEnsembleHead::Layers batch_layers() const { return batch_->open_layers(state_); }
  const FmHead* pairs() const { return pairs_; }
  const CinHead* cin() const { return cin_; }
  int64_t members() const { return sum_->bias().size(0); }
  int64_t outputs() const { return sum_->bias().size(1); }
  int64_t logits() const { return members() * outputs(); }
  int64_t branch_logits() const { return batch_ != nullptr ? outputs() : logits(); }  // of all branches but the deep one
  int64_t width() const { return encoder_->width(); }
  int64_t embedded_dimensions() const { return encoder_->embedded_fields() * encoder_->field_width(); }

  // The interface, all of it: [rows, width].
  torch::Tensor interface(const CodedRows& rows) const;
  // What the linear branch adds to the logits for these fields (statistics too), [rows, branch logits]; zeros without one.
  torch::Tensor terms(const CodedRows& rows, const std::vector<int64_t>& fields) const;
  // The numbers that every interface dimension, [rows, width], and every field's linear term, [rows, fields], are multiplied
  // with.
  torch::Tensor dimension_gates(const CodedRows& rows) const;
  torch::Tensor field_gates(const CodedRows& rows) const;

 private:
  GatePass pass_for(const TableBatch& batch) const;
  TableBatch batch_of(const CodedRows& rows) const;

  Model& model_;
  GateState state_;
  RowEncoder row_encoder_;
  StatisticEncoder statistics_;
  const GateSite* site_ = nullptr;
  bool instance_ = false;
  const FieldEmbeddings* encoder_ = nullptr;
  const SumHead* sum_ = nullptr;
  const LinearHead* linear_ = nullptr;
  const TermSumHead* term_sum_ = nullptr;
  const DeepHead* deep_ = nullptr;
  const BatchEnsembleHead* batch_ = nullptr;
  const FmHead* pairs_ = nullptr;
  const CinHead* cin_ = nullptr;
};

}  // namespace l0gm
