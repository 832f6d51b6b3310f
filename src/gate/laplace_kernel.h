#pragma once

#include <torch/types.h>

namespace l0gm {

// The sum over all pairs (i, j) of weight_i weight_j exp(-|place_i - place_j| / width), divided by the square of their number: a
// scalar. Differentiable once, in places and weights. O(N log N) time and O(N) memory: along the sorted places, the sums over all
// that is to the left and to the right shrink from one place to the next by a factor of at most 1, so nothing overflows. Equal
// places attract each other with the gradient 0, as |x| has it at 0. Computed in float64 on the CPU, whatever the inputs are.
torch::Tensor laplace_energy(const torch::Tensor& places, const torch::Tensor& weights, double width);

}  // namespace l0gm
