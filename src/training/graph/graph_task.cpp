#include "training/graph/graph_task.h"

#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>

#include "base/random.h"

namespace l0gm {

namespace {

constexpr uint64_t drop_stream = 0x64726f70;  // numbers of its own
constexpr int64_t plans_ahead = 4;

// Some rows of a matrix, as a block of its own.
std::shared_ptr<Adjacency> rows_of(const Adjacency& block, int64_t begin, int64_t end) {
  const int64_t first = block.offsets[begin].item<int64_t>(), last = block.offsets[end].item<int64_t>();
  const torch::Tensor weights = block.weights.defined() ? block.weights.slice(0, first, last) : block.weights;
  auto part = std::make_shared<Adjacency>(block.sources(), block.offsets.slice(0, begin, end + 1) - first,
                                          block.neighbours.slice(0, first, last), weights, false);
  part->own = block.own.defined() ? block.own.slice(0, begin, end) : at::arange(begin, end, block.offsets.options());
  part->target_degree = block.target_degree.slice(0, begin, end);
  part->source_degree = block.source_degree;
  return part;
}

torch::Tensor layer_by_layer(GraphEncoder& encoder, const GraphBatch& batch, GatePass& pass, int64_t rows) {
  LayerRows x = encoder.input(batch, pass);
  x.propagated = torch::Tensor();
  for (size_t layer = 0; layer < encoder.layers(); ++layer) {
    const auto& block = batch.blocks[layer];
    torch::Tensor y;
    x.messages = encoder.messages_of(layer, x);
    for (int64_t begin = 0; begin < block->targets(); begin += rows) {
      const int64_t end = std::min(begin + rows, block->targets());
      const torch::Tensor part = encoder.convolve(layer, rows_of(*block, begin, end), x, pass);
      if (!y.defined()) y = at::empty({block->targets(), part.size(1)}, part.options());
      y.slice(0, begin, end).copy_(part);
    }
    x = {};  // two layers are in memory at a time
    x.rows.dense = encoder.finish(layer, y, batch.output_ids[layer], pass);
  }
  return batch.examples.defined() ? x.rows.dense.index_select(0, batch.examples) : x.rows.dense;
}

}  // namespace

GraphEncoder& graph_encoder(Model& model) { return dynamic_cast<GraphEncoder&>(model.encoder()); }

GraphTask::GraphTask(const Graph& graph, const GraphOptions& options, int64_t batch, uint64_t seed, std::shared_ptr<Model> model,
                     torch::Device device, torch::Dtype dtype)
    : graph_(graph),
      options_(options),
      seed_(seed),
      order_(graph.train, batch, seed),
      model_(std::move(model)),
      tensors_(graph, device, dtype),
      whole_(whole_block(graph)) {
  picks_edges_on_device = !device.is_cpu();
  const GraphEncoder& encoder = graph_encoder(*model_);
  if (options.sampler == SamplerKind::full || encoder.shape().kind == ConvolutionKind::linear) return;
  std::shared_ptr<const GraphSampler> sampler = make_sampler(graph, options, static_cast<int64_t>(encoder.layers()), batch, seed);
  prefetcher_ = std::make_unique<Prefetcher>(sampler, options.sampler_threads, plans_ahead);
}

int64_t GraphTask::steps_per_epoch() const {
  if (prefetcher_ != nullptr) return prefetcher_->steps_per_epoch();
  if (options_.sampler == SamplerKind::full) return 1;
  return order_.steps();  // mlp: nodes in a fresh order every epoch
}

bool GraphTask::drops_edges() const {
  return options_.drop_edge > 0 && graph_encoder(*model_).shape().kind != ConvolutionKind::linear;
}

bool GraphTask::has_fixed_shapes() const { return options_.sampler == SamplerKind::full && !drops_edges(); }

std::shared_ptr<GraphBatch> GraphTask::full_batch(int64_t epoch) {
  if (drops_edges()) {
    return thinned_batch(mix_key(seed_, drop_stream, static_cast<uint64_t>(epoch)));
  }
  return all_training_nodes();
}

std::shared_ptr<GraphBatch> GraphTask::thinned_batch(uint64_t key) {
  const auto layers = static_cast<int64_t>(graph_encoder(*model_).layers());
  if (picks_edges_on_device) {
    if (edges_ == nullptr) {
      edges_ = std::make_unique<ThinnedEdges>(tensors_.adjacency_of(whole_));
      training_nodes_ = at::tensor(graph_.train, torch::kInt64).to(tensors_.device());
    }
    return tensors_.batch(complete_tensor_plan(edges_->pick(options_.drop_edge, key), training_nodes_, layers));
  }
  const auto thinned = thinned_block(graph_, options_.drop_edge, key);
  Graph left;  // its edges are all that a plan looks at
  left.nodes = graph_.nodes;
  left.offsets = thinned->offsets;
  left.neighbours = thinned->neighbours;
  return tensors_.batch(complete_plan(left, thinned, graph_.train, layers));
}

std::shared_ptr<GraphBatch> GraphTask::all_training_nodes() {
  if (training_ == nullptr) {
    training_ = batch_of_nodes(*model_, tensors_, whole_, graph_.train);
    if (options_.sampler == SamplerKind::full) training_->propagated = graph_encoder(*model_).propagate_ahead(*training_);
  }
  return training_;
}

std::shared_ptr<Batch> GraphTask::training_batch(int64_t epoch, int64_t index) {
  if (prefetcher_ != nullptr) return tensors_.batch(prefetcher_->take(epoch, index));
  if (options_.sampler == SamplerKind::full) return full_batch(epoch);
  return batch_of_nodes(*model_, tensors_, whole_, order_.batch(epoch, index));
}

// Batches are made outside of inference mode: training may use them, too.
Predictions GraphTask::predict(Model& model, const GateState& state, Split split) {
  if (graph_encoder(model).collect_statistics(false))
    measure_statistics(model, state, *all_training_nodes(), options_.inference_rows);
  std::shared_ptr<GraphBatch>& batch = splits_[split];
  if (batch == nullptr) {
    batch = batch_of_nodes(model, tensors_, whole_,
                           split == Split::valid  ? graph_.valid
                           : split == Split::test ? graph_.test
                                                  : graph_.train);
    if (options_.inference_rows == 0) batch->propagated = graph_encoder(model).propagate_ahead(*batch);
  }
  return predictions_of(infer(model, state, *batch, options_.inference_rows), batch->example_ids, batch->targets, graph_.classes);
}

std::shared_ptr<GraphBatch> batch_of_nodes(Model& model, const GraphTensors& tensors,
                                           const std::shared_ptr<const MessageBlock>& whole, std::span<const int64_t> nodes) {
  const GraphEncoder& encoder = graph_encoder(model);
  if (encoder.shape().kind != ConvolutionKind::linear) {
    const auto batch = tensors.batch(complete_plan(tensors.graph(), whole, nodes, static_cast<int64_t>(encoder.layers())));
    for (const auto& block : batch->blocks) block->plan_sums();
    return batch;
  }
  const auto exists = [&](int64_t node) { return node >= 0 && node < tensors.graph().nodes; };
  const bool good = !nodes.empty() && std::all_of(nodes.begin(), nodes.end(), exists);
  if (!good) complete_plan(tensors.graph(), whole, nodes, 0);  // says what is wrong
  MessagePlan plan;
  plan.inputs.assign(nodes.begin(), nodes.end());
  plan.outputs = plan.inputs;
  return tensors.batch(plan);
}

torch::Tensor encode(Model& model, const GraphBatch& batch, GatePass& pass, int64_t rows) {
  const bool at_once = rows == 0 || batch.blocks.empty();
  return at_once ? model.encoder().forward(batch, pass) : layer_by_layer(graph_encoder(model), batch, pass, rows);
}

torch::Tensor infer(Model& model, const GateState& state, const GraphBatch& batch, int64_t rows) {
  c10::InferenceMode inference;
  model.eval();
  GatePass pass = GatePass::evaluation(state, batch.example_ids);
  return model.forward_from(encode(model, batch, pass, rows), batch, pass);
}

void measure_statistics(Model& model, const GateState& state, const GraphBatch& batch, int64_t rows) {
  GraphEncoder& encoder = graph_encoder(model);
  if (!encoder.collect_statistics(true)) return;
  torch::NoGradGuard no_grad;
  model.eval();
  GatePass pass = GatePass::evaluation(state, batch.example_ids);
  encode(model, batch, pass, rows);
  encoder.collect_statistics(false);
}

Predictions predictions_of(const torch::Tensor& logits, const torch::Tensor& ids, const torch::Tensor& targets,
                           const std::vector<std::string>& classes) {
  // In float64 from the logits on: probabilities sum to 1 as a file of them is read back, and figures are those of the file.
  const torch::Tensor p = mean_probabilities(logits.to(torch::kCPU, torch::kFloat64)).contiguous();
  const torch::Tensor rows = ids.cpu().contiguous(), labels = targets.cpu().to(torch::kInt32).contiguous();
  Predictions result;
  result.classes = classes;
  result.probabilities.assign(p.data_ptr<double>(), p.data_ptr<double>() + p.numel());
  result.rows.assign(rows.data_ptr<int64_t>(), rows.data_ptr<int64_t>() + rows.numel());
  result.labels.assign(labels.data_ptr<int32_t>(), labels.data_ptr<int32_t>() + labels.numel());
  return result;
}

Predictions predict_nodes(Model& model, const GateState& state, const Graph& graph, std::span<const int64_t> nodes, int64_t rows,
                          torch::Device device, torch::Dtype dtype) {
  const GraphTensors tensors(graph, device, dtype);
  const auto batch = batch_of_nodes(model, tensors, whole_block(graph), nodes);
  return predictions_of(infer(model, state, *batch, rows), batch->example_ids, batch->targets, graph.classes);
}

}  // namespace l0gm
