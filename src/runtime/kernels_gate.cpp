#include "runtime/kernels_gate.h"

#include <algorithm>
#include <cmath>

namespace l0gm::kernels {
namespace {

// out = numbers * matrix
void multiply(const double* numbers, int64_t count, const PackedRows& matrix, double* out) {
  const int64_t columns = matrix.columns();
  std::fill_n(out, columns, 0.0);
  for (int64_t i = 0; i < count; ++i) {
    const double* row = matrix.row<double>(i);
    for (int64_t j = 0; j < columns; ++j) out[j] += numbers[i] * row[j];
  }
}

// Turns the mapped units into gate values, in place.
void open_gates(const NetGate<PackedRows>& gate, double* mapped) {
  const double *logits = gate.logits.row<double>(0), *range = gate.range.row<double>(0);
  double largest = 0;
  int64_t largest_gate = -1;
  bool any_open = false;
  for (int64_t g = 0; g < gate.gates; ++g) {
    const double logit = logits[g] + range[g] * std::tanh(mapped[g]);
    if (largest_gate < 0 || logit > largest) {
      largest = logit;
      largest_gate = g;
    }
    if (gate.step) {
      mapped[g] = logit > gate.threshold ? 1.0 : 0.0;
    } else {
      mapped[g] = std::clamp((gate.zeta - gate.gamma) / (1 + std::exp(-logit / gate.scale)) + gate.gamma, 0.0, 1.0);
    }
    any_open = any_open || mapped[g] > 0;
  }
  if (!any_open && largest_gate >= 0) mapped[largest_gate] = 1;
}

}  // namespace

int64_t gate_scratch(const NetGate<PackedRows>& gate) { return gate.rank + gate.gates; }

void gate_units(const NetGate<PackedRows>& gate, double* units, int64_t count, double* scratch) {
  double* values = scratch + gate.rank;
  if (gate.rank > 0) {
    multiply(units, count, gate.map_in, scratch);
    multiply(scratch, gate.rank, gate.map_out, values);
  } else {
    multiply(units, count, gate.map_out, values);
  }
  open_gates(gate, values);
  for (int64_t u = 0; u < count; ++u) {
    const int64_t begin = gate.gate_begin[static_cast<size_t>(u)], end = gate.gate_begin[static_cast<size_t>(u) + 1];
    if (begin == end) continue;
    double largest = 0;
    for (int64_t i = begin; i < end; ++i) largest = std::max(largest, values[gate.gate_of_unit[static_cast<size_t>(i)]]);
    units[u] *= largest;
  }
}

}  // namespace l0gm::kernels
