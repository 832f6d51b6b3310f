#pragma once

#include "model/model.h"
#include "model/tensor_file.h"

namespace l0gm {

// An exponential moving average of a model's weights (gates excepted: those count as they are). It is what gets evaluated and
// kept.
class AveragedWeights {
 public:
  AveragedWeights(std::shared_ptr<Model> model, double decay);
  double next_weight();  // of the weights as they are, in the average; counts an update
  void update(double weight);
  void update(const torch::Tensor& live_weight);  // a scalar on the device, for a step that is captured and replayed
  void update() { update(next_weight()); }
  void reset();  // starts again from the weights as they are
  TensorMap state() const;

  // While it lives the model holds the average, settled for evaluation.
  class InUse {
   public:
    explicit InUse(AveragedWeights& average);
    ~InUse();
    InUse(const InUse&) = delete;
    InUse& operator=(const InUse&) = delete;

   private:
    AveragedWeights& average_;
    TensorMap backup_;
  };

 private:
  TensorMap weights() const;  // those that are averaged
  struct Pairs {
    std::vector<torch::Tensor> average, live;
  };
  Pairs pairs() const;
  std::shared_ptr<Model> model_;
  double decay_;
  TensorMap average_;
  torch::Tensor updates_;  // since the last reset: a young average forgets faster, or its start would weigh too much
};

}  // namespace l0gm
