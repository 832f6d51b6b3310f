#pragma once

#include <torch/types.h>

#include "l0gm/gate_pass.h"

// The layers of a batch ensemble: members share a layer's weights; each multiplies its input and its output by vectors of its
// own. Activations are [examples, members, width]. Differentiable; on the processor with kernels of our own.
namespace l0gm {

// (x * factors[m]) weight for every member m: x [examples, width], factors [members, width], weight [width, out]. One product,
// on as many rows as there are examples and members, or with as many columns: what is smaller to multiply by the factors, the
// examples or the weights, is.
torch::Tensor first_product(const torch::Tensor& x, const torch::Tensor& factors, const torch::Tensor& weight);

// The same behind the first layer, where inputs are members' own, times their factors already.
torch::Tensor shared_product(const torch::Tensor& x, const torch::Tensor& weight);

// What dropout needs of a pass.
struct MemberDropout {
  double share = 0;
  int64_t place = 0;
  torch::Tensor ids;  // of the examples
};

// max(0, z * scale + bias), dropout, times `next`, the factors of the next layer's input (undefined: 1). All vectors [members,
// width]. An element is dropped by the number of its example, member and place in the layer. Without gradients z is overwritten.
torch::Tensor member_activation(const torch::Tensor& z, const torch::Tensor& scale, const torch::Tensor& bias,
                                const torch::Tensor& next, const MemberDropout& dropout, const GatePass& pass);
// The same by tensor operations: for devices without the kernels, and for tests to compare with.
torch::Tensor member_activation_by_tensors(const torch::Tensor& z, const torch::Tensor& scale, const torch::Tensor& bias,
                                           const torch::Tensor& next, const MemberDropout& dropout, const GatePass& pass);

// Each member's own last layer: x [examples, members, width], weights [members, width, outputs] -> [examples, members, outputs].
torch::Tensor member_outputs(const torch::Tensor& x, const torch::Tensor& weights);

}  // namespace l0gm
