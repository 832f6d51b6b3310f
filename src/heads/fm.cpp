#include "heads/fm.h"

#include <ATen/Functions.h>

namespace l0gm {

FmHead::FmHead(HeadShape shape, bool weighted) : shape_(shape) {
  const int64_t outputs = shape.members * shape.outputs;
  if (!weighted) {
    // Members must start different, or they would stay identical.
    if (outputs > 1) coordinate_weights_ = register_parameter("coordinate_weights", 1 + at::randn({shape.width, outputs}) * 0.1);
    return;
  }
  const int64_t fields = shape.fields, pairs = fields * (fields - 1) / 2;
  std::vector<int64_t> cell(static_cast<size_t>(fields * fields), pairs);
  int64_t pair = 0;
  for (int64_t i = 0; i < fields; ++i) {
    for (int64_t j = i + 1; j < fields; ++j, ++pair)
      cell[static_cast<size_t>(i * fields + j)] = cell[static_cast<size_t>(j * fields + i)] = pair;
  }
  pair_of_cell_ = register_buffer("pair_of_cell", at::tensor(cell, torch::kInt64));
  pair_weights_ = register_parameter("pair_weights", at::randn({outputs, pairs}) * 0.01);
}

torch::Tensor FmHead::forward(const torch::Tensor& interface, const Batch&, GatePass&) {
  const torch::Tensor v = shape_.embeddings(interface);  // [examples, fields, width]
  const int64_t examples = v.size(0), fields = shape_.fields, outputs = shape_.members * shape_.outputs;
  torch::Tensor logits;
  if (pair_weights_.defined()) {
    const torch::Tensor matrix =
        at::constant_pad_nd(pair_weights_, {0, 1}).index_select(1, pair_of_cell_).view({outputs * fields, fields});
    // A row per coordinate of an example, so that one product serves all. Each of its numbers is sum_j r_ij v_j; half of
    // sum_i v_i times that counts each pair once.
    const torch::Tensor flat = v.transpose(1, 2).reshape({examples * shape_.width, fields});
    const torch::Tensor mixed = at::mm(flat, matrix.t()).view({examples, shape_.width, outputs, fields});
    logits = (mixed * flat.view({examples, shape_.width, 1, fields})).sum({1, 3}) * 0.5;
  } else {
    const torch::Tensor pooled = (v.sum(1).square() - v.square().sum(1)) * 0.5;  // [examples, width]
    logits = coordinate_weights_.defined() ? at::matmul(pooled, coordinate_weights_) : pooled.sum(1, true);
  }
  return logits.view({examples, shape_.members, shape_.outputs});
}

int64_t FmHead::parameters_with(const torch::Tensor& kept) const {
  const int64_t outputs = shape_.members * shape_.outputs;
  if (coordinate_weights_.defined()) {
    return kept.narrow(0, 0, shape_.fields * shape_.width).view({shape_.fields, shape_.width}).any(0).sum().item<int64_t>() *
           outputs;
  }
  if (!pair_weights_.defined()) return 0;
  const int64_t fields = shape_.fields_with(kept);
  return fields * (fields - 1) / 2 * outputs;
}

}  // namespace l0gm
