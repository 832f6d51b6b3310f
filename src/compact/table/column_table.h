#pragma once

#include <vector>

#include "compact/table/narrow_schema.h"
#include "runtime/table_net.h"

namespace l0gm {

// Everything that the cells of one column can say, a row for each of its table's rows (runtime/table_net.h).
struct ColumnTable {
  std::vector<int64_t>
      dimensions;    // of the interface before, that the column alone decides: its open embeddings, then its own statistics
  Matrix interface;  // [table rows, dimensions]; gates that do not depend on the example are included
  Matrix terms;      // [table rows, branch logits]: the linear branch
  std::vector<double> frequencies;  // waves: of the interface's numbers, then of the linear term's
};

// `column`: as columns_of(narrow.schema) has it; its `waves` are set here.
ColumnTable column_table(const ModelProbe& probe, const NarrowSchema& narrow, const torch::Tensor& open_dimensions,
                         NetColumn& column);

}  // namespace l0gm
