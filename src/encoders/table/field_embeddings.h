#pragma once

#include "data/table/encode/schema.h"
#include "data/table/encoded.h"
#include "encoders/encoder.h"

namespace l0gm {

// A table's interface: the concatenated embeddings of its fields, each of `width` dimensions, in the schema's order of fields.
//   categorical  embedding = row[code]
//   numeric      embedding = start + sum of the directions of the bins below + slope * direction[bin]; missing has a row of its own
// Codes that no training row has get the mean training embedding of their field (settle()).
class FieldEmbeddings : public Encoder {
 public:
  FieldEmbeddings(const Schema& schema, const std::vector<FieldCounts>& counts, int64_t width);

  torch::Tensor forward(const Batch& batch, GatePass& pass) override;
  int64_t width() const override { return static_cast<int64_t>(schema_.fields.size()) * field_width_; }
  InterfaceUnits units(UnitKind kind) const override;
  torch::Tensor fine_index(const Batch& batch) const override;
  std::vector<int64_t> source_of_dimension() const override;
  std::vector<std::string> source_names() const override;
  std::vector<int64_t> parameters_of_dimension() const override;
  torch::Tensor dimensions_of_fine_units(const torch::Tensor& open) const override;
  void settle() override;

 private:
  bool categorical(size_t field) const { return schema_.fields[field].kind == FieldKind::categorical; }
  torch::Tensor numeric_rows() const;  // [numeric fields, codes, width]: the embedding at slope 0 of each code

  Schema schema_;
  int64_t field_width_;
  int64_t most_bins_ = 0, category_rows_ = 0;
  std::vector<int64_t> categorical_fields_, numeric_fields_;
  torch::Tensor categories_;                       // [all category rows, width]
  torch::Tensor starts_, missing_, directions_;    // [numeric, width], [numeric, width], [numeric, bins, width]
  torch::Tensor category_offset_, numeric_offset_; // where each field's codes begin
  torch::Tensor field_order_;                      // back from (categorical, numeric) to the schema's order
  torch::Tensor categorical_positions_, numeric_positions_;
  torch::Tensor category_share_, category_untrained_;                 // [rows]: share of training rows; no training row
  torch::Tensor numeric_share_, numeric_slope_share_, numeric_untrained_missing_;
};

}  // namespace l0gm
