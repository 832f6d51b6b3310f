#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/split.h"
#include "base/text_table.h"
#include "data/options.h"

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

// Classes of some rows of a table by the text of its label column, numbered in the order of the texts.
std::vector<int32_t> class_numbers(const TextTable& table, int64_t label_column, std::span<const int64_t> rows);

// train (training), valid (validation, val, dev) or test, in upper or lower case, blanks around it allowed.
std::optional<Split> split_named(std::string_view name);

struct SplitRows {
  std::vector<int64_t> train, valid, test;
};

// Cross-validation. `rows` are training and validation rows together and `labels` their classes, in the same order: they are
// dealt into options.folds parts, stratified, the sizes of which differ by one row at most per class; options.fold becomes
// `test`, and options.valid of the rest `valid`. The only row of a class is in no fold, so that every class is trained on.
// UserError when a fold would be empty or options.fold is not among the folds.
SplitRows fold_rows(std::span<const int64_t> rows, std::span<const int32_t> labels, const SplitOptions& options);
// The same for a dataset with this split; `labels_of` gives the classes of rows. Nothing changes where no folds are asked for.
void apply_folds(const SplitOptions& options, std::vector<int64_t>& train, std::vector<int64_t>& valid,
                 std::vector<int64_t>& test,
                 const std::function<std::vector<int32_t>(const std::vector<int64_t>& rows)>& labels_of);
std::string fold_suffix(const SplitOptions& options);  // of a dataset's name: " (fold 2 of 5)", or nothing

// By a column that says for each row what split_named() knows.
// Anything else is a UserError that names the row; so is a column without a training row. valid and test may stay empty.
SplitRows split_by_column(const TextTable& table, int64_t column);

}  // namespace l0gm
