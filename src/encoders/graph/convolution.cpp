#include "encoders/graph/convolution.h"

#include <ATen/Functions.h>

#include <cmath>

#include "encoders/graph/dense_product.h"
#include "encoders/graph/gat.h"
#include "encoders/graph/propagate.h"
#include "encoders/graph/propagate_max.h"
#include "l0gm/error.h"

namespace l0gm {

torch::Tensor LayerRows::times(const torch::Tensor& weight) const {
  const torch::Tensor w = scaled(weight);
  return rows.dense.defined() ? dense_product(rows.dense, w, products) : propagate(rows.sparse, w, {});
}

torch::Tensor LayerRows::times_at_targets(const torch::Tensor& weight, const Adjacency& block, const torch::Tensor& onto) const {
  const auto targets_of = [&](const torch::Tensor& x) {
    if (block.own.defined()) return x.index_select(0, block.own);
    return block.targets() == x.size(0) ? x : x.narrow(0, 0, block.targets());
  };
  if (!rows.dense.defined()) {
    const torch::Tensor y = targets_of(times(weight));
    return onto.defined() ? y + onto : y;
  }
  return dense_product(targets_of(rows.dense), scaled(weight), products, onto);
}

torch::Tensor glorot(int64_t inputs, int64_t outputs) {
  const double bound = std::sqrt(6.0 / static_cast<double>(inputs + outputs));
  return at::empty({inputs, outputs}).uniform_(-bound, bound);
}

void keep_part(torch::Tensor& parameter, int64_t dimension, const torch::Tensor& kept) {
  torch::NoGradGuard no_grad;
  parameter.set_data(parameter.index_select(dimension, kept.to(parameter.device())).contiguous());
}

void keep_inputs(torch::Tensor& weight, const torch::Tensor& kept, const torch::Tensor& values) {
  torch::NoGradGuard no_grad;
  keep_part(weight, 0, kept);
  weight.mul_(values.to(weight.device(), weight.scalar_type()).unsqueeze(1));
}

namespace {

class LinearConvolution : public Convolution {
 public:
  LinearConvolution(int64_t inputs, int64_t outputs) {
    weight_ = register_parameter("weight", glorot(inputs, outputs));
    bias_ = register_parameter("bias", at::zeros({outputs}));
  }
  torch::Tensor forward(const std::shared_ptr<const Adjacency>&, const LayerRows& x, const GatePass&, int64_t) override {
    return x.times(weight_) + bias_;
  }
  int64_t outputs() const override { return weight_.size(1); }
  int64_t parameters_per_output() const override { return weight_.size(0) + 1; }
  void narrow_outputs(const torch::Tensor& kept) override {
    keep_part(weight_, 1, kept);
    keep_part(bias_, 0, kept);
  }
  void narrow_inputs(const torch::Tensor& kept, const torch::Tensor& values) override { keep_inputs(weight_, kept, values); }

 protected:
  torch::Tensor weight_, bias_;
};

// The narrower of the two sides of the weights passes along the edges. Sparse attributes are multiplied first, which makes them
// dense.
bool aggregates_first(const LayerRows& x, int64_t outputs) { return x.rows.dense.defined() && x.width() <= outputs; }

// D^-1/2 (A + I) D^-1/2 x W + b (Kipf and Welling, 2017).
class GcnConvolution : public LinearConvolution {
 public:
  GcnConvolution(int64_t inputs, int64_t outputs, const ConvolutionOptions& options)
      : LinearConvolution(inputs, outputs), options_(options) {}
  torch::Tensor forward(const std::shared_ptr<const Adjacency>& block, const LayerRows& x, const GatePass&, int64_t) override {
    if (x.propagated.defined()) return dense_product(x.propagated, x.scaled(weight_), x.products, bias_);
    if (aggregates_first(x, outputs()))
      return dense_product(aggregated(block, x.rows.dense), x.scaled(weight_), x.products, bias_);
    return aggregated(block, x.messages.defined() ? x.messages : messages_of(x)) + bias_;
  }
  torch::Tensor messages_of(const LayerRows& x) const override {
    return x.propagated.defined() || aggregates_first(x, outputs()) ? torch::Tensor{} : x.times(weight_);
  }
  torch::Tensor aggregate_ahead(const std::shared_ptr<const Adjacency>& block, const LayerRows& x) const override {
    return aggregates_first(x, outputs()) ? aggregated(block, x.rows.dense) : torch::Tensor{};
  }

 private:
  torch::Tensor aggregated(const std::shared_ptr<const Adjacency>& block, const torch::Tensor& x) const {
    const Adjacency::DegreeScales& degrees = block->degree_scales(options_.self_loops);
    MessageScales scales{degrees.target_root, degrees.source_root, {}};
    if (options_.self_loops) scales.self = degrees.target_inverse;
    return propagate(block, x, scales, options_.bfloat16);
  }
  ConvolutionOptions options_;
};

// mean (or maximum) over neighbours W_neighbour + x W_root + b (Hamilton et al., 2017); pool: the maximum of relu(x W_pool +
// b_pool).
class SageConvolution : public Convolution {
 public:
  SageConvolution(int64_t inputs, int64_t outputs, const ConvolutionOptions& options, int64_t pool_width) : options_(options) {
    const bool pool = options.aggregate == Aggregate::pool;
    const int64_t pooled = pool_width > 0 ? pool_width : outputs;
    neighbour_ = register_parameter("weight_neighbour", glorot(pool ? pooled : inputs, outputs));
    root_ = register_parameter("weight_root", glorot(inputs, outputs));
    bias_ = register_parameter("bias", at::zeros({outputs}));
    if (!pool) return;
    pool_ = register_parameter("weight_pool", glorot(inputs, pooled));
    pool_bias_ = register_parameter("bias_pool", at::zeros({pooled}));
  }
  torch::Tensor forward(const std::shared_ptr<const Adjacency>& block, const LayerRows& x, const GatePass&, int64_t) override {
    // The products add to y in place: separate sums would pass over all rows once more.
    torch::Tensor y = x.times_at_targets(root_, *block, bias_);
    const auto [rows, weight] = neighbour_term(block, x);
    if (!weight.defined()) return y.add_(rows);
    return x.products == Matmul::float32 ? y.addmm_(rows, weight) : y.add_(dense_product(rows, weight, x.products));
  }
  torch::Tensor aggregate_ahead(const std::shared_ptr<const Adjacency>& block, const LayerRows& x) const override {
    return options_.aggregate == Aggregate::mean && aggregates_first(x, outputs()) ? mean(block, x.rows.dense) : torch::Tensor{};
  }
  torch::Tensor messages_of(const LayerRows& x) const override {
    if (options_.aggregate == Aggregate::pool) return at::relu(x.times(pool_) + pool_bias_);
    const bool rows_pass = options_.aggregate == Aggregate::max || x.propagated.defined() || aggregates_first(x, outputs());
    return rows_pass ? torch::Tensor{} : x.times(neighbour_);
  }
  int64_t outputs() const override { return root_.size(1); }
  int64_t parameters_per_output() const override { return neighbour_.size(0) + root_.size(0) + 1; }
  void narrow_outputs(const torch::Tensor& kept) override {
    keep_part(neighbour_, 1, kept);
    keep_part(root_, 1, kept);
    keep_part(bias_, 0, kept);
  }
  NarrowedOutputs narrowed() const override { return {{}, pool_.defined() ? pool_.size(1) : 0}; }
  void narrow_inputs(const torch::Tensor& kept, const torch::Tensor& values) override {
    keep_inputs(pool_.defined() ? pool_ : neighbour_, kept, values);
    keep_inputs(root_, kept, values);
  }

 private:
  torch::Tensor mean(const std::shared_ptr<const Adjacency>& block, const torch::Tensor& x) const {
    const torch::Tensor& share = block->degree_scales(options_.self_loops).target_inverse;
    MessageScales scales{share, {}, {}};
    if (options_.self_loops) scales.self = share;
    return propagate(block, x, scales, options_.bfloat16);
  }
  struct NeighbourTerm {
    torch::Tensor rows, weight;  // the term is their product; without a weight, the rows themselves
  };
  NeighbourTerm neighbour_term(const std::shared_ptr<const Adjacency>& block, const LayerRows& x) const {
    switch (options_.aggregate) {
      case Aggregate::mean:
        if (x.propagated.defined()) return {x.propagated, x.scaled(neighbour_)};
        if (aggregates_first(x, outputs())) return {mean(block, x.rows.dense), x.scaled(neighbour_)};
        return {mean(block, x.messages.defined() ? x.messages : messages_of(x)), {}};
      case Aggregate::max: {
        if (!x.rows.dense.defined()) {
          throw UserError(
              "graph.aggregate = max compares attributes, and these are stored sparse: set graph.features = \"standard\", which "
              "makes them dense, or graph.aggregate = \"pool\"");
        }
        const torch::Tensor input = x.factor.defined() ? x.rows.dense * x.factor : x.rows.dense;
        return {propagate_max(block, input), neighbour_};
      }
      case Aggregate::pool:
        return {propagate_max(block, x.messages.defined() ? x.messages : messages_of(x)), neighbour_};
    }
    return {};
  }
  ConvolutionOptions options_;
  torch::Tensor neighbour_, root_, bias_, pool_, pool_bias_;
};

}  // namespace

std::shared_ptr<Convolution> make_convolution(ConvolutionKind kind, int64_t inputs, int64_t outputs,
                                              const ConvolutionOptions& options, const NarrowedOutputs& narrowed) {
  switch (kind) {
    case ConvolutionKind::linear:
      return std::make_shared<LinearConvolution>(inputs, outputs);
    case ConvolutionKind::gcn:
      return std::make_shared<GcnConvolution>(inputs, outputs, options);
    case ConvolutionKind::sage:
      return std::make_shared<SageConvolution>(inputs, outputs, options, narrowed.pool);
    case ConvolutionKind::gat:
      return make_gat(inputs, outputs, options, narrowed.heads);
  }
  return nullptr;
}

}  // namespace l0gm
