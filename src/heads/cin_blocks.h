#pragma once

#include <torch/types.h>

// One layer of a compressed interaction network (heads/cin.h) on the processor: a block of elements at a time, whose products of
// maps and fields stay in the cache between making and multiplying them; blocks are divided among torch's threads.
namespace l0gm {

// previous [elements, H'], base [elements, m], weight [m, H', H] -> [elements, H]; all contiguous.
torch::Tensor cin_forward(const torch::Tensor& previous, const torch::Tensor& base, const torch::Tensor& weight);

struct CinGradients {
  torch::Tensor previous, base, weight;
};
CinGradients cin_backward(const torch::Tensor& previous, const torch::Tensor& base, const torch::Tensor& weight,
                          const torch::Tensor& gradient);

}  // namespace l0gm
