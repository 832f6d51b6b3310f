#include "runtime/reference_logits.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/picked_rows.h"

namespace l0gm {
namespace {

using Numbers = std::vector<double>;
using Net = TableNet<Matrix>;

// Calls take(column, row of its table, factor) for all columns.
template <class Take>
void each_row_of_columns(const Net& net, const int32_t* codes, const float* slopes, const Take& take) {
  size_t wave = 0;
  for (const NetColumn& column : net.columns) {
    const double* frequencies = column.waves > 0 ? net.frequencies[wave++].row(0) : nullptr;
    if (!column.folded && column.units == 0) continue;  // read as the key of a statistic only
    each_row(column, frequencies, codes, slopes, [&](int64_t row, double factor) { take(column, row, factor); });
  }
}

void add(Numbers& sum, double factor, const double* row) {
  for (size_t j = 0; j < sum.size(); ++j) sum[j] += factor * row[j];
}

Numbers unit_values(const Net& net, const int32_t* codes, const float* slopes) {
  std::vector<const Matrix*> tables(net.units.size() + 1, nullptr);  // by first unit
  size_t table = 0;
  for (const NetColumn& column : net.columns) {
    if (column.units > 0) tables[static_cast<size_t>(column.unit_begin)] = &net.unit_tables[table++];
  }
  Numbers values(net.units.size(), 0.0);
  each_row_of_columns(net, codes, slopes, [&](const NetColumn& column, int64_t row, double factor) {
    for (int64_t u = 0; u < column.units; ++u) {
      values[static_cast<size_t>(column.unit_begin + u)] += factor * tables[static_cast<size_t>(column.unit_begin)]->at(row, u);
    }
  });
  const size_t first = net.units.size() - net.statistic_slots.size();
  for (size_t s = 0; s < net.statistic_slots.size(); ++s) values[first + s] = slopes[net.statistic_slots[s]];
  return values;
}

// numbers * matrix
Numbers product(const Numbers& numbers, const Matrix& matrix) {
  Numbers result(static_cast<size_t>(matrix.columns), 0.0);
  for (size_t i = 0; i < numbers.size(); ++i) add(result, numbers[i], matrix.row(static_cast<int64_t>(i)));
  return result;
}

Numbers gate_values(const NetGate<Matrix>& gate, const Numbers& units) {
  const Numbers mapped = product(gate.rank > 0 ? product(units, gate.map_in) : units, gate.map_out);
  Numbers logits(mapped.size()), values(mapped.size());
  for (size_t g = 0; g < mapped.size(); ++g) {
    const auto place = static_cast<int64_t>(g);
    logits[g] = gate.logits.at(0, place) + gate.range.at(0, place) * std::tanh(mapped[g]);
    const double stretched = (gate.zeta - gate.gamma) / (1 + std::exp(-logits[g] / gate.scale)) + gate.gamma;
    values[g] = gate.step ? (logits[g] > gate.threshold ? 1.0 : 0.0) : std::clamp(stretched, 0.0, 1.0);
  }
  const bool none_open = std::all_of(values.begin(), values.end(), [](double value) { return value == 0; });
  if (none_open && !values.empty())
    values[static_cast<size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin())] = 1;
  return values;
}

Numbers gated(const NetGate<Matrix>& gate, Numbers units) {
  if (!gate.present) return units;
  const Numbers values = gate_values(gate, units);
  for (size_t u = 0; u < units.size(); ++u) {
    const int64_t begin = gate.gate_begin[u], end = gate.gate_begin[u + 1];
    if (begin == end) continue;
    double largest = 0;
    for (int64_t i = begin; i < end; ++i) {
      largest = std::max(largest, values[static_cast<size_t>(gate.gate_of_unit[static_cast<size_t>(i)])]);
    }
    units[u] *= largest;
  }
  return units;
}

// values * factors, number by number.
Numbers times(Numbers values, const double* factors) {
  for (size_t i = 0; i < values.size(); ++i) values[i] *= factors[i];
  return values;
}

// Batch ensemble: what the units add to the accumulator.
void add_first(const Net& net, const Numbers& units, Numbers& sum) {
  Numbers dense(static_cast<size_t>(net.dense_units()));
  for (size_t u = 0; u < units.size(); ++u) {
    if (net.units[u].dense >= 0) dense[static_cast<size_t>(net.units[u].dense)] = units[u];
  }
  for (int64_t m = 0; m < net.members; ++m) {
    const Numbers own =
        times(product(times(dense, net.first.in_factors.row(m)), net.first.weights), net.first.out_factors.row(m));
    for (int64_t h = 0; h < net.hidden; ++h) sum[static_cast<size_t>(m * net.hidden + h)] += own[static_cast<size_t>(h)];
  }
  for (int64_t o = 0; o < net.outputs; ++o) {
    for (size_t i = 0; i < dense.size(); ++i)
      sum[static_cast<size_t>(net.first_logit() + o)] += net.first.terms.at(o, static_cast<int64_t>(i)) * dense[i];
  }
}

Numbers accumulator(const Net& net, const int32_t* codes, const float* slopes, const Numbers& units) {
  Numbers sum(net.base.row(0), net.base.row(0) + net.wide_columns());
  each_row_of_columns(net, codes, slopes, [&](const NetColumn& column, int64_t row, double factor) {
    if (column.folded) add(sum, factor, net.wide.row(column.wide_begin + row));
  });
  if (net.shared) add_first(net, units, sum);
  for (size_t u = 0; !net.shared && u < units.size(); ++u) {
    if (net.units[u].dense >= 0) add(sum, units[u], net.wide.row(net.units[u].dense));
  }
  return sum;
}

// What one member's next layer is before the rectifier.
Numbers next_layer(const Net& net, const NetLayer<Matrix>& layer, const Numbers& hidden, int64_t member) {
  const double* bias = layer.bias.row(0) + member * layer.out;
  Numbers next(bias, bias + layer.out);
  if (net.shared) {
    const Numbers own = times(product(times(hidden, layer.in_factors.row(member)), layer.weights), layer.out_factors.row(member));
    add(next, 1, own.data());
  }
  const int64_t first = member * layer.in;
  for (int64_t i = 0; !net.shared && i < layer.in; ++i) add(next, hidden[static_cast<size_t>(i)], layer.weights.row(first + i));
  return next;
}

// The last hidden layer of one member.
Numbers last_hidden(const Net& net, const Numbers& sum, int64_t member) {
  Numbers hidden(sum.begin() + member * net.hidden, sum.begin() + (member + 1) * net.hidden);
  const auto rectify = [](Numbers& values) {
    for (double& value : values) value = std::max(value, 0.0);
  };
  rectify(hidden);
  for (const NetLayer<Matrix>& layer : net.layers) {
    Numbers next = next_layer(net, layer, hidden, member);
    rectify(next);
    hidden = std::move(next);
  }
  return hidden;
}

Matrix grid_of(const Net& net, const Numbers& units) {
  Matrix grid(net.grid_fields, net.grid_coordinates);
  for (size_t u = 0; u < units.size(); ++u) {
    if (net.units[u].place >= 0) grid.values[static_cast<size_t>(net.units[u].place)] = units[u];
  }
  return grid;
}

double pairs_of(const NetPairs<Matrix>& pairs, const Matrix& grid, int64_t logit) {
  double sum = 0;
  int64_t pair = 0;
  for (int64_t i = 0; i < grid.rows; ++i) {
    for (int64_t j = i + 1; j < grid.rows; ++j, ++pair) {
      double product_of_pair = 0;
      for (int64_t c = 0; c < grid.columns; ++c) {
        product_of_pair += grid.at(i, c) * grid.at(j, c) * (pairs.by_coordinate ? pairs.coordinates.at(logit, c) : 1.0);
      }
      sum += product_of_pair * (pairs.weighted ? pairs.weights.at(logit, pair) : 1.0);
    }
  }
  return sum;
}

// The feature maps of the next depth, a row per map.
Matrix next_maps(const Matrix& previous, const Matrix& grid, const Matrix& weights) {
  Matrix maps(weights.columns, grid.columns);
  for (int64_t h = 0; h < maps.rows; ++h) {
    for (int64_t i = 0; i < previous.rows; ++i) {
      for (int64_t j = 0; j < grid.rows; ++j) {
        for (int64_t c = 0; c < grid.columns; ++c)
          maps.at(h, c) += weights.at(i * grid.rows + j, h) * previous.at(i, c) * grid.at(j, c);
      }
    }
  }
  return maps;
}

void add_cin(const Net& net, const Matrix& grid, double* logits) {
  Matrix previous = grid;
  for (size_t k = 0; k < net.cin.maps.size(); ++k) {
    previous = next_maps(previous, grid, net.cin.weights[k]);
    for (int64_t l = 0; l < net.branch_logits(); ++l) {
      for (int64_t h = 0; h < previous.rows; ++h) {
        for (int64_t c = 0; c < grid.columns; ++c) logits[l] += net.cin.pooled[k].at(l, h) * previous.at(h, c);
      }
    }
  }
  for (int64_t l = 0; l < net.branch_logits(); ++l) {
    for (int64_t i = 0; i < previous.rows; ++i) {
      for (int64_t j = 0; j < grid.rows; ++j) {
        for (int64_t c = 0; c < grid.columns; ++c)
          logits[l] += net.cin.last.at(l, i * grid.rows + j) * previous.at(i, c) * grid.at(j, c);
      }
    }
  }
}

}  // namespace

void reference_logits(const TableNet<Matrix>& net, const int32_t* codes, const float* slopes, double* logits) {
  const Numbers units = gated(net.gate, unit_values(net, codes, slopes));
  const Numbers sum = accumulator(net, codes, slopes, units);
  Numbers branches(sum.begin() + net.first_logit(), sum.end());
  const Matrix grid = grid_of(net, units);
  for (int64_t l = 0; net.pairs.present && l < net.branch_logits(); ++l)
    branches[static_cast<size_t>(l)] += pairs_of(net.pairs, grid, l);
  if (net.cin.present) add_cin(net, grid, branches.data());
  for (int64_t l = 0; l < net.logits(); ++l) {
    logits[l] = branches[static_cast<size_t>(l % net.branch_logits())] + (net.shared ? net.output_bias.at(0, l) : 0.0);
  }
  for (int64_t member = 0; net.hidden > 0 && member < net.members; ++member) {
    const Numbers hidden = last_hidden(net, sum, member);
    for (int64_t l = member * net.outputs; l < (member + 1) * net.outputs; ++l) {
      for (size_t i = 0; i < hidden.size(); ++i) logits[l] += net.output.at(l, static_cast<int64_t>(i)) * hidden[i];
    }
  }
}

}  // namespace l0gm
