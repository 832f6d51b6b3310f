#pragma once

#include <torch/nn/module.h>

#include "data/graph/options.h"
#include "l0gm/noise_key.h"

namespace l0gm {

// Dropout by counter-based numbers (gate/counter_dropout.h): of the rows with these ids.
struct RowDropout {
  double share = 0;
  NoiseKey key;
  torch::Tensor ids;  // int64; undefined: no dropout
};

// Normalisation of a layer's channels. `batch` uses the step's own statistics in training and stored ones in evaluation; those
// are measured in a separate pass over the rows that training computes (collect), with whole neighbourhoods and with training's
// dropout, not averaged over steps: sampled neighbourhoods would change the variance.
class ChannelNorm : public torch::nn::Module {
 public:
  ChannelNorm(Norm kind, int64_t channels);
  torch::Tensor forward(const torch::Tensor& x);
  // relu(forward(x)), then dropout. A layer norm on a GPU is one pass over the rows each way, elsewhere one after the other.
  torch::Tensor forward_relu(const torch::Tensor& x, const RowDropout& dropout = {});
  // In evaluation mode: forward() stores the statistics of its input and uses them.
  void collect(bool on) { collecting_ = on; }
  bool collects() const { return kind_ == Norm::batch; }
  bool per_channel() const { return kind_ != Norm::layer; }
  int64_t parameters_per_channel() const { return kind_ == Norm::none ? 0 : 2; }
  void narrow(const torch::Tensor& kept);

 private:
  Norm kind_;
  bool collecting_ = false;
  torch::Tensor weight_, bias_, mean_, variance_;
};

}  // namespace l0gm
