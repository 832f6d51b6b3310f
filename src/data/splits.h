#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/split.h"
#include "base/text_table.h"

namespace l0gm {

// Splits rows 0 … labels.size()-1 at random by shares, stratified by class: part k + 1 gets shares[k] of each class, part 0
// (training) the rest. Totals are within one row of share x rows as long as classes have enough rows. Every class has at least
// one row in training, so a class of one row is in training only. Each part is in ascending order.
// Deterministic: the same labels in the same order, shares and seed give the same parts; other row orders give other parts.
// UserError when the shares do not leave room for training or a share above 0 gets no row.
std::vector<std::vector<int64_t>> stratified(std::span<const int32_t> labels, std::span<const double> shares, uint64_t seed);

// The same for some rows of a table, by the text of its label column; the parts hold row numbers of the table.
std::vector<std::vector<int64_t>> stratified_rows(const TextTable& table, int64_t label_column, std::span<const int64_t> rows,
                                                  std::span<const double> shares, uint64_t seed);

// train (training), valid (validation, val, dev) or test, in upper or lower case, blanks around it allowed.
std::optional<Split> split_named(std::string_view name);

struct SplitRows {
  std::vector<int64_t> train, valid, test;
};

// By a column that says for each row what split_named() knows.
// Anything else is a UserError that names the row; so is a column without a training row. valid and test may stay empty.
SplitRows split_by_column(const TextTable& table, int64_t column);

}  // namespace l0gm
