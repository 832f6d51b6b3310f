#pragma once

#include "heads/head.h"

namespace l0gm {

// Factorisation machine: the sum over pairs of fields i < j of <v_i, v_j>.
//   plain      one member and two classes: no parameters. Otherwise a weight per coordinate and output, which starts at 1.
//   weighted   each pair has its own weight r_ij, per member and output, which starts near 0 (FwFM).
class FmHead : public Head {
 public:
  FmHead(HeadShape shape, bool weighted);
  torch::Tensor forward(const torch::Tensor& interface, const Batch& batch, GatePass& pass) override;
  int64_t parameters_with(const torch::Tensor& kept) const override;
  const torch::Tensor& coordinate_weights() const { return coordinate_weights_; }
  const torch::Tensor& pair_weights() const { return pair_weights_; }

 private:
  HeadShape shape_;
  torch::Tensor coordinate_weights_;  // [width, members * outputs]; undefined: all 1
  torch::Tensor pair_weights_;        // [members * outputs, pairs]; undefined: all 1
  torch::Tensor pair_of_cell_;  // [fields * fields]: the pair of each cell of the symmetric matrix; number of pairs: diagonal
};

}  // namespace l0gm
