#include "runtime/program.h"

#include <algorithm>

#include "runtime/kernels_gate.h"
#include "runtime/picked_rows.h"
#include "runtime/program_members.h"
#include "runtime/program_plan.h"

namespace l0gm {
namespace {

using kernels::Entry;
using Net = TableNet<PackedRows>;

// Runs the net on up to block_rows rows at a time.
class Block {
 public:
  Block(const Net& net, const ProgramPlan& plan, std::byte* workspace)
      : net_(net),
        plan_(plan),
        kernels_(*plan.kernels),
        workspace_(workspace),
        logits_(net.logits()),
        branch_logits_(net.branch_logits()),
        entries_(at<Entry>(plan.layout.entries)),
        counts_(at<int32_t>(plan.layout.counts)) {}

  // The places of the grid that no unit fills stay 0 for all blocks.
  void clear_grid(int64_t rows) {
    if (net_.pairs.present || net_.cin.present) std::fill_n(at<float>(plan_.layout.grid), rows * plan_.grid_size, 0.0F);
  }

  void run(const int32_t* codes, int64_t code_stride, const float* slopes, int64_t slope_stride, int64_t rows, float* out) {
    codes_ = codes;
    code_stride_ = code_stride;
    slopes_ = slopes;
    slope_stride_ = slope_stride;
    rows_ = rows;
    out_ = out;
    if (!net_.units.empty()) {
      if (net_.gate.present) {
        for (int64_t r = 0; r < rows_; ++r) gated_units(r);
      } else {
        plain_units();
      }
      fill_grid();
    }
    if (net_.shared) {
      run_shared();
      return;
    }
    const bool one_pass = plan_.weights.rows() > 0;
    sum(plan_.wide, plan_.dense_units, one_pass ? out_ : at<float>(plan_.layout.sums));
    if (!one_pass) deep();
    if (net_.pairs.present || net_.cin.present) {
      for (int64_t r = 0; r < rows_; ++r) add_grid(r, out_ + r * logits_);
    }
  }

 private:
  template <class T>
  T* at(size_t offset) const {
    return reinterpret_cast<T*>(workspace_ + offset);
  }
  const int32_t* codes(int64_t r) const { return codes_ + r * code_stride_; }
  const float* slopes(int64_t r) const { return slopes_ + r * slope_stride_; }
  float* units(int64_t r) const { return at<float>(plan_.layout.units) + r * plan_.unit_stride; }
  float* grid(int64_t r) const { return at<float>(plan_.layout.grid) + r * plan_.grid_size; }

  // Functions that most nets do not need are not inlined: a call for one row is then little more than its sums.

  // Writes the rows of tables that the kernels do not look up themselves and, for the sum of `wide`, the rows of units.
  [[gnu::noinline]] void write_entries(const SumPlan& plan, const std::vector<DenseUnit>& dense_units) {
    for (int64_t r = 0; r < rows_; ++r) {
      Entry *const begin = entries_ + r * plan.sums.entry_stride, *next = begin;
      for (const TableSource& table : plan.others) {
        each_row(table.column, table.frequencies, codes(r), slopes(r), [&](int64_t row, double factor) {
          const float scale = table.scales != nullptr ? table.scales[row] : 1.0F;
          *next++ = {table.rows + row * plan.sums.row_bytes, static_cast<float>(factor) * scale};
        });
      }
      for (const DenseUnit& unit : dense_units) {
        const float value = units(r)[unit.unit];
        *next = {unit.row, value * unit.scale};
        next += value != 0 ? 1 : 0;  // otherwise the next one overwrites it
      }
      counts_[r] = static_cast<int32_t>(next - begin);
    }
  }

  void sum(const SumPlan& plan, const std::vector<DenseUnit>& dense_units, float* out) {
    kernels::RowBlock block = {rows_, codes_, slopes_, code_stride_, slope_stride_, entries_, nullptr};
    if (!plan.others.empty() || !dense_units.empty()) {
      write_entries(plan, dense_units);
      block.counts = counts_;
    }
    kernels_.sum_rows[plan_.storage](plan.sums, block, out);
  }

  // In the order of columns: the last vector of a column overwrites units of the next column, which are written later.
  [[gnu::noinline]] void plain_units() {
    for (const UnitPlan& table : plan_.unit_tables) sum(table.plan, {}, units(0) + table.unit_begin);
    const size_t statistics = net_.statistic_slots.size(), first = net_.units.size() - statistics;
    for (int64_t r = 0; r < rows_; ++r) {
      for (size_t s = 0; s < statistics; ++s) units(r)[first + s] = slopes(r)[net_.statistic_slots[s]];
    }
  }

  [[gnu::noinline]] void gated_units(int64_t r) {
    auto* values = at<double>(plan_.layout.exact);
    const size_t count = net_.units.size(), first = count - net_.statistic_slots.size();
    std::fill_n(values, first, 0.0);
    for (size_t t = 0; t < plan_.exact_tables.size(); ++t) {
      const NetColumn& column = plan_.exact_tables[t].column;
      each_row(column, plan_.exact_tables[t].frequencies, codes(r), slopes(r), [&](int64_t row, double factor) {
        const double* numbers = net_.unit_tables[t].row<double>(row);
        for (int64_t u = 0; u < column.units; ++u) values[column.unit_begin + u] += factor * numbers[u];
      });
    }
    for (size_t s = first; s < count; ++s) values[s] = static_cast<double>(slopes(r)[net_.statistic_slots[s - first]]);
    kernels::gate_units(net_.gate, values, static_cast<int64_t>(count), values + count);
    for (size_t u = 0; u < count; ++u) units(r)[u] = static_cast<float>(values[u]);
  }

  [[gnu::noinline]] void fill_grid() {
    for (const GridRun& run : plan_.grid_runs) {
      for (int64_t r = 0; r < rows_; ++r) std::copy_n(units(r) + run.unit, run.length, grid(r) + run.place);
    }
  }

  [[gnu::noinline]] void deep() {
    const float* sums = at<float>(plan_.layout.sums);
    for (int64_t r = 0; r < rows_; ++r)
      std::copy_n(sums + r * plan_.sum_stride + net_.first_logit(), logits_, out_ + r * logits_);
    if (net_.hidden == 0) return;
    const float* hidden = sums;
    int64_t stride = plan_.sum_stride, member_stride = net_.hidden, width = net_.hidden;
    for (size_t k = 0; k < net_.layers.size(); ++k) {
      float* next = at<float>(plan_.layout.hidden[k % 2]);
      for (int64_t m = 0; m < net_.members; ++m) layer(k, m, hidden + m * member_stride, stride, width, next);
      hidden = next;
      stride = plan_.hidden_stride;
      width = net_.layers[k].out;
      member_stride = kernels::padded(width);
    }
    for (int64_t l = 0; l < logits_; ++l) {
      add_dots(net_.output.row<float>(l), width, hidden + l / net_.outputs * member_stride, stride, out_ + l, logits_);
    }
  }

  void layer(size_t k, int64_t member, const float* in, int64_t in_stride, int64_t width, float* next) const {
    const NetLayer<PackedRows>& layer = net_.layers[k];
    const int64_t first = member * width;
    kernels::Dense dense;
    dense.rows = rows_;
    dense.inputs = width;
    dense.outputs = layer.out;
    dense.weights = static_cast<const std::byte*>(layer.weights.data()) +
                    first * layer.weights.stride() * static_cast<int64_t>(size_of(layer.weights.type()));
    dense.weight_stride = layer.weights.stride();
    dense.scales = layer.weights.scales() + (layer.weights.type() == DType::i8 ? first : 0);
    dense.bias = plan_.biases[k].row<float>(member);
    dense.in = in;
    dense.in_stride = in_stride;
    dense.out = next + member * kernels::padded(layer.out);
    dense.out_stride = plan_.hidden_stride;
    kernels_.dense[plan_.storage](dense);
  }

  // A batch ensemble: what units, tables and grid say to all members, then the members.
  [[gnu::noinline]] void run_shared() {
    float* const sums = at<float>(plan_.layout.sums);
    float* const branches = at<float>(plan_.layout.branches);
    float* const dense = at<float>(plan_.layout.shared);
    if (plan_.has_folded) sum(plan_.wide, {}, sums);
    for (int64_t r = 0; r < rows_; ++r) {
      const float* from = plan_.has_folded ? sums + r * plan_.sum_stride : net_.base.row<float>(0);
      std::copy_n(from + net_.first_logit(), branch_logits_, branches + r * branch_logits_);
      for (size_t u = 0; u < plan_.shared_units.size(); ++u)
        dense[r * plan_.shared_stride + static_cast<int64_t>(u)] = units(r)[plan_.shared_units[u]];
    }
    if (!plan_.shared_units.empty()) {
      for (int64_t l = 0; l < branch_logits_; ++l) {
        add_dots(net_.first.terms.row<float>(l), std::ssize(plan_.shared_units), dense, plan_.shared_stride, branches + l,
                 branch_logits_);
      }
    }
    for (int64_t r = 0; r < rows_; ++r) {
      if (net_.pairs.present || net_.cin.present) add_grid(r, branches + r * branch_logits_);
      for (int64_t l = 0; l < logits_; ++l)
        out_[r * logits_ + l] = branches[r * branch_logits_ + l % branch_logits_] + net_.output_bias.row<float>(0)[l];
    }
    add_members(net_, plan_, workspace_, rows_, out_);
  }

  void add_dots(const float* weights, int64_t count, const float* in, int64_t in_stride, float* out, int64_t out_stride) const {
    kernels_.add_dots({rows_, count, weights, in, in_stride, out, out_stride});
  }

  [[gnu::noinline]] void add_grid(int64_t r, float* out) {
    const kernels::Grid values = {grid(r), net_.grid_fields, plan_.grid_width};
    const NetPairs<PackedRows>& pairs = net_.pairs;
    for (int64_t l = 0; pairs.present && l < branch_logits_; ++l) {
      out[l] += kernels_.pairs(values, pairs.weighted ? pairs.weights.row<float>(l) : nullptr,
                               pairs.by_coordinate ? pairs.coordinates.row<float>(l) : nullptr);
    }
    if (net_.cin.present) add_cin(values, out);
  }

  void add_cin(const kernels::Grid& values, float* out) {
    const NetCin<PackedRows>& cin = net_.cin;
    const float* previous = values.values;
    int64_t before = values.fields;
    for (size_t k = 0; k < cin.maps.size(); ++k) {
      kernels::CinDepth depth;
      depth.grid = values;
      depth.previous = previous;
      depth.maps_before = before;
      depth.maps = cin.maps[k];
      depth.weights = static_cast<const std::byte*>(cin.weights[k].data());
      depth.weight_stride = cin.weights[k].stride();
      depth.scales = cin.weights[k].scales();
      depth.out = at<float>(plan_.layout.maps[k % 2]);
      kernels_.cin_depth[plan_.storage](depth);
      previous = depth.out;
      before = depth.maps;
      for (int64_t l = 0; l < branch_logits_; ++l)
        out[l] += kernels_.cin_pooled(previous, before, values.width, cin.pooled[k].row<float>(l));
    }
    for (int64_t l = 0; l < branch_logits_; ++l) out[l] += kernels_.cin_last(values, previous, before, cin.last.row<float>(l));
  }

  const Net& net_;
  const ProgramPlan& plan_;
  const kernels::Kernels& kernels_;
  std::byte* workspace_;
  int64_t logits_, branch_logits_;
  Entry* entries_;
  int32_t* counts_;
  const int32_t* codes_ = nullptr;
  const float* slopes_ = nullptr;
  int64_t code_stride_ = 0, slope_stride_ = 0, rows_ = 0;
  float* out_ = nullptr;
};

}  // namespace

TableProgram::TableProgram(TableNet<PackedRows> net, InstructionSet instructions)
    : net_(std::move(net)), instructions_(instructions), plan_(std::make_unique<const ProgramPlan>(net_, instructions)) {}
TableProgram::~TableProgram() = default;
TableProgram::TableProgram(TableProgram&&) noexcept = default;
TableProgram& TableProgram::operator=(TableProgram&&) noexcept = default;

size_t TableProgram::workspace_bytes() const { return plan_->layout.bytes; }

void TableProgram::logits(const int32_t* codes, int64_t code_stride, const float* slopes, int64_t slope_stride, int64_t rows,
                          float* out, std::byte* workspace) const {
  Block block(net_, *plan_, workspace);
  block.clear_grid(std::min(rows, block_rows));
  for (int64_t begin = 0; begin < rows; begin += block_rows) {
    block.run(codes + begin * code_stride, code_stride, slopes + begin * slope_stride, slope_stride,
              std::min(block_rows, rows - begin), out + begin * net_.logits());
  }
}

}  // namespace l0gm
