#include "runtime/program_plan.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "runtime/kernels_gate.h"
#include "runtime/picked_rows.h"

namespace l0gm {
namespace {

using kernels::lanes;
using kernels::padded;

PackedRows packed_floats(int64_t rows, int64_t columns, const std::vector<float>& values) {
  return PackedRows(rows, columns, DType::f32, values.data(), {});
}

int64_t row_bytes_of(const PackedRows& table) { return table.stride() * static_cast<int64_t>(size_of(table.type())); }

TableSource source_of(const NetColumn& column, const PackedRows& table, int64_t first_row, const float* frequencies) {
  TableSource source;
  source.column = column;
  source.rows = static_cast<const std::byte*>(table.data()) + first_row * row_bytes_of(table);
  source.scales = table.type() == DType::i8 ? table.scales() + first_row : nullptr;
  source.frequencies = frequencies;
  return source;
}

void check_shapes(const TableNet<PackedRows>& net) {
  net.visit([](const std::string& name, const PackedRows& array, int64_t rows, int64_t columns, ArrayKind) {
    if (array.rows() != rows || array.columns() != columns)
      throw std::logic_error("array '" + name + "' of the net has a shape that does not match the net");
  });
}

}  // namespace

void SumPlan::add(const TableSource& source) {
  const NetColumn& column = source.column;
  if (column.kind == NetColumn::Kind::code) {
    code_tables.push_back({column.code_slot, source.rows, source.scales});
  } else if (column.kind == NetColumn::Kind::number && column.waves == 0) {
    number_tables.push_back({PickedNumber(column), source.rows, source.scales});
  } else {
    others.push_back(source);
    most_entries += most_rows(column);
  }
}

ProgramPlan::ProgramPlan(const TableNet<PackedRows>& net, InstructionSet instructions)
    : kernels(&kernels::kernels_of(instructions)) {
  check_shapes(net);
  storage = static_cast<size_t>(kernels::storage_of(net.wide.type()));
  find_tables(net);
  find_units(net);
  make_bounds(net);
  make_weights(net);
  lay_out(net);
  prepare_sums(net);
}

void ProgramPlan::find_tables(const TableNet<PackedRows>& net) {
  size_t table = 0, wave = 0;
  wide.sums.row_bytes = row_bytes_of(net.wide);
  for (const NetColumn& column : net.columns) {
    const float* frequencies = column.waves > 0 ? net.frequencies[wave++].row<float>(0) : nullptr;
    has_folded = has_folded || column.folded;
    if (column.folded) wide.add(source_of(column, net.wide, column.wide_begin, frequencies));
    if (column.units == 0) continue;
    const PackedRows& units = net.unit_tables[table++];
    const TableSource source = source_of(column, units, 0, frequencies);
    if (net.gate.present) {
      exact_tables.push_back(source);
    } else {
      UnitPlan& unit_plan = unit_tables.emplace_back();
      unit_plan.unit_begin = column.unit_begin;
      unit_plan.plan.add(source);
      unit_plan.plan.sums.row_bytes = row_bytes_of(units);
      unit_plan.plan.sums.columns = column.units;
    }
  }
}

void ProgramPlan::find_units(const TableNet<PackedRows>& net) {
  grid_width = padded(net.grid_coordinates);
  grid_size = net.grid_fields * grid_width;
  const bool grid_is_read = net.pairs.present || net.cin.present;
  for (size_t u = 0; u < net.units.size(); ++u) {
    const Unit& unit = net.units[u];
    const auto index = static_cast<int64_t>(u);
    if (unit.dense >= 0 && net.shared) {
      shared_units.push_back(index);
    } else if (unit.dense >= 0) {
      const TableSource row = source_of({}, net.wide, unit.dense, nullptr);
      dense_units.push_back({index, row.rows, row.scales != nullptr ? *row.scales : 1.0F});
    }
    if (unit.place < 0 || !grid_is_read) continue;
    const int64_t place = unit.place / net.grid_coordinates * grid_width + unit.place % net.grid_coordinates;
    GridRun* last = grid_runs.empty() ? nullptr : &grid_runs.back();
    if (last != nullptr && last->unit + last->length == index && last->place + last->length == place) {
      ++last->length;
    } else {
      grid_runs.push_back({index, place, 1});
    }
  }
}

void ProgramPlan::make_bounds(const TableNet<PackedRows>& net) {
  constexpr float none = -std::numeric_limits<float>::infinity();
  std::vector<float> bounds(static_cast<size_t>(net.wide_columns()), none);
  // The layers of a batch ensemble apply their bounds themselves: units may still be added to the sums.
  if (!net.shared) std::fill_n(bounds.begin(), net.first_logit(), 0.0F);
  lower_bound = packed_floats(1, net.wide_columns(), bounds);
  int64_t most_units = 0;
  for (const NetColumn& column : net.columns) most_units = std::max(most_units, column.units);
  zeros = packed_floats(1, most_units, std::vector<float>(static_cast<size_t>(most_units), 0.0F));
  unbounded = packed_floats(1, most_units, std::vector<float>(static_cast<size_t>(most_units), none));
  for (const NetLayer<PackedRows>& layer : net.layers) {
    biases.emplace_back(net.members, layer.out, DType::f32, layer.bias.row<float>(0), std::vector<float>());
  }
  if (net.shared && !has_folded) {
    member_base = PackedRows(net.members, net.hidden, DType::f32, net.base.row<float>(0), std::vector<float>());
  }
}

// Each logit as one dot product with the whole accumulator; with more logits, multiplying the zeros of other members would cost
// more than it saves.
void ProgramPlan::make_weights(const TableNet<PackedRows>& net) {
  constexpr int64_t most_logits = 4;
  if (net.shared || net.hidden == 0 || !net.layers.empty() || net.logits() > most_logits) return;
  const int64_t columns = net.wide_columns();
  std::vector<float> values(static_cast<size_t>(net.logits() * columns), 0.0F);
  for (int64_t l = 0; l < net.logits(); ++l) {
    float* row = values.data() + l * columns;
    std::copy_n(net.output.row<float>(l), net.hidden, row + l / net.outputs * net.hidden);
    row[net.first_logit() + l] = 1;
  }
  weights = packed_floats(net.logits(), columns, values);
}

void ProgramPlan::lay_out(const TableNet<PackedRows>& net) {
  int64_t most_maps = 0;
  int64_t entries = wide.most_entries + static_cast<int64_t>(dense_units.size());
  for (const UnitPlan& table : unit_tables) entries = std::max(entries, table.plan.most_entries);
  entry_stride = entries > 0 ? entries + 1 : 0;  // one more is written before it is known whether it is used
  // Whole vectors are read and written at offsets that need not be multiples of their size: hence the room at the end.
  unit_stride = net.units.empty() ? 0 : padded(static_cast<int64_t>(net.units.size())) + lanes;
  const bool sums_are_kept = net.shared ? has_folded : weights.rows() == 0;
  sum_stride = sums_are_kept ? padded(net.wide_columns()) + lanes : 0;
  shared_stride = padded(static_cast<int64_t>(shared_units.size()));
  if (net.shared)
    hidden_stride = std::max(shared_stride, padded(net.hidden));  // of one member: a row per row and member at a time
  for (const NetLayer<PackedRows>& layer : net.layers) {
    hidden_stride = std::max(hidden_stride, (net.shared ? 1 : net.members) * padded(layer.out));
  }
  for (const int64_t maps : net.cin.maps) most_maps = std::max(most_maps, maps);

  constexpr auto rows = static_cast<size_t>(TableProgram::block_rows);
  const auto reserve = [this](size_t count, auto number) {
    const size_t begin = layout.bytes;
    layout.bytes += (count * sizeof(typename decltype(number)::type) + 63) / 64 * 64;
    return begin;
  };
  const auto floats = [&](int64_t count) { return reserve(static_cast<size_t>(count), std::type_identity<float>{}); };
  constexpr auto block = static_cast<int64_t>(rows);
  layout.entries = reserve(rows * static_cast<size_t>(entry_stride), std::type_identity<kernels::Entry>{});
  layout.counts = reserve(rows, std::type_identity<int32_t>{});
  layout.units = floats(block * unit_stride);
  layout.grid = grid_runs.empty() && !net.pairs.present && !net.cin.present ? floats(0) : floats(block * grid_size);
  layout.sums = floats(block * sum_stride);
  layout.shared = floats(block * shared_stride);
  layout.branches = floats(net.shared ? block * net.outputs : 0);
  for (size_t& part : layout.hidden) part = floats(block * hidden_stride);
  for (size_t& part : layout.maps) part = floats(most_maps * grid_width);
  const int64_t exact = net.gate.present ? static_cast<int64_t>(net.units.size()) + kernels::gate_scratch(net.gate) : 0;
  layout.exact = reserve(static_cast<size_t>(exact), std::type_identity<double>{});
}

void ProgramPlan::prepare(SumPlan& plan, const PackedRows& base, const PackedRows& bounds) const {
  plan.sums.code_tables = plan.code_tables;
  plan.sums.number_tables = plan.number_tables;
  plan.sums.entry_stride = entry_stride;
  plan.sums.base = base.row<float>(0);
  plan.sums.lower_bound = bounds.row<float>(0);
}

void ProgramPlan::prepare_sums(const TableNet<PackedRows>& net) {
  for (UnitPlan& table : unit_tables) {
    prepare(table.plan, zeros, unbounded);
    table.plan.sums.out_stride = unit_stride;
  }
  prepare(wide, net.base, lower_bound);
  wide.sums.columns = net.wide_columns();
  wide.sums.out_stride = sum_stride;
  if (weights.rows() > 0) {
    wide.sums.out_stride = wide.sums.logits = net.logits();
    wide.sums.weights = weights.row<float>(0);
    wide.sums.weight_stride = weights.stride();
  }
}

}  // namespace l0gm
