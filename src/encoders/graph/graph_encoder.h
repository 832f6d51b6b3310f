#pragma once

#include <memory>
#include <vector>

#include "encoders/encoder.h"
#include "encoders/graph/channel_norm.h"
#include "encoders/graph/convolution.h"

namespace l0gm {

struct GraphShape {
  int64_t attributes = 0;
  std::vector<std::string> attribute_names;
  std::vector<int64_t> widths;  // of each layer; the last is the interface
  ConvolutionKind kind = ConvolutionKind::gcn;
  ConvolutionOptions convolution;
  Norm norm = Norm::layer, last_norm = Norm::none;
  Norm norm_of(size_t layer) const { return layer + 1 == widths.size() ? last_norm : norm; }
  Residual residual = Residual::none;
  std::vector<NarrowedOutputs> narrowed;  // of each layer; empty: all are as wide as they were made
  double dropout = 0;
  int64_t blocks = 16;                 // of channels, for group units
  std::vector<float> attribute_sizes;  // mean magnitudes, to rank attributes by; empty: all equal
};

// Layers of convolution, normalisation, activation. The interface is the last layer's output after its activation.
class GraphEncoder : public Encoder {
 public:
  explicit GraphEncoder(GraphShape shape);

  torch::Tensor forward(const Batch& batch, GatePass& pass) override;
  int64_t width() const override { return shape_.widths.back(); }
  InterfaceUnits units(UnitKind kind, Attach attach) const override;
  std::vector<int64_t> parameters_of_dimension() const override;
  int64_t shared_parameters() const override;
  std::vector<std::shared_ptr<GateSite>> make_sites(const GateOptions& options) override;
  bool gated_at_interface(const GateOptions& options) const override { return options.attach == Attach::interface; }
  bool narrow(const torch::Tensor& kept) override;
  // Removes the gates of hidden layers (fine units): the next layer's weights of a closed channel are removed, and so is the
  // channel itself where its norm allows it. No gate may depend on the example.
  void narrow_hidden(const GateState& state);

  const GraphShape& shape() const { return shape_; }
  size_t layers() const { return layers_.size(); }
  // The steps of forward(), for computing layer by layer: some rows of a layer before its norm, then all rows after it. `ids`:
  // their nodes.
  LayerRows input(const GraphBatch& batch, GatePass& pass);
  torch::Tensor convolve(size_t index, const std::shared_ptr<const Adjacency>& block, const LayerRows& x, GatePass& pass);
  torch::Tensor finish(size_t index, const torch::Tensor& convolved, const torch::Tensor& ids, GatePass& pass);
  // LayerRows::messages
  torch::Tensor messages_of(size_t index, const LayerRows& x) const;
  // GraphBatch::propagated for this batch; undefined where nothing can be precomputed.
  torch::Tensor propagate_ahead(const GraphBatch& batch) const;
  // Switches storing the statistics of batch norm in forward() on or off; returns false if there are none. While it is on, hidden
  // layers use dropout as in training: the layers after the norm were trained with the variance that dropout adds.
  bool collect_statistics(bool on);
  const GateSite* input_site() const { return input_site_.get(); }
  // Reads only these attributes from now on (int64, ascending), each times its gate's value; removes the gate on the input.
  void narrow_inputs(const torch::Tensor& kept, const torch::Tensor& values);

 private:
  struct Layer {
    std::shared_ptr<Convolution> convolution;
    std::shared_ptr<ChannelNorm> norm;
    torch::Tensor residual;  // [inputs, outputs], or undefined
  };
  int64_t layer_parameters(const Layer& layer) const;
  void narrow_layer(size_t index, const torch::Tensor& kept);
  GraphShape shape_;
  std::vector<Layer> layers_;
  std::shared_ptr<GateSite> input_site_;                // gate.attach = input
  std::vector<std::shared_ptr<GateSite>> layer_sites_;  // fine units: of the hidden layers
  torch::Tensor unit_of_attribute_, attribute_sizes_;
  bool collecting_ = false;        // statistics of batch norm
  bool shared_input_gate_ = true;  // one draw for all nodes
};

}  // namespace l0gm
