#pragma once

#include <torch/nn/module.h>

#include "batches/batch.h"
#include "l0gm/gate_pass.h"

namespace l0gm {

// Places of dropout: heads count their layers from 1.
inline constexpr int64_t interface_dropout_place = 0, factor_dropout_place = 1 << 16;

// Reads the gated interface. Outputs are one logit per member for two classes, else one per class.
class Head : public torch::nn::Module {
 public:
  // Logits [examples, members, outputs].
  virtual torch::Tensor forward(const torch::Tensor& interface, const Batch& batch, GatePass& pass) = 0;
  // The same in training, with a share of the interface's elements dropped. A head that multiplies the interface with itself
  // (drops_factors) drops each factor by itself: a square of one dropped element would be too large by 1 / (1 - share).
  virtual torch::Tensor forward_dropping(const torch::Tensor& interface, double share, const Batch& batch, GatePass& pass) {
    return forward(pass.dropout(interface, share, interface_dropout_place), batch, pass);
  }
  virtual bool drops_factors() const { return false; }
  // The number of parameters when only the interface dimensions `kept` (bool [width], on the CPU) are left.
  virtual int64_t parameters_with(const torch::Tensor& kept) const = 0;
  virtual void settle() {}                            // as Encoder::settle
  virtual bool reads_gates() const { return false; }  // of the interface, besides what they gate
  // Gate sites on its hidden neurons (Attach::hidden), in the order in which forward() meets them; the model owns their gates.
  virtual std::vector<std::shared_ptr<GateSite>> make_sites(const GateOptions&) { return {}; }
  // How many of the parameters that parameters_with() counts are of closed hidden neurons alone.
  virtual int64_t parameters_of_closed(const torch::Tensor&, const GateState&) const { return 0; }
  // Reads only the interface dimensions `kept` (int64, ascending) from now on, each times its value. Not every
  // head can: std::logic_error.
  virtual void narrow(const torch::Tensor& kept, const torch::Tensor& values);
};

// Log-probabilities [examples, members, classes] of a head's logits.
torch::Tensor log_probabilities(const torch::Tensor& logits);

inline int64_t outputs_for(int64_t classes) { return classes == 2 ? 1 : classes; }

// The shape that all branches of a table's head share. The interface is `fields` embeddings of `width`, then `statistics` single
// numbers.
struct HeadShape {
  int64_t fields = 0, width = 0, statistics = 0;
  int64_t members = 1, outputs = 1;
  int64_t dimensions() const { return fields * width + statistics; }
  torch::Tensor embeddings(const torch::Tensor& interface) const {  // [examples, fields, width]
    return interface.narrow(1, 0, fields * width).view({-1, fields, width});
  }
  int64_t fields_with(const torch::Tensor& kept) const {  // fields with a dimension left
    return kept.narrow(0, 0, fields * width).view({fields, width}).any(1).sum().item<int64_t>();
  }
};

}  // namespace l0gm
