#include "data/table/statistic_groups.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "base/random.h"
#include "base/threads.h"

namespace l0gm {
namespace {

constexpr uint64_t fold_seed = 0x666F6C64;
constexpr int64_t scratch_bytes_of_a_row = 48, most_scratch_bytes = int64_t{4} << 30;
constexpr int64_t direct_below = 1 << 16;  // so many possible keys are counted in a table, however few rows there are

class RowKeys {
 public:
  RowKeys(const KeyColumn& first, const KeyColumn* second) : first_(first), second_(second) {}
  int64_t of(size_t row) const {
    return second_ == nullptr ? first_.codes[row] : first_.codes[row] * second_->count + second_->codes[row];
  }
  int64_t possible() const { return first_.count * (second_ == nullptr ? 1 : second_->count); }
  size_t rows() const { return first_.codes.size(); }

 private:
  const KeyColumn& first_;
  const KeyColumn* second_;
};

// Sorts rows into groups whose keys are known: place(row) is that of the row's key among them.
template <class Place>
void fill_groups(Groups& groups, size_t rows, const Place& place) {
  groups.starts.assign(groups.keys.size() + 1, 0);
  for (size_t row = 0; row < rows; ++row) ++groups.starts[place(row) + 1];
  std::partial_sum(groups.starts.begin(), groups.starts.end(), groups.starts.begin());
  std::vector<uint32_t> next(groups.starts.begin(), groups.starts.end() - 1);
  groups.rows.resize(rows);
  for (size_t row = 0; row < rows; ++row) groups.rows[next[place(row)]++] = static_cast<uint32_t>(row);
}

}  // namespace

int64_t statistic_fold(int64_t row_number) {
  return static_cast<int64_t>(mix_key(fold_seed, static_cast<uint64_t>(row_number)) % statistic_folds);
}

FoldedLabels::FoldedLabels(const EncodedTable& rows, size_t class_count) : classes(class_count) {
  if (rows.rows() == 0 || rows.labels.size() != rows.row_numbers.size())
    throw std::logic_error("statistics: rows with labels are needed");
  if (rows.rows() > std::numeric_limits<uint32_t>::max()) throw std::logic_error("statistics: more rows than are counted");
  std::vector<std::vector<int64_t>> inside(statistic_folds, std::vector<int64_t>(classes, 0));
  std::vector<int64_t> all(classes, 0);
  cells.reserve(rows.labels.size());
  for (size_t row = 0; row < rows.labels.size(); ++row) {
    const auto label = static_cast<size_t>(rows.labels[row]), fold = static_cast<size_t>(statistic_fold(rows.row_numbers[row]));
    if (label >= classes) throw std::logic_error("statistics: a label is not a class of the schema");
    cells.push_back(static_cast<uint32_t>(fold * classes + label));
    ++inside[fold][label];
    ++all[label];
  }
  for (std::vector<int64_t>& counts : inside) {
    for (size_t c = 0; c < classes; ++c) counts[c] = all[c] - counts[c];
    outside.emplace_back(counts);
  }
}

Groups group_rows(const KeyColumn& first, const KeyColumn* second) {
  const RowKeys keys(first, second);
  const size_t rows = keys.rows();
  Groups groups;
  if (keys.possible() <= std::max<int64_t>(direct_below, 4 * static_cast<int64_t>(rows))) {
    std::vector<uint32_t> place(static_cast<size_t>(keys.possible()), 0);  // first whether a row has the key
    for (size_t row = 0; row < rows; ++row) place[static_cast<size_t>(keys.of(row))] = 1;
    for (size_t key = 0; key < place.size(); ++key) {
      if (place[key] == 0) continue;
      place[key] = static_cast<uint32_t>(groups.keys.size());
      groups.keys.push_back(static_cast<int64_t>(key));
    }
    fill_groups(groups, rows, [&](size_t row) { return place[static_cast<size_t>(keys.of(row))]; });
    return groups;
  }
  KeyIndex index;
  std::vector<int32_t> index_of_row(rows);
  for (size_t row = 0; row < rows; ++row) {
    index_of_row[row] = index.insert(keys.of(row));
    if (static_cast<size_t>(index_of_row[row]) == groups.keys.size()) groups.keys.push_back(keys.of(row));
  }
  std::sort(groups.keys.begin(), groups.keys.end());
  std::vector<uint32_t> rank(groups.keys.size());  // of a key by its index, among ascending keys
  for (size_t k = 0; k < rank.size(); ++k) rank[static_cast<size_t>(index.find(groups.keys[k]))] = static_cast<uint32_t>(k);
  fill_groups(groups, rows, [&](size_t row) { return rank[static_cast<size_t>(index_of_row[row])]; });
  return groups;
}

void for_each_at_once(int64_t rows, int64_t count, const std::function<void(size_t)>& work) {
  const int64_t most = std::max<int64_t>(1, most_scratch_bytes / (scratch_bytes_of_a_row * rows));
  std::atomic<int64_t> next{0};
  parallel_for(std::min({count, most, thread_limit()}), 1, [&](int64_t, int64_t) {
    for (int64_t i = next++; i < count; i = next++) work(static_cast<size_t>(i));
  });
}

}  // namespace l0gm
