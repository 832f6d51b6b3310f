#include "runtime/program_members.h"

#include <algorithm>
#include <utility>

namespace l0gm {
namespace {

using kernels::MemberDense;
using Net = TableNet<PackedRows>;

// Some members on the rows of a block: row r of the group's member m is row m * rows + r of the hidden layers.
class Group {
 public:
  Group(const Net& net, const ProgramPlan& plan, std::byte* workspace, int64_t rows, int64_t first, int64_t count)
      : net_(net),
        plan_(plan),
        kernels_(*plan.kernels),
        rows_(rows),
        first_(first),
        count_(count),
        units_(at(workspace, plan.layout.shared)),
        sums_(at(workspace, plan.layout.sums)),
        hidden_(at(workspace, plan.layout.hidden[0])),
        other_(at(workspace, plan.layout.hidden[1])) {}

  void add_to(float* out) {
    first_layer();
    for (size_t k = 0; k < net_.layers.size(); ++k) next_layer(k);
    for (int64_t l = first_ * net_.outputs; l < (first_ + count_) * net_.outputs; ++l) {
      const float* in = member_rows(hidden_, l / net_.outputs - first_);
      kernels_.add_dots({rows_, net_.last_hidden(), net_.output.row<float>(l), in, plan_.hidden_stride, out + l, net_.logits()});
    }
  }

 private:
  static float* at(std::byte* workspace, size_t offset) { return reinterpret_cast<float*>(workspace + offset); }
  float* member_rows(float* layer, int64_t member) const { return layer + member * rows_ * plan_.hidden_stride; }

  void first_layer() {
    const auto inputs = static_cast<int64_t>(plan_.shared_units.size());
    for (int64_t m = 0; m < count_ && inputs > 0; ++m) {
      const float* factors = net_.first.in_factors.row<float>(first_ + m);
      kernels_.scale_rows({rows_, inputs, factors, units_, plan_.shared_stride, member_rows(other_, m), plan_.hidden_stride});
    }
    MemberDense layer = layer_of(net_.first.weights, net_.first.out_factors, inputs, net_.hidden);
    layer.base = plan_.has_folded ? sums_ + first_ * net_.hidden : plan_.member_base.row<float>(first_);
    layer.base_member_stride = plan_.has_folded ? net_.hidden : plan_.member_base.stride();
    layer.base_row_stride = plan_.has_folded ? plan_.sum_stride : 0;
    layer.in = other_;
    layer.out = hidden_;
    kernels_.member_dense[plan_.storage](layer);
  }

  void next_layer(size_t k) {
    const NetLayer<PackedRows>& net_layer = net_.layers[k];
    for (int64_t m = 0; m < count_; ++m) {
      float* const rows = member_rows(hidden_, m);
      const float* factors = net_layer.in_factors.row<float>(first_ + m);
      kernels_.scale_rows({rows_, net_layer.in, factors, rows, plan_.hidden_stride, rows, plan_.hidden_stride});
    }
    MemberDense layer = layer_of(net_layer.weights, net_layer.out_factors, net_layer.in, net_layer.out);
    layer.base = plan_.biases[k].row<float>(first_);
    layer.base_member_stride = plan_.biases[k].stride();
    layer.in = hidden_;
    layer.out = other_;
    kernels_.member_dense[plan_.storage](layer);
    std::swap(hidden_, other_);
  }

  MemberDense layer_of(const PackedRows& weights, const PackedRows& factors, int64_t inputs, int64_t outputs) const {
    MemberDense layer;
    layer.members = count_;
    layer.rows = rows_;
    layer.inputs = inputs;
    layer.outputs = outputs;
    layer.weights = static_cast<const std::byte*>(weights.data());
    layer.weight_stride = weights.stride();
    layer.scales = weights.scales();
    layer.factors = factors.row<float>(first_);
    layer.factor_stride = factors.stride();
    layer.in_stride = layer.out_stride = plan_.hidden_stride;
    return layer;
  }

  const Net& net_;
  const ProgramPlan& plan_;
  const kernels::Kernels& kernels_;
  const int64_t rows_, first_, count_;
  const float *units_, *sums_;
  float *hidden_, *other_;
};

}  // namespace

void add_members(const Net& net, const ProgramPlan& plan, std::byte* workspace, int64_t rows, float* out) {
  // So many members at a time that their rows fill the kernels' tiles: few rows have several, many rows one.
  const int64_t at_a_time = std::max<int64_t>(1, TableProgram::block_rows / rows);
  for (int64_t m = 0; m < net.members; m += at_a_time) {
    Group(net, plan, workspace, rows, m, std::min(at_a_time, net.members - m)).add_to(out);
  }
}

}  // namespace l0gm
