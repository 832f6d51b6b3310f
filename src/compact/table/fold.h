#pragma once

#include <string>
#include <vector>

#include "encode/table/schema.h"
#include "model/model.h"
#include "runtime/table_net.h"

namespace l0gm {

struct FoldOptions {
  // Tables are folded through the first dense layer, the smallest first, while all of them together take no more float32 bytes
  // than this. A folded column is faster, one that is not is as wide as its open dimensions.
  int64_t fold_bytes = 4 << 20;
};

struct FoldedModel {
  Schema schema;  // of what is still read
  TableNet<Matrix> net;
  std::vector<std::string> closed_columns;  // not read any more
};

// A table model without its closed units, computed ahead as far as that is exact. `model` must be in double precision, on the
// CPU, in evaluation mode; it stays as it is.
FoldedModel fold_table(Model& model, const GateState& state, const Schema& schema, const FoldOptions& options);

}  // namespace l0gm
