#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "data/table/key_columns.h"
#include "encode/table/statistics.h"

// Training rows by key, fold and class: what statistics count.
namespace l0gm {

inline constexpr int64_t statistic_folds = 10;
// The fold of a training row, a hash of its row number.
int64_t statistic_fold(int64_t row_number);

// Labels and folds of training rows. What is known of a row's fold is counted outside of it.
struct FoldedLabels {
  FoldedLabels(const EncodedTable& rows, size_t class_count);
  size_t classes;
  std::vector<uint32_t> cells;     // per row: fold * classes + label
  std::vector<ClassRows> outside;  // per fold: the rows of all other folds
  int64_t rows() const { return static_cast<int64_t>(cells.size()); }
};

// Rows by key.
struct Groups {
  std::vector<int64_t> keys;     // ascending: code, or code of first * codes of second + code of second
  std::vector<uint32_t> starts;  // the rows of key k: rows[starts[k]] … rows[starts[k + 1] - 1], ascending
  std::vector<uint32_t> rows;
};
Groups group_rows(const KeyColumn& first, const KeyColumn* second);

// How many training rows of one key there are by fold, and by fold and class.
struct KeyCounts {
  std::array<int64_t, statistic_folds> rows{};
  int64_t all_rows = 0;
  std::vector<int64_t> of_class;      // folds x classes
  std::vector<int64_t> all_of_class;  // classes
};

// Calls visit(k, counts) for each key, ascending.
template <class Visit>
void count_keys(const FoldedLabels& labels, const Groups& groups, Visit visit) {
  KeyCounts counts;
  for (size_t k = 0; k < groups.keys.size(); ++k) {
    counts.rows.fill(0);
    counts.of_class.assign(statistic_folds * labels.classes, 0);
    counts.all_of_class.assign(labels.classes, 0);
    counts.all_rows = static_cast<int64_t>(groups.starts[k + 1] - groups.starts[k]);
    for (uint32_t i = groups.starts[k]; i < groups.starts[k + 1]; ++i) ++counts.of_class[labels.cells[groups.rows[i]]];
    for (size_t cell = 0; cell < counts.of_class.size(); ++cell) {
      counts.rows[cell / labels.classes] += counts.of_class[cell];
      counts.all_of_class[cell % labels.classes] += counts.of_class[cell];
    }
    visit(k, counts);
  }
}

// Calls work(i) for i = 0 … count - 1, in as many threads as their copies of the rows' keys leave memory for (4 GiB).
void for_each_at_once(int64_t rows, int64_t count, const std::function<void(size_t)>& work);

}  // namespace l0gm
