#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/picked_rows.h"
#include "runtime/program.h"

// The inner loops of a table program, compiled once per instruction set. Each call handles a block of rows; arguments are not
// checked. Arrays of float that are read in whole vectors are padded with zeros to a multiple of `lanes` (PackedRows pads so).
namespace l0gm::kernels {

constexpr int64_t lanes = 16;  // of float in the widest vectors
constexpr int64_t padded(int64_t count) { return (count + lanes - 1) / lanes * lanes; }

// Tables of PackedRows. A column with codes adds one row of its table to a sum, one with numbers (without waves) one or two. int8
// rows have scales.
struct CodeTable {
  int64_t slot = 0;
  const std::byte* rows = nullptr;
  const float* scales = nullptr;
};
struct NumberTable {
  PickedNumber picked;
  const std::byte* rows = nullptr;
  const float* scales = nullptr;
};
// Any other row of a table and what it is multiplied with, the scale of an int8 row included.
struct Entry {
  const std::byte* row;
  float factor;
};

// For each row of the block:  sum = max(lower_bound, base + rows of tables + factor * row of entries).
struct RowSums {  // the part that is the same for all blocks
  int64_t columns = 0;
  std::span<const CodeTable> code_tables;
  std::span<const NumberTable> number_tables;
  int64_t row_bytes = 0;  // of all tables
  int64_t entry_stride = 0;
  const float* base = nullptr;         // aligned
  const float* lower_bound = nullptr;  // aligned; per column
  int64_t out_stride = 0;              // out: sums, padded(columns) floats per row …
  const float* weights = nullptr;      // … or, with weights (`logits` aligned rows), out[l] = <row l of weights, sum> instead
  int64_t weight_stride = 0;
  int64_t logits = 0;
};
struct RowBlock {
  int64_t rows = 0;
  const int32_t* codes = nullptr;  // encoded rows
  const float* slopes = nullptr;
  int64_t code_stride = 0, slope_stride = 0;
  const Entry* entries = nullptr;   // those of row r begin at entries + r * entry_stride
  const int32_t* counts = nullptr;  // entries of each row; nullptr: none
};

// out = max(0, bias + in * weights): one member of one layer.
struct Dense {
  int64_t rows = 0;
  int64_t inputs = 0, outputs = 0;
  const std::byte* weights = nullptr;  // `inputs` rows
  int64_t weight_stride = 0;           // in elements
  const float* scales = nullptr;       // of the rows of weights; int8 only
  const float* bias = nullptr;         // padded
  const float* in = nullptr;
  int64_t in_stride = 0;
  float* out = nullptr;  // padded(outputs) floats per row
  int64_t out_stride = 0;
};

// out = max(0, base + (in * weights) * factors): one layer of some members of a batch ensemble, which share the weights. Row r of
// member m is row m * rows + r of `in` and `out`.
struct MemberDense {
  int64_t members = 0, rows = 0;
  int64_t inputs = 0, outputs = 0;
  const std::byte* weights = nullptr;  // `inputs` rows
  int64_t weight_stride = 0;           // in elements
  const float* scales = nullptr;       // of the rows of weights; int8 only
  const float* factors = nullptr;      // a row per member, aligned and padded
  int64_t factor_stride = 0;
  const float* base = nullptr;  // padded(outputs) floats can be read at each row
  int64_t base_member_stride = 0, base_row_stride = 0;
  const float* in = nullptr;
  int64_t in_stride = 0;
  float* out = nullptr;  // padded(outputs) floats per row
  int64_t out_stride = 0;
};

// out = in * factors, row by row; padded(count) floats of each row are read and written. `out` may be `in`.
struct ScaledRows {
  int64_t rows = 0, count = 0;
  const float* factors = nullptr;  // aligned and padded
  const float* in = nullptr;
  int64_t in_stride = 0;
  float* out = nullptr;
  int64_t out_stride = 0;
};

// out[r * out_stride] += <weights, in + r * in_stride>. Numbers after `count` in a row of `in` are not used.
struct Dots {
  int64_t rows = 0;
  int64_t count = 0;
  const float* weights = nullptr;  // padded
  const float* in = nullptr;       // padded(count) floats can be read
  int64_t in_stride = 0;
  float* out = nullptr;
  int64_t out_stride = 0;
};

// Embeddings of one example: `fields` rows of `width` floats, padded with zeros.
struct Grid {
  const float* values = nullptr;
  int64_t fields = 0;
  int64_t width = 0;  // a multiple of `lanes`
};

// One depth of a CIN: out_h = sum over i, j of weights[i * fields + j, h] * previous_i * grid_j, per coordinate.
struct CinDepth {
  Grid grid;
  const float* previous = nullptr;  // `maps_before` rows of grid.width
  int64_t maps_before = 0, maps = 0;
  const std::byte* weights = nullptr;
  int64_t weight_stride = 0;
  const float* scales = nullptr;
  float* out = nullptr;  // `maps` rows of grid.width
};

enum class Storage { float32, bfloat16, int8 };
Storage storage_of(DType type);

struct Kernels {
  std::array<void (*)(const RowSums&, const RowBlock&, float* out), 3> sum_rows;  // by Storage
  std::array<void (*)(const Dense&), 3> dense;
  std::array<void (*)(const MemberDense&), 3> member_dense;
  void (*scale_rows)(const ScaledRows&);
  void (*add_dots)(const Dots&);
  // Sum over pairs of fields of <v_i, v_j>; weights: of the pairs, coordinates: of the coordinates (padded); nullptr: all 1.
  float (*pairs)(const Grid& grid, const float* weights, const float* coordinates);
  std::array<void (*)(const CinDepth&), 3> cin_depth;
  // Sum over maps of weight * sum of the map's coordinates.
  float (*cin_pooled)(const float* maps, int64_t count, int64_t width, const float* weights);
  // Sum over i, j of weights[i * fields + j] * <previous_i, grid_j>.
  float (*cin_last)(const Grid& grid, const float* previous, int64_t maps, const float* weights);
};

// The kernels of a set that usable_instruction_sets() lists.
const Kernels& kernels_of(InstructionSet set);

}  // namespace l0gm::kernels
