#include "data/table/statistic_choice.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "data/table/statistic_gain.h"

namespace l0gm {
namespace {

// The values of a field by row, each replaced by the order of its first occurrence: equal for two columns exactly when their
// values map one to one.
std::vector<int32_t> partition(const KeyColumns& columns, int64_t field) {
  std::vector<int32_t> parts = columns.of(field).codes;
  KeyIndex places;
  for (int32_t& part : parts) part = places.insert(part);
  return parts;
}

// The fields that are keys, by column.
std::vector<int64_t> key_fields(const Schema& schema, const KeyColumns& columns, int64_t rows) {
  std::vector<int64_t> first(schema.columns.size(), -1);
  for (size_t f = schema.fields.size(); f-- > 0;) {
    if (schema.fields[f].is_lookup()) first[static_cast<size_t>(schema.fields[f].column)] = static_cast<int64_t>(f);
  }
  std::erase(first, -1);
  std::vector<uint64_t> hashes(first.size(), 0);
  for_each_at_once(rows, std::ssize(first), [&](size_t i) {
    for (const int32_t part : partition(columns, first[i])) hashes[i] = (hashes[i] ^ static_cast<uint64_t>(part)) * 0x100000001B3;
  });
  std::vector<int64_t> kept;
  std::unordered_multimap<uint64_t, int64_t> by_hash;  // avoids comparing all pairs of a thousand columns
  for (size_t i = 0; i < first.size(); ++i) {
    const auto [begin, end] = by_hash.equal_range(hashes[i]);
    const auto is_same = [&](const auto& earlier) { return partition(columns, earlier.second) == partition(columns, first[i]); };
    if (std::any_of(begin, end, is_same)) continue;
    by_hash.emplace(hashes[i], first[i]);
    kept.push_back(first[i]);
  }
  return kept;
}

// Of the key fields those to pair, in the same order.
std::vector<int64_t> fields_to_pair(const EncodedTable& rows, const Schema& schema, const KeyColumns& columns,
                                    const std::vector<int64_t>& fields, const TableOptions& options) {
  size_t wanted = 1;
  while (wanted < fields.size() && static_cast<int64_t>((wanted + 1) * wanted / 2) <= options.max_pairs) ++wanted;
  if (wanted >= fields.size()) return fields;
  const FoldedLabels labels(rows, schema.classes.size());
  std::vector<double> gains(fields.size());
  for_each_at_once(rows.rows(), std::ssize(fields), [&](size_t i) {
    gains[i] = gain_of(labels, group_rows(columns.of(fields[i]), nullptr), options.smoothing).mean;
  });
  std::vector<size_t> order(fields.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return gains[a] > gains[b]; });
  order.resize(wanted);
  std::sort(order.begin(), order.end());
  std::vector<int64_t> chosen;
  for (const size_t i : order) chosen.push_back(fields[i]);
  return chosen;
}

}  // namespace

std::vector<ChosenKey> choose_keys(const Schema& schema, const EncodedTable& rows, const KeyColumns& columns,
                                   const TableOptions& options) {
  const std::vector<int64_t> singles = key_fields(schema, columns, rows.rows());
  std::vector<ChosenKey> chosen;
  for (const int64_t field : singles) chosen.push_back({field, {}});
  if (options.statistics != Statistics::pairs) return chosen;
  const std::vector<int64_t> paired = fields_to_pair(rows, schema, columns, singles, options);
  for (size_t i = 0; i < paired.size(); ++i) {
    for (size_t j = i + 1; j < paired.size(); ++j) chosen.push_back({paired[i], paired[j]});
  }
  return chosen;
}

}  // namespace l0gm
