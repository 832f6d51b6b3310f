#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "encode/table/schema.h"

namespace l0gm {

using CategoryCounts = std::unordered_map<std::string_view, int64_t>;
CategoryCounts count_categories(const std::vector<std::string_view>& texts);

// A vocabulary of the texts seen at least `min_count` times; with more than `most` of them, a field hashed into `most` rows.
void fit_categorical(const std::string& name, Field& field, const CategoryCounts& counts, int64_t min_count, int64_t most);

struct MultiCounts {
  CategoryCounts counts;  // cells that have the value
  int64_t cells = 0;      // with one value or more
  int64_t most_in_a_cell = 0;
};
MultiCounts count_values(const std::vector<std::string_view>& texts, char separator, const MissingMarks& marks);

// A vocabulary of single values, the `most` most frequent ones, and as many slots as the largest number of values in a cell (up
// to 64).
void fit_multi(const std::string& name, Field& field, const MultiCounts& values, int64_t min_count, int64_t most);

}  // namespace l0gm
