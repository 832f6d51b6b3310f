#pragma once

#include <vector>

#include "runtime/kernels.h"
#include "runtime/picked_rows.h"

// What a table program computes once, before any row: where everything is, and how much memory a block of rows needs.
namespace l0gm {

// A column's table, in `wide` or of units.
struct TableSource {
  NetColumn column;
  const std::byte* rows = nullptr;
  const float* scales = nullptr;       // of its rows; int8 only
  const float* frequencies = nullptr;  // of its waves; nullptr: none
};

// Tables whose picked rows are added up.
struct SumPlan {
  std::vector<kernels::CodeTable> code_tables;
  std::vector<kernels::NumberTable> number_tables;
  std::vector<TableSource> others;  // the rows they pick are written into the workspace as entries
  int64_t most_entries = 0;
  kernels::RowSums sums;  // the part that is the same for all blocks

  void add(const TableSource& source);
};

struct UnitPlan {  // of one column
  int64_t unit_begin = 0;
  SumPlan plan;
};

// A unit whose value is the factor of a row of `wide`.
struct DenseUnit {
  int64_t unit = 0;
  const std::byte* row = nullptr;
  float scale = 1;
};

// Consecutive units that are consecutive on the grid too.
struct GridRun {
  int64_t unit = 0, place = 0, length = 0;  // place: on a grid whose rows are padded
};

// Where a block's numbers lie in the workspace, in bytes.
struct WorkspaceLayout {
  size_t entries = 0, counts = 0, units = 0, grid = 0, sums = 0, exact = 0, shared = 0, branches = 0;
  size_t hidden[2] = {0, 0}, maps[2] = {0, 0};
  size_t bytes = 0;
};

struct ProgramPlan {
  ProgramPlan(const TableNet<PackedRows>& net, InstructionSet instructions);

  const kernels::Kernels* kernels;
  size_t storage = 0;  // of `wide`, layers and CIN, as an index of kernels
  SumPlan wide;        // folded tables; their sums go to the workspace unless `weights` turn them into logits
  std::vector<UnitPlan> unit_tables;
  std::vector<TableSource> exact_tables;  // the same, in double precision: with a gate
  std::vector<DenseUnit> dense_units;
  std::vector<int64_t> shared_units;  // batch ensemble: the unit of each row of `first`
  bool has_folded = false;            // tables in `wide`
  std::vector<GridRun> grid_runs;
  PackedRows lower_bound;          // of the accumulator: 0 for hidden units, none for logits
  PackedRows zeros, unbounded;     // as many as a column has units
  PackedRows weights;              // [logits, accumulator]: with them a net of one hidden layer is one pass; may be empty
  std::vector<PackedRows> biases;  // per layer: [members, out]
  PackedRows member_base;          // batch ensemble without tables in `wide`: [members, hidden]

  int64_t entry_stride = 0;  // per row, as all strides here
  int64_t unit_stride = 0, sum_stride = 0, hidden_stride = 0, shared_stride = 0;
  int64_t grid_width = 0, grid_size = 0;
  WorkspaceLayout layout;

 private:
  void find_tables(const TableNet<PackedRows>& net);
  void find_units(const TableNet<PackedRows>& net);
  void make_bounds(const TableNet<PackedRows>& net);
  void make_weights(const TableNet<PackedRows>& net);
  void prepare(SumPlan& plan, const PackedRows& base, const PackedRows& bounds) const;
  void prepare_sums(const TableNet<PackedRows>& net);
  void lay_out(const TableNet<PackedRows>& net);
};

}  // namespace l0gm
