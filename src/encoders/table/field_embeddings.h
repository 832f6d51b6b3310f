#pragma once

#include "encode/table/schema.h"
#include "encoders/encoder.h"
#include "encoders/table/field_rows.h"
#include "encoders/table/serving_costs.h"

namespace l0gm {

// A table's interface: the concatenated embeddings of its fields, each of `width` dimensions, in the schema's order of fields,
// then the target statistics, one dimension each, as they are.
class FieldEmbeddings : public Encoder, public FineUnits {
 public:
  enum class Sources { columns, look_ups };  // what a source is: below
  FieldEmbeddings(const Schema& schema, const std::vector<FieldCounts>& counts, int64_t width, StartDeviations start = {},
                  Sources sources = Sources::columns);

  torch::Tensor forward(const Batch& batch, GatePass& pass) override;
  torch::Tensor fields(const TableBatch& batch) const;      // [examples, embedded fields, width]
  torch::Tensor statistics(const TableBatch& batch) const;  // [examples, statistics]
  int64_t embedded_fields() const { return embedded_; }
  int64_t field_width() const { return field_width_; }
  int64_t statistic_fields() const { return statistics_; }
  const PeriodicRows* periodic() const { return periodic_.get(); }  // none: nullptr
  int64_t width() const override { return embedded_ * field_width_ + statistics_; }

  // A source is one column, or one pair of columns, with all its encodings; or what is looked up at once (LookUps). Group units
  // are sources, and so are those of dimensions where each source is a look-up.
  const std::vector<std::string>& source_names() const { return source_names_; }
  const std::vector<int64_t>& source_of_field() const { return source_of_field_; }

  // What sources cost when they are served: the costs of group units, and of look-ups.
  void set_serving_costs(const ServedShape& shape, const ServingPrices& prices);
  bool has_serving_costs() const override { return serving_.has_value(); }

  InterfaceUnits units(UnitKind kind, Attach attach) const override;
  torch::Tensor fine_index(const Batch& batch, Attach attach) const override;
  torch::Tensor dimensions_of_fine_units(const torch::Tensor& open, Attach attach) const override;
  const FineUnits* fine_units() const override { return this; }
  // The columns of the user's data that each interface dimension is made from, by index into column_names().
  std::vector<std::vector<int64_t>> columns_of_dimension() const;
  std::vector<std::string> column_names() const;
  std::vector<int64_t> parameters_of_dimension() const override;
  int64_t parameters_of_terms(const std::vector<bool>& kept_fields) const;  // of the kept embedded fields, all dimensions
  void settle() override;

 private:
  int64_t field_of_dimension(int64_t d) const {
    return d < embedded_ * field_width_ ? d / field_width_ : d - embedded_ * (field_width_ - 1);
  }
  void find_columns_and_pairs();  // as sources
  std::string dimension_name(int64_t d) const;
  InterfaceUnits served_units(const torch::Tensor& index) const;
  // Fine units: every code of a lookup field is one (times the width at the interface), every other field is one.
  torch::Tensor fine_rows(const TableBatch& batch) const;  // [examples, fields]

  Schema schema_;
  int64_t field_width_, embedded_ = 0, statistics_ = 0, first_statistic_ = 0;
  std::vector<std::shared_ptr<FieldRows>> parts_;
  std::shared_ptr<LookupRows> lookups_;     // one of the parts, or null
  std::shared_ptr<PeriodicRows> periodic_;  // likewise
  std::vector<std::string> source_names_;
  std::vector<int64_t> source_of_field_;
  Sources sources_;
  std::optional<ServingCosts> serving_;
  torch::Tensor field_order_;        // from the parts' order to the schema's; undefined: the same
  std::vector<int64_t> fine_begin_;  // per field: its first fine row
  torch::Tensor fine_begin_tensor_, fine_slot_, fine_lookup_;
};

}  // namespace l0gm
