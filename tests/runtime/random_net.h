#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "runtime/table_net.h"

namespace l0gm {

// Encoded rows of random columns, with padding between them that must not be read.
struct Rows {
  int64_t code_stride = 0, slope_stride = 0;
  std::vector<int32_t> codes;
  std::vector<float> slopes;
  const int32_t* codes_of(int64_t r) const { return codes.data() + r * code_stride; }
  const float* slopes_of(int64_t r) const { return slopes.data() + r * slope_stride; }
};

// A net of random shape: any kinds of columns, folded or not, any heads, with or without a gate.
struct RandomNet {
  TableNet<Matrix> net;
  int64_t slots = 0;  // of codes; slopes have those of the statistics behind them

  explicit RandomNet(uint64_t seed) : random_(seed) {
    add_columns();
    add_heads();
    const bool grid = net.pairs.present || net.cin.present;
    choose_units(grid);
    net.arrange();
    if (grid) place_units();
    if (net.gate.present) assign_gates();
    for (const NetColumn& column : net.columns) {
      if (column.units > 0) net.unit_tables.emplace_back();
      if (column.waves > 0) net.frequencies.emplace_back();
    }
    fill_arrays();
  }

  // Fills all arrays with new numbers, in the current shape of the net.
  void fill_arrays() {
    net.visit([&](const std::string&, Matrix& matrix, int64_t rows, int64_t columns, ArrayKind) {
      matrix = Matrix(rows, columns);
      for (double& value : matrix.values) value = random_.normal() * 0.5;
    });
  }

  Rows rows(int64_t count) {
    Rows rows;
    rows.code_stride = slots + 2;
    rows.slope_stride = slots + static_cast<int64_t>(net.statistic_slots.size()) + 1;
    rows.codes.assign(static_cast<size_t>(count * rows.code_stride), -1);
    rows.slopes.assign(static_cast<size_t>(count * rows.slope_stride), NAN);
    for (int64_t r = 0; r < count; ++r) {
      int32_t* codes = rows.codes.data() + r * rows.code_stride;
      float* slopes = rows.slopes.data() + r * rows.slope_stride;
      for (const NetColumn& column : net.columns) fill(column, codes, slopes);
      for (const int64_t slot : net.statistic_slots) slopes[slot] = below(5) == 0 ? 0.0F : static_cast<float>(random_.normal());
    }
    return rows;
  }

 private:
  int64_t below(int64_t count) { return static_cast<int64_t>(random_.below(static_cast<uint64_t>(count))); }
  bool flip() { return below(2) == 0; }

  void add_columns() {
    const int64_t count = below(8);
    for (int64_t c = 0; c < count; ++c) {
      NetColumn column;
      column.column = c;
      column.kind = static_cast<NetColumn::Kind>(below(3));
      if (column.kind == NetColumn::Kind::number) {
        column.value_slot = slots++;
        column.bins = 1 + below(4);
        if (flip()) {
          column.code_slot = slots++;
          column.known = below(6);
        }
        if (below(4) == 0) {
          column.bins = 1;
          column.waves = 2 * (1 + below(4));
        }
      } else {
        column.slots = column.kind == NetColumn::Kind::several ? 1 + below(4) : 1;
        column.code_slot = slots;
        column.codes = 2 + below(9);
        slots += column.slots;
      }
      net.columns.push_back(column);
    }
    for (int64_t s = below(3); s > 0; --s) net.statistic_slots.push_back(slots + s - 1);  // in any order
  }

  void add_heads() {
    net.members = flip() ? 1 : 3;
    net.outputs = flip() ? 1 : 4;
    const std::vector<int64_t> widths = {0, 1, 5, 16, 31, 64, 70};
    net.hidden = widths[static_cast<size_t>(below(static_cast<int64_t>(widths.size())))];
    int64_t before = net.hidden;
    for (int64_t k = net.hidden > 0 ? below(3) : 0; k > 0; --k) {
      NetLayer<Matrix>& layer = net.layers.emplace_back();
      layer.in = before;
      layer.out = before = 1 + below(75);
    }
    net.pairs.present = below(3) == 0;
    net.pairs.weighted = net.pairs.present && flip();
    net.pairs.by_coordinate = net.pairs.present && flip();
    net.cin.present = below(3) == 0;
    for (int64_t k = net.cin.present ? below(3) : 0; k > 0; --k) net.cin.maps.push_back(1 + below(20));
    net.cin.weights.resize(net.cin.maps.size());
    net.cin.pooled.resize(net.cin.maps.size());
    if (net.pairs.present || net.cin.present) net.grid_coordinates = 1 + below(20);
    net.gate.present = below(4) == 0;
    net.shared = net.hidden > 0 && below(5) < 2;
    if (net.shared) net.members = 1 + below(40);  // more than are computed at a time
  }

  // On a grid a column has as many units as there are coordinates, at most.
  void choose_units(bool grid) {
    for (NetColumn& column : net.columns) {
      column.folded = below(4) != 0;
      const bool key_only = below(8) == 0;
      if (key_only) column.folded = false;
      if (!key_only && (!column.folded || grid)) column.units = grid ? 1 + below(net.grid_coordinates) : 1 + below(20);
    }
  }

  void place_units() {
    for (const NetColumn& column : net.columns) {
      if (column.units == 0) continue;
      const int64_t first = below(net.grid_coordinates - column.units + 1);  // some coordinates of a field are closed
      for (int64_t u = 0; u < column.units; ++u) {
        net.units[static_cast<size_t>(column.unit_begin + u)].place = net.grid_fields * net.grid_coordinates + first + u;
      }
      ++net.grid_fields;
    }
  }

  void assign_gates() {
    NetGate<Matrix>& gate = net.gate;
    gate.gates = 1 + below(6);
    gate.rank = flip() ? 0 : 1 + below(3);
    gate.step = flip();
    gate.threshold = 0.1;
    gate.scale = 0.7;
    gate.gate_begin = {0};
    for (size_t u = 0; u < net.units.size(); ++u) {
      for (int64_t g = below(4); g > 0; --g) gate.gate_of_unit.push_back(below(gate.gates));
      gate.gate_begin.push_back(static_cast<int64_t>(gate.gate_of_unit.size()));
    }
  }

  void fill(const NetColumn& column, int32_t* codes, float* slopes) {
    if (column.kind == NetColumn::Kind::number) {
      const bool missing = below(6) == 0;
      codes[column.value_slot] = missing ? 0 : static_cast<int32_t>(1 + below(column.bins));
      slopes[column.value_slot] = missing ? 0 : static_cast<float>(random_.normal());
      if (column.code_slot < 0) return;
      codes[column.code_slot] = missing ? 0 : static_cast<int32_t>(1 + below(column.known + 1));
      slopes[column.code_slot] = 0;
      return;
    }
    const int64_t used = column.kind == NetColumn::Kind::several ? 1 + below(column.slots) : 1;
    for (int64_t s = 0; s < column.slots; ++s) {
      codes[column.code_slot + s] = s < used ? static_cast<int32_t>(below(column.codes)) : 0;
      slopes[column.code_slot + s] = column.kind == NetColumn::Kind::several && s < used ? 1.0F / static_cast<float>(used) : 0.0F;
    }
  }

  RandomStream random_;
};

}  // namespace l0gm
