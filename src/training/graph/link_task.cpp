#include "training/graph/link_task.h"

#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/random.h"
#include "batches/to_device.h"
#include "l0gm/error.h"
#include "training/graph/graph_task.h"

namespace l0gm {

namespace {

// Numbers of their own for each purpose.
constexpr uint64_t link_order_stream = 0x6c6f, link_negative_stream = 0x6c6e, link_drop_stream = 0x6c64,
                   link_part_stream = 0x6c70, link_rank_stream = 0x6c72;

constexpr int64_t elements_at_once = int64_t{1} << 24;  // of the interface's rows that a block of pairs reads

int64_t pairs_at_once(int64_t width) { return std::max<int64_t>(1, elements_at_once / width); }

bool passes_messages(Model& model) { return graph_encoder(model).shape().kind != ConvolutionKind::linear; }

uint64_t number_of(Split split) { return split == Split::valid ? 1 : 2; }

std::vector<Link> held_out(const LinkSplit& split) {
  std::vector<Link> links = split.valid;
  links.insert(links.end(), split.test.begin(), split.test.end());
  return links;
}

std::vector<int64_t> counted(size_t count) {
  std::vector<int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

torch::Tensor tensor_of(const Link* pairs, int64_t count, torch::Device device) {
  static_assert(sizeof(Link) == 2 * sizeof(int32_t));
  const torch::Tensor seen = at::from_blob(const_cast<Link*>(pairs), {count, 2}, at::TensorOptions().dtype(torch::kInt32));
  return device.is_cpu() ? seen.to(torch::kInt64) : to_device(seen, device, torch::kInt64);
}

// 1 for the links, then 0 for the rest.
torch::Tensor targets_of(size_t links, size_t pairs, torch::Device device) {
  torch::Tensor targets = at::zeros({static_cast<int64_t>(pairs)}, at::TensorOptions(device).dtype(torch::kInt64));
  targets.narrow(0, 0, static_cast<int64_t>(links)).fill_(1);
  return targets;
}

// Logits [pairs], float64 on the CPU, block by block. `encoded`: a row for each node, `ids` theirs.
torch::Tensor score(Model& model, const GateState& state, const torch::Tensor& encoded, const torch::Tensor& ids,
                    const std::vector<Link>& pairs) {
  const auto count = static_cast<int64_t>(pairs.size()), step = pairs_at_once(encoded.size(1));
  torch::Tensor scores = at::empty({count}, torch::kFloat64);
  GraphBatch batch;
  batch.example_ids = ids;
  for (int64_t begin = 0; begin < count; begin += step) {
    const int64_t size = std::min(step, count - begin);
    batch.pairs = tensor_of(pairs.data() + begin, size, encoded.device());
    GatePass pass = GatePass::evaluation(state, batch.example_ids);  // of this block alone: a pass keeps what its gates made
    scores.narrow(0, begin, size).copy_(model.forward_from(encoded, batch, pass).view({size}));
  }
  return scores;
}

// A step that asked about all links would leave none that messages could pass over: at most a quarter of them.
int64_t links_of_a_step(int64_t batch, size_t links, bool passes) {
  const auto count = static_cast<int64_t>(links), quarter = std::max<int64_t>(1, count / 4);
  if (!passes || batch < count) return batch;
  return quarter;
}

// `links` of them are linked, the first.
Predictions predictions_of_pairs(const torch::Tensor& logits, size_t links) {
  const int64_t pairs = logits.size(0);
  return predictions_of(logits.view({-1, 1, 1}), at::arange(pairs, torch::kInt64),
                        targets_of(links, static_cast<size_t>(pairs), torch::kCPU), {"unlinked", "linked"});
}

}  // namespace

LinkTask::LinkTask(const Graph& graph, const GraphOptions& options, const LinkOptions& link, int64_t batch, uint64_t seed,
                   uint64_t split_seed, std::shared_ptr<Model> model, torch::Device device, torch::Dtype dtype)
    : graph_(graph),
      options_(options),
      link_(link),
      seed_(seed),
      split_seed_(split_seed),
      split_(split_links(graph, link.valid, link.test, split_seed)),
      messages_(without_links(graph, held_out(split_))),
      training_negatives_(messages_),
      negatives_(graph),
      links_of_step_(links_of_a_step(batch, split_.train.size(), passes_messages(*model))),
      numbers_(counted(split_.train.size())),
      order_(numbers_, links_of_step_, mix_key(seed, link_order_stream)),
      model_(std::move(model)),
      tensors_(graph, device, dtype),
      whole_(whole_block(messages_)) {
  picks_edges_on_device = !device.is_cpu();
  if (options.sampler != SamplerKind::full) {
    throw UserError(fmt::format("graph.sampler = {}: links are trained on the full graph so far; set graph.sampler = full",
                                name_of_enum(options.sampler)));
  }
}

const std::vector<Link>& LinkTask::links_in(Split split) const {
  if (split == Split::valid) return split_.valid;
  if (split == Split::test) return split_.test;
  throw UserError("training links cannot be evaluated: messages pass over them");
}

std::shared_ptr<GraphBatch> LinkTask::batch_over(std::shared_ptr<const Adjacency> block) const {
  TensorPlan plan;
  if (block != nullptr) plan.blocks.assign(graph_encoder(*model_).layers(), std::move(block));
  return tensors_.batch(plan);
}

std::shared_ptr<const Adjacency> LinkTask::messages_without(const std::vector<Link>& links, uint64_t key) {
  if (!picks_edges_on_device)
    return Adjacency::of(block_without_links(messages_, links, options_.drop_edge, key), tensors_.device(), tensors_.dtype());
  if (edges_ == nullptr) edges_ = std::make_unique<ThinnedEdges>(tensors_.adjacency_of(whole_));
  std::vector<int64_t> places = places_of_links(messages_, links);
  const torch::Tensor gone = at::from_blob(places.data(), {std::ssize(places)}, torch::kInt64);
  return edges_->pick(options_.drop_edge, key, to_device(gone, tensors_.device(), torch::kInt64));
}

std::shared_ptr<Batch> LinkTask::training_batch(int64_t epoch, int64_t index) {
  const auto key = [&](uint64_t stream) {
    return mix_key(seed_, stream, static_cast<uint64_t>(epoch), static_cast<uint64_t>(index));
  };
  std::vector<Link> pairs;
  for (const int64_t number : order_.batch(epoch, index)) pairs.push_back(split_.train[static_cast<size_t>(number)]);
  const size_t links = pairs.size();
  const auto block = passes_messages(*model_) ? messages_without(pairs, key(link_drop_stream)) : nullptr;
  const std::vector<Link> drawn =
      training_negatives_.draw(static_cast<int64_t>(links) * link_.negatives, key(link_negative_stream));
  pairs.insert(pairs.end(), drawn.begin(), drawn.end());
  const std::shared_ptr<GraphBatch> batch = batch_over(block);
  batch->pairs = tensor_of(pairs.data(), static_cast<int64_t>(pairs.size()), tensors_.device());
  batch->targets = targets_of(links, pairs.size(), tensors_.device());
  return batch;
}

// The whole interface at once: with its gradients a training step takes more.
torch::Tensor LinkTask::encode(Model& model, const GateState& state) {
  if (evaluation_ == nullptr) evaluation_ = batch_over(passes_messages(model) ? tensors_.adjacency_of(whole_) : nullptr);
  if (measures_statistics) measure_statistics(model, state, *evaluation_, 0);
  model.eval();
  GatePass pass = GatePass::evaluation(state, evaluation_->example_ids);
  return model.encoder().forward(*evaluation_, pass);
}

Predictions LinkTask::predict(Model& model, const GateState& state, Split split) {
  c10::InferenceMode inference;
  std::vector<Link> pairs = links_in(split);
  const size_t links = pairs.size();
  const std::vector<Link> drawn =
      negatives_.draw(static_cast<int64_t>(links), mix_key(split_seed_, link_part_stream, number_of(split)));
  pairs.insert(pairs.end(), drawn.begin(), drawn.end());
  const torch::Tensor encoded = encode(model, state);
  return predictions_of_pairs(score(model, state, encoded, evaluation_->example_ids, pairs), links);
}

RankScores LinkTask::rank(Model& model, const GateState& state, Split split) {
  c10::InferenceMode inference;
  const std::vector<Link>& links = links_in(split);
  const torch::Tensor encoded = encode(model, state);
  const uint64_t key = mix_key(split_seed_, link_rank_stream, number_of(split));
  const int64_t each = 1 + link_.ranked_negatives;
  const auto links_at_once = static_cast<size_t>(std::max<int64_t>(1, pairs_at_once(encoded.size(1)) / each));
  std::vector<double> places;
  std::vector<Link> pairs;
  for (size_t begin = 0; begin < links.size(); begin += links_at_once) {
    const size_t end = std::min(begin + links_at_once, links.size());
    pairs.clear();
    for (size_t i = begin; i < end; ++i) {
      pairs.push_back(links[i]);
      const UnlinkedPairs::Negatives others = negatives_.negatives_for(links[i], link_.ranked_negatives, mix_key(key, i));
      for (const int32_t node : others.nodes) pairs.push_back({std::min(others.end, node), std::max(others.end, node)});
    }
    const torch::Tensor scores = score(model, state, encoded, evaluation_->example_ids, pairs);
    for (size_t i = 0; i < end - begin; ++i) {
      const double* own = scores.data_ptr<double>() + static_cast<int64_t>(i) * each;
      places.push_back(rank_among(own[0], {own + 1, static_cast<size_t>(link_.ranked_negatives)}));
    }
  }
  return rank_scores(places);
}

Predictions predict_pairs(Model& model, const GateState& state, const Graph& graph, const std::vector<Link>& pairs, int64_t rows,
                          torch::Device device, torch::Dtype dtype) {
  c10::InferenceMode inference;
  model.eval();
  const GraphTensors tensors(graph, device, dtype);
  const auto batch = batch_of_nodes(model, tensors, whole_block(graph), counted(static_cast<size_t>(graph.nodes)));
  GatePass pass = GatePass::evaluation(state, batch->example_ids);
  return predictions_of_pairs(score(model, state, encode(model, *batch, pass, rows), batch->example_ids, pairs), 0);
}

}  // namespace l0gm
