#pragma once

#include <torch/types.h>

#include <functional>
#include <vector>

namespace l0gm {

// y = function(x), where nothing but x is kept for the gradient: the function is called a second time in the backward pass. It
// must be pure, random numbers included, and use no learned tensors but `parameters`. Gates must be applied outside of it, since
// a GatePass would record them twice.
torch::Tensor recompute(const std::function<torch::Tensor(const std::vector<torch::Tensor>&)>& function,
                        const std::vector<torch::Tensor>& x, const std::vector<torch::Tensor>& parameters);

}  // namespace l0gm
