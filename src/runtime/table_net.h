#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "encode/table/schema.h"

// What remains of a table model once closed units are removed and everything that can be precomputed is: plain arrays and how
// they are read. Compaction makes one in double precision, rounding packs it for a file, the runtime serves the packed one.
//
//   accumulator = base + sum of (factor * row of `wide`)     the first dense layer of all members, then the logits' linear terms
//   hidden      = relu(accumulator) through `layers`, each member by itself
//   logits      = linear part of the accumulator + `output` * hidden + pairs of the grid + CIN of the grid
//
// In a *batch ensemble* (`shared`) members share the weights of every layer and differ by vectors: those of the first layer are
// either folded into `wide` with its weights, or, for units, `first` has the weights once and the vectors beside them. The linear
// part, pairs and CIN are then one set of logits that is added to every member's.
//
// A column whose table is *folded* picks its rows of `wide` directly: a cell costs one row, a number between known values two.
// One that is not folded (its table would be too large, or a gate depends on the example) passes numbers, *units*, to the net;
// the factor of a unit's row of `wide` is its value. The embeddings that pairs and CIN read are units too, placed on a grid of
// fields x coordinates.
namespace l0gm {

enum class WeightType { float32, bfloat16, int8 };
template <>
inline constexpr auto enum_names<WeightType> = std::to_array<std::string_view>({"float32", "bfloat16", "int8"});

// Numbers, row-major: what a net is made of before it is rounded.
struct Matrix {
  int64_t rows = 0, columns = 0;
  std::vector<double> values;

  Matrix() = default;
  Matrix(int64_t rows_, int64_t columns_) : rows(rows_), columns(columns_), values(static_cast<size_t>(rows_ * columns_), 0.0) {}
  double* row(int64_t i) { return values.data() + i * columns; }
  const double* row(int64_t i) const { return values.data() + i * columns; }
  double& at(int64_t i, int64_t j) { return values[static_cast<size_t>(i * columns + j)]; }
  double at(int64_t i, int64_t j) const { return values[static_cast<size_t>(i * columns + j)]; }
};

// How a column's cell, as RowEncoder codes it, picks rows of the column's table. The table's rows, in this order:
//   code      one per code (missing, unseen, vocabulary …)
//   several   the same; a cell picks one per slot, its slope is the factor
//   number    missing; one per bin; one per known value; then rows that have a factor: one direction per bin, times the slope,
//             or (waves) one per sine and one per cosine of 2 pi frequency * slope, all sines first
// A known value (one of the exact values) picks its own row, in which bin and slope are precomputed; every other number picks
// its bin's row (in which the unseen exact value is included) and the bin's direction.
struct NetColumn {
  enum class Kind { code, number, several };
  Kind kind = Kind::code;
  int64_t column = 0;                      // of the schema
  int64_t code_slot = -1;                  // of the categorical, hashed, multi or exact field; -1: none
  int64_t value_slot = -1;                 // number: of the piecewise, plain or periodic field
  int64_t slots = 1;                       // several
  int64_t codes = 0;                       // code, several: number of codes
  int64_t bins = 0, known = 0, waves = 0;  // number; waves: 2 * frequencies
  bool folded = false;                     // its table is part of TableNet::wide
  int64_t units = 0;                       // numbers it passes to the net; 0: it has no table of units
  // Set by arrange():
  int64_t wide_begin = -1;  // its table in `wide`; -1: not folded
  int64_t unit_begin = -1;  // its first unit; -1: none

  int64_t table_rows() const { return kind == Kind::number ? 1 + bins + known + (waves > 0 ? waves : bins) : codes; }
  int64_t row_of_bin(int32_t code) const { return code; }                   // code of the value field: 1 … bins
  int64_t row_of_known(int32_t code) const { return 1 + bins + code - 2; }  // code of the exact field: 2 …
  int64_t first_factor_row() const { return 1 + bins + known; }             // direction of the first bin, or the first sine
};

// The columns of a schema in the form above, one per column: kinds, slots and counts; nothing folded, no units. A column with a
// statistic's key only has them as well; one with exact values only is of kind `code`. `waves` stays 0 also where a field is
// periodic: a schema does not hold their number, so the code that fills the net sets it, and a file must store it. UserError when
// a column has no field, more than one exact or more than one other field (no fitted schema does).
std::vector<NetColumn> columns_of(const Schema& schema);

// Where the net reads a unit.
struct Unit {
  int64_t dense = -1;  // its row of `wide`, or of `first`; -1: none (the column is folded)
  int64_t place = -1;  // on the grid: field * coordinates + coordinate; -1: not there
};

template <class Rows>
struct NetLayer {           // from one hidden layer to the next, each member by itself
  int64_t in = 0, out = 0;  // units per member
  Rows weights;             // [members * in, out]: those of member 0 first; batch ensemble: [in, out]
  Rows bias;                // [1, members * out]
  // Batch ensemble: next = max(0, ((hidden * in_factors) weights) * out_factors + bias)
  Rows in_factors;   // [members, in]
  Rows out_factors;  // [members, out]
};

// Batch ensemble: what units add to the accumulator of member m is ((units * in_factors) weights) * out_factors; to all logits
// terms * units.
template <class Rows>
struct NetFirst {
  Rows weights;      // [units with a row, hidden]
  Rows in_factors;   // [members, units with a row]
  Rows out_factors;  // [members, hidden]
  Rows terms;        // [outputs, units with a row]
};

template <class Rows>
struct NetPairs {  // sum over pairs of the grid's fields i < j of <v_i, v_j>
  bool present = false;
  bool weighted = false;       // a weight per pair and logit
  bool by_coordinate = false;  // a weight per coordinate and logit
  Rows weights;                // [logits, pairs], pairs in the order (0,1), (0,2) … (1,2) …; empty unless weighted
  Rows coordinates;            // [logits, coordinates]; empty unless by_coordinate
};

// Feature maps X^k_h = sum over i, j of W^k_hij X^{k-1}_i * X^0_j, per coordinate; logits read every depth's sum over
// coordinates. The last depth is folded into the logits.
template <class Rows>
struct NetCin {
  bool present = false;
  std::vector<int64_t> maps;  // feature maps of all depths but the last
  std::vector<Rows> weights;  // per such depth: [H_{k-1} * fields, H_k], row i * fields + j
  std::vector<Rows> pooled;   // per such depth: [logits, H_k]
  Rows last;                  // [logits, H_{K-1} * fields]
};

// A gate that depends on the example. All of it, and the units it reads, is double precision: a unit on the edge must fall on the
// same side here as in the trained model.
template <class Rows>
struct NetGate {
  bool present = false;
  int64_t gates = 0, rank = 0;  // rank 0: a full map
  Rows map_in;                  // [units, rank]; empty with a full map
  Rows map_out;                 // [units or rank, gates]
  Rows logits, range;           // [1, gates]: logit = logits + range * tanh(units * map)
  bool step = true;             // value = 1 if logit > threshold, else 0 …
  double threshold = 0;
  double scale = 1, gamma = -0.1, zeta = 1.1;  // … or clip(sigmoid(logit / scale) (zeta - gamma) + gamma, 0, 1)
  // Without an open gate the one with the largest logit is 1. A unit is multiplied by the largest value of its gates; one without
  // gates stays as it is.
  std::vector<int64_t> gate_begin;  // per unit and one more: where its gates begin in gate_of_unit
  std::vector<int64_t> gate_of_unit;
};

template <class Rows>
struct TableNet {
  int64_t members = 1, outputs = 1;  // logits = members * outputs; two classes have one output
  int64_t hidden = 0;                // units of the first hidden layer per member; 0: no deep branch
  bool shared = false;               // a batch ensemble: has a deep branch, and logits of its own for each member there alone
  std::vector<NetColumn> columns;
  std::vector<int64_t> statistic_slots;  // slope slots; each statistic is one unit, behind those of the columns
  std::vector<Unit> units;               // sized and `dense` set by arrange(); `place` by the code that fills the net
  int64_t grid_fields = 0, grid_coordinates = 0;

  Rows base;                      // [1, wide columns]
  Rows wide;                      // folded tables in the order of columns, then a row per unit that has one (not if shared)
  NetFirst<Rows> first;           // shared only
  std::vector<Rows> unit_tables;  // per column with units: [table rows, units]
  std::vector<Rows> frequencies;  // per column with waves: [1, waves / 2]
  std::vector<NetLayer<Rows>> layers;
  Rows output;       // [logits, units of the last hidden layer]; empty without a deep branch
  Rows output_bias;  // [1, logits]; shared only
  NetPairs<Rows> pairs;
  NetCin<Rows> cin;
  NetGate<Rows> gate;

  int64_t logits() const { return members * outputs; }
  int64_t branch_logits() const { return shared ? outputs : logits(); }  // of all branches but the deep one
  int64_t wide_columns() const { return members * hidden + branch_logits(); }
  int64_t first_logit() const { return members * hidden; }  // in the accumulator
  int64_t last_hidden() const { return layers.empty() ? hidden : layers.back().out; }

  int64_t dense_units() const;  // units that have a row in `wide` or `first`

  // Sets every offset that follows from `shared` and the columns' `folded` and `units`; returns the rows of `wide`.
  int64_t arrange();

  // Calls v(name, rows, number of rows, number of columns, kind) for every array that the net's shape asks for, with the shape it
  // must have.
  template <class Visitor>
  void visit(Visitor&& v) {
    visit_arrays(*this, v);
  }
  template <class Visitor>
  void visit(Visitor&& v) const {
    visit_arrays(*this, v);
  }

 private:
  template <class Self, class Visitor>
  static void visit_arrays(Self& net, Visitor& v);
};

// How an array is stored: as the file's weights are, always float32, or float64.
enum class ArrayKind { weights, numbers, exact };

template <class Rows>
int64_t TableNet<Rows>::arrange() {
  int64_t rows = 0, unit = 0;
  for (NetColumn& column : columns) {
    column.wide_begin = column.folded ? rows : -1;
    if (column.folded) rows += column.table_rows();
    column.unit_begin = column.units > 0 ? unit : -1;
    unit += column.units;
  }
  units.resize(static_cast<size_t>(unit) + statistic_slots.size());
  int64_t rows_of_first = 0, &next = shared ? rows_of_first : rows;
  const auto assign_row = [&](int64_t u) { units[static_cast<size_t>(u)].dense = next++; };
  for (const NetColumn& column : columns) {
    for (int64_t u = 0; u < column.units; ++u) {
      if (column.folded) {
        units[static_cast<size_t>(column.unit_begin + u)].dense = -1;
      } else {
        assign_row(column.unit_begin + u);
      }
    }
  }
  for (size_t s = 0; s < statistic_slots.size(); ++s) assign_row(unit++);
  return rows;
}

template <class Rows>
int64_t TableNet<Rows>::dense_units() const {
  int64_t count = 0;
  for (const Unit& unit : units) count += unit.dense >= 0 ? 1 : 0;
  return count;
}

template <class Rows>
template <class Self, class Visitor>
void TableNet<Rows>::visit_arrays(Self& net, Visitor& v) {
  const int64_t logits = net.branch_logits(), units = static_cast<int64_t>(net.units.size()), dense = net.dense_units();
  int64_t wide_rows = net.shared ? 0 : dense;
  for (const NetColumn& column : net.columns) wide_rows += column.folded ? column.table_rows() : 0;
  v("base", net.base, 1, net.wide_columns(), ArrayKind::numbers);
  v("wide", net.wide, wide_rows, net.wide_columns(), ArrayKind::weights);
  if (net.shared) {
    v("first.weights", net.first.weights, dense, net.hidden, ArrayKind::weights);
    v("first.in", net.first.in_factors, net.members, dense, ArrayKind::numbers);
    v("first.out", net.first.out_factors, net.members, net.hidden, ArrayKind::numbers);
    v("first.terms", net.first.terms, net.outputs, dense, ArrayKind::numbers);
  }
  const ArrayKind unit_kind = net.gate.present ? ArrayKind::exact : ArrayKind::weights;
  size_t table = 0, wave = 0;
  for (size_t c = 0; c < net.columns.size(); ++c) {
    const NetColumn& column = net.columns[c];
    const std::string name = "column" + std::to_string(c);
    if (column.units > 0) v(name + ".units", net.unit_tables[table++], column.table_rows(), column.units, unit_kind);
    if (column.waves > 0) v(name + ".frequencies", net.frequencies[wave++], 1, column.waves / 2, ArrayKind::numbers);
  }
  int64_t before = net.hidden;
  for (size_t k = 0; k < net.layers.size(); ++k) {
    auto& layer = net.layers[k];
    const std::string name = "layer" + std::to_string(k + 1);
    v(name + ".weights", layer.weights, (net.shared ? 1 : net.members) * before, layer.out, ArrayKind::weights);
    v(name + ".bias", layer.bias, 1, net.members * layer.out, ArrayKind::numbers);
    if (net.shared) {
      v(name + ".in", layer.in_factors, net.members, before, ArrayKind::numbers);
      v(name + ".out", layer.out_factors, net.members, layer.out, ArrayKind::numbers);
    }
    before = layer.out;
  }
  if (net.hidden > 0) v("output", net.output, net.logits(), before, ArrayKind::numbers);
  if (net.shared) v("output.bias", net.output_bias, 1, net.logits(), ArrayKind::numbers);
  const int64_t fields = net.grid_fields;
  if (net.pairs.weighted) v("pairs.weights", net.pairs.weights, logits, fields * (fields - 1) / 2, ArrayKind::numbers);
  if (net.pairs.by_coordinate) v("pairs.coordinates", net.pairs.coordinates, logits, net.grid_coordinates, ArrayKind::numbers);
  if (net.cin.present) {
    int64_t maps = fields;
    for (size_t k = 0; k < net.cin.maps.size(); ++k) {
      const std::string name = "cin" + std::to_string(k + 1);
      v(name + ".weights", net.cin.weights[k], maps * fields, net.cin.maps[k], ArrayKind::weights);
      v(name + ".pooled", net.cin.pooled[k], logits, net.cin.maps[k], ArrayKind::numbers);
      maps = net.cin.maps[k];
    }
    v("cin.last", net.cin.last, logits, maps * fields, ArrayKind::numbers);
  }
  if (net.gate.present) {
    if (net.gate.rank > 0) v("gate.map_in", net.gate.map_in, units, net.gate.rank, ArrayKind::exact);
    v("gate.map_out", net.gate.map_out, net.gate.rank > 0 ? net.gate.rank : units, net.gate.gates, ArrayKind::exact);
    v("gate.logits", net.gate.logits, 1, net.gate.gates, ArrayKind::exact);
    v("gate.range", net.gate.range, 1, net.gate.gates, ArrayKind::exact);
  }
}

}  // namespace l0gm
