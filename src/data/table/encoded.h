#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/text_table.h"
#include "encode/table/row_encoder.h"

namespace l0gm {

// Encoded rows, row-major.
struct EncodedTable {
  std::vector<int32_t> codes;               // rows x code_slots
  std::vector<float> slopes;                // rows x slope_slots: those of the codes, then one per statistic
  std::vector<int32_t> labels;              // per row; empty when encoded without labels
  std::vector<int64_t> row_numbers;         // of the TextTable
  std::vector<float> weights;               // per row, 1 on average; empty: each counts the same
  int64_t code_slots = 0, slope_slots = 0;  // as the schema has them
  int64_t rows() const { return static_cast<int64_t>(row_numbers.size()); }
};

// For each column of the schema, its position in a table with these column names. The order is free, further columns are ignored;
// an absent column is a UserError that names it and the nearest present name.
std::vector<int64_t> match_columns(const std::vector<std::string>& names, const Schema& schema);
std::vector<int64_t> match_columns(const std::vector<std::string>& names, const std::vector<std::string>& wanted);

// With labels: a label that is missing or not a class of the schema is a UserError that names the row. Adds to `counts` when
// given.
EncodedTable encode_rows(const TextTable& table, const RowEncoder& encoder, const std::vector<int64_t>& rows, bool with_labels,
                         RowEncoder::Counts* counts = nullptr);

// How often each code of a field occurs and the sum of its slopes. Codes that do not occur in training (a missing value, a rare
// category) get the mean training embedding, which is computed from these. Fields with several slots count each by its weight,
// the slope; statistics have no codes.
struct FieldCounts {
  std::vector<double> count, slope_sum;  // per code
  std::vector<double> slopes;            // periodic: up to 256 training slopes at evenly spaced ranks; else empty
};
std::vector<FieldCounts> count_fields(const EncodedTable& table, const Schema& schema);

}  // namespace l0gm
