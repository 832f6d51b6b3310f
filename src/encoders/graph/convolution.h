#pragma once

#include <torch/nn/module.h>

#include <memory>
#include <vector>

#include "batches/graph/graph_batches.h"
#include "data/graph/options.h"
#include "encoders/matmul.h"
#include "l0gm/gate_pass.h"

namespace l0gm {

// What a layer reads: rows of numbers or, in the first layer, attributes that are stored sparse.
struct LayerRows {
  AttributeRows rows;
  torch::Tensor factor;      // [width]: factor of each input (a gate on the input); undefined: 1
  torch::Tensor propagated;  // the rows after this layer's aggregation, precomputed without the factor; undefined: not done
  torch::Tensor messages;    // what passes along the edges, shared by the blocks of a layer; undefined: each computes it
  Matmul products = Matmul::float32;  // precision of the dense ones

  int64_t width() const { return rows.width(); }
  torch::Tensor scaled(const torch::Tensor& weight) const { return factor.defined() ? weight * factor.unsqueeze(1) : weight; }
  torch::Tensor times(const torch::Tensor& weight) const;  // rows * factor * weight, weight [width, out]
  // The same for the rows of a block's targets; `onto`: rows [targets, out] or a bias [out] to be added.
  torch::Tensor times_at_targets(const torch::Tensor& weight, const Adjacency& block, const torch::Tensor& onto = {}) const;
};

// Options that the convolutions of one model share.
struct ConvolutionOptions {
  bool self_loops = true;
  Aggregate aggregate = Aggregate::mean;
  int64_t heads = 1;
  double attention_dropout = 0;
  bool bfloat16 = false;  // messages
  Matmul products = Matmul::float32;
};

// What describes a narrowed layer besides its widths, so that the same layer can be made again.
struct NarrowedOutputs {
  std::vector<int64_t> heads;  // gat: channels left of each head, with scores folded onto the input; empty: not narrowed
  int64_t pool = 0;            // sage, pool: channels of the learned map, which is not narrowed; 0: as many as outputs
};

// One layer from inputs to outputs, bias included, before normalisation and activation.
class Convolution : public torch::nn::Module {
 public:
  // `place`: key of attention dropout, in training only.
  virtual torch::Tensor forward(const std::shared_ptr<const Adjacency>& block, const LayerRows& x, const GatePass& pass,
                                int64_t place) = 0;
  // What LayerRows::propagated holds; undefined where this layer does not aggregate first.
  virtual torch::Tensor aggregate_ahead(const std::shared_ptr<const Adjacency>&, const LayerRows&) const { return {}; }
  // What LayerRows::messages holds; undefined where the rows themselves pass.
  virtual torch::Tensor messages_of(const LayerRows&) const { return {}; }
  virtual int64_t outputs() const = 0;
  virtual int64_t parameters_per_output() const = 0;  // removed with an output
  // Keeps the outputs `kept` (int64, ascending) and computes no others from now on. Their values do not change.
  virtual void narrow_outputs(const torch::Tensor& kept) = 0;
  virtual NarrowedOutputs narrowed() const { return {}; }
  // The same for its inputs, each multiplied by its value (its gate).
  virtual void narrow_inputs(const torch::Tensor& kept, const torch::Tensor& values) = 0;
};

enum class ConvolutionKind { linear, gcn, sage, gat };
template <>
inline constexpr auto enum_names<ConvolutionKind> = std::to_array<std::string_view>({"mlp", "gcn", "sage", "gat"});
std::shared_ptr<Convolution> make_convolution(ConvolutionKind kind, int64_t inputs, int64_t outputs,
                                              const ConvolutionOptions& options, const NarrowedOutputs& narrowed = {});

// Weights [inputs, outputs], initialised as by Glorot and Bengio (2010).
torch::Tensor glorot(int64_t inputs, int64_t outputs);
// Replaces a parameter by some of its rows (dimension 0) or columns; the module keeps it under its name.
void keep_part(torch::Tensor& parameter, int64_t dimension, const torch::Tensor& kept);
// Replaces weights [inputs, outputs] by the rows of the kept inputs, each times its value.
void keep_inputs(torch::Tensor& weight, const torch::Tensor& kept, const torch::Tensor& values);

}  // namespace l0gm
