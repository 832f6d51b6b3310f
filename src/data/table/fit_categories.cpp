#include "data/table/fit_categories.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "encode/table/cell_text.h"

namespace l0gm {
namespace {

constexpr int64_t most_fitted_slots = 64;  // every row stores all of them

// Values seen at least `min_count` times, by descending count (ties: by text).
std::vector<std::pair<std::string_view, int64_t>> frequent_values(const CategoryCounts& counts, int64_t min_count) {
  std::vector<std::pair<std::string_view, int64_t>> kept;
  for (const auto& entry : counts) {
    if (entry.second >= min_count) kept.push_back(entry);
  }
  std::sort(kept.begin(), kept.end(),
            [](const auto& a, const auto& b) { return a.second != b.second ? a.second > b.second : a.first < b.first; });
  return kept;
}

}  // namespace

CategoryCounts count_categories(const std::vector<std::string_view>& texts) {
  CategoryCounts counts;
  for (const std::string_view text : texts) ++counts[text];
  return counts;
}

void fit_categorical(const std::string& name, Field& field, const CategoryCounts& counts, int64_t min_count, int64_t most) {
  const auto kept = frequent_values(counts, min_count);
  if (static_cast<int64_t>(kept.size()) > most) {
    log_info(
        fmt::format("column '{}' has {} categories in the training rows, more than table.max_categories = {}: "
                    "it is hashed into {} rows",
                    name, with_thousands(static_cast<int64_t>(kept.size())), most, std::min(most, most_buckets)));
    field.kind = FieldKind::hashed;
    field.buckets = std::min(most, most_buckets);
    return;
  }
  field.kind = FieldKind::categorical;
  field.vocabulary.reserve(kept.size());
  for (const auto& entry : kept) field.vocabulary.emplace_back(entry.first);
}

MultiCounts count_values(const std::vector<std::string_view>& texts, char separator, const MissingMarks& marks) {
  MultiCounts result;
  std::unordered_set<std::string_view> values;  // of one cell
  for (const std::string_view text : texts) {
    values.clear();
    each_value(text, separator, marks, [&](std::string_view value) {
      values.insert(value);
      return true;
    });
    for (const std::string_view value : values) ++result.counts[value];
    result.cells += values.empty() ? 0 : 1;
    result.most_in_a_cell = std::max(result.most_in_a_cell, static_cast<int64_t>(values.size()));
  }
  return result;
}

void fit_multi(const std::string& name, Field& field, const MultiCounts& values, int64_t min_count, int64_t most) {
  const auto kept = frequent_values(values.counts, min_count);
  const size_t size = std::min(kept.size(), static_cast<size_t>(most));
  if (size < kept.size()) {
    log_warning(
        fmt::format("column '{}' has {} different values in the training rows, more than table.max_categories = {}: the less "
                    "frequent ones share one rare value",
                    name, with_thousands(static_cast<int64_t>(kept.size())), most));
  }
  if (values.most_in_a_cell > most_fitted_slots) {
    log_warning(fmt::format("column '{}' has up to {} values in a cell: of each cell the first {} are read", name,
                            with_thousands(values.most_in_a_cell), most_fitted_slots));
  }
  field.kind = FieldKind::multi;
  field.slots = std::min(values.most_in_a_cell, most_fitted_slots);
  field.vocabulary.reserve(size);
  for (size_t i = 0; i < size; ++i) field.vocabulary.emplace_back(kept[i].first);
}

}  // namespace l0gm
