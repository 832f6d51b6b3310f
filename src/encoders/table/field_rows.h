#pragma once

#include <torch/nn/module.h>

#include <vector>

#include "batches/table/table_batches.h"

// Modules that turn the codes and slopes of some fields of a schema into vectors of `width`, one per kind of encoding.
namespace l0gm {

// Standard deviations of the initial embeddings; 0: all zero.
struct StartDeviations {
  double rows = 0.2;        // a row per code
  double directions = 0.1;  // the vectors that slopes multiply
};

class FieldRows : public torch::nn::Module {
 public:
  explicit FieldRows(std::vector<int64_t> fields) : fields_(std::move(fields)) {}
  const std::vector<int64_t>& fields() const { return fields_; }     // of the schema, ascending
  virtual torch::Tensor forward(const TableBatch& batch) const = 0;  // [examples, fields, width]
  // Codes that no training row has get the mean training embedding of their field.
  virtual void settle() = 0;
  virtual int64_t parameters_per_dimension(const Field& field) const = 0;  // of one embedding dimension of one field

 private:
  std::vector<int64_t> fields_;
};

// Categorical, exact, hashed: row[code]. Multi: sum of slope * row[code] over the field's slots.
class LookupRows : public FieldRows {
 public:
  LookupRows(const Schema& schema, const std::vector<FieldCounts>& counts, std::vector<int64_t> fields, int64_t width,
             StartDeviations start);
  torch::Tensor forward(const TableBatch& batch) const override;
  void settle() override;
  int64_t parameters_per_dimension(const Field& field) const override { return field.rows(); }
  const torch::Tensor& offsets() const { return offset_; }  // of each field's first row
  int64_t rows() const { return rows_.size(0); }

 private:
  std::vector<int64_t> row_counts_, slot_counts_;
  torch::Tensor rows_;                // [all rows, width]
  torch::Tensor offset_;              // per field
  torch::Tensor slot_, slot_offset_;  // of each code that is read: its slot, and where its field's rows begin
  torch::Tensor share_, untrained_;   // per row: its share of the field's training values; 1 where there are none
  bool single_ = true;                // no field has several slots
};

// Piecewise and plain: start + sum of the directions of the bins below + slope * direction[bin]; missing has a row of its own.
class NumericRows : public FieldRows {
 public:
  NumericRows(const Schema& schema, const std::vector<FieldCounts>& counts, std::vector<int64_t> fields, int64_t width,
              StartDeviations start);
  torch::Tensor forward(const TableBatch& batch) const override;
  void settle() override;
  int64_t parameters_per_dimension(const Field& field) const override { return field.rows() + 1; }  // + start

 private:
  torch::Tensor rows_at_zero() const;  // [fields, codes, width]: the embedding at slope 0 of each code
  int64_t most_bins_ = 0;
  torch::Tensor starts_, missing_, directions_;  // [fields, width], [fields, width], [fields, bins, width]
  torch::Tensor slot_, offset_;
  torch::Tensor share_, slope_share_, untrained_missing_;
};

// Periodic: start + map of the sines and cosines of 2 pi frequency * slope, with learned frequencies.
class PeriodicRows : public FieldRows {
 public:
  static constexpr int64_t frequencies = 16;
  PeriodicRows(const Schema& schema, const std::vector<FieldCounts>& counts, std::vector<int64_t> fields, int64_t width,
               StartDeviations start);
  torch::Tensor forward(const TableBatch& batch) const override;
  void settle() override;
  // Frequencies are shared by all dimensions and not counted.
  int64_t parameters_per_dimension(const Field&) const override { return 2 * frequencies + 2; }
  const torch::Tensor& wave_frequencies() const { return frequencies_; }  // [fields, frequencies]
  const torch::Tensor& wave_map() const { return map_; }                  // [fields, sines then cosines, width]

 private:
  torch::Tensor at(const torch::Tensor& slopes) const;  // [examples, fields] -> [examples, fields, width]
  torch::Tensor starts_, missing_;                      // [fields, width]
  torch::Tensor frequencies_, map_;                     // [fields, frequencies], [fields, 2 frequencies, width]
  torch::Tensor slot_, untrained_missing_;
  torch::Tensor ranked_;  // [ranks, fields]: training slopes, whose mean embedding is the column's
};

}  // namespace l0gm
