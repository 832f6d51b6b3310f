#pragma once

#include <string>
#include <vector>

#include "compact/table/probe.h"

namespace l0gm {

// What of a schema is left when only some interface dimensions are open, and where it was.
struct NarrowSchema {
  Schema schema;
  std::vector<int64_t> field_before;      // of each field left: its number in the schema before
  std::vector<int64_t> column_before;     // likewise of each column
  std::vector<bool> statistic_of_column;  // per field of the schema before: a statistic that its column's table holds
  std::vector<bool> used;                 // per field of the schema before: something that it says reaches the logits
  std::vector<std::string> closed_columns;
};

// A field is left when one of its dimensions is open, when its linear term is (the source has an open dimension), or when it is
// the key of a statistic that is left; a column that only cuts read keeps its first field. Statistics of one column's code go:
// the column's table holds what they say, unless trees read them.
NarrowSchema narrow_schema(const ModelProbe& probe, const torch::Tensor& open_dimensions);

}  // namespace l0gm
