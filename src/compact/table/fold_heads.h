#pragma once

#include <vector>

#include "compact/table/probe.h"
#include "runtime/table_net.h"

namespace l0gm {

// Where a unit of the net comes from.
struct UnitSource {
  int64_t dimension = -1;    // of the interface before; -1: a linear term
  int64_t logit = -1;        // linear term of a column: of this logit
  int64_t gate_source = -1;  // linear term: the largest gate of this source's dimensions decides on it
  int64_t statistic = -1;    // a statistic of a pair: its number
};

// The deep branch behind its first product, and everything that is added to the accumulator whatever the row: hidden, layers,
// output, base.
void fold_deep(const ModelProbe& probe, TableNet<Matrix>& net);
// What each interface dimension adds to the accumulator: [width, wide columns].
torch::Tensor accumulator_map(const ModelProbe& probe, const TableNet<Matrix>& net);
// Pairs and CIN on the grid of fields and coordinates that have an open dimension.
void fold_grid(const ModelProbe& probe, const torch::Tensor& open_dimensions, const std::vector<UnitSource>& units,
               TableNet<Matrix>& net);
// The gate that depends on the example, without its dead units.
void fold_gate(const ModelProbe& probe, const std::vector<UnitSource>& units, TableNet<Matrix>& net);

}  // namespace l0gm
