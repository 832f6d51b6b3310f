#include "data/graph/saint_sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "l0gm/error.h"

namespace l0gm {
namespace {

std::unique_ptr<SubgraphLaw> law_of(const Graph& graph, const GraphOptions& options, int64_t batch, uint64_t seed) {
  switch (options.sampler) {
    case SamplerKind::saint_node:
      return saint_node_law(graph, batch);
    case SamplerKind::saint_edge:
      return saint_edge_law(graph, std::max<int64_t>(batch / 2, 1));
    case SamplerKind::saint_walk:
      return saint_walk_law(graph, std::max<int64_t>(batch / (options.walk_length + 1), 1), options.walk_length,
                            std::max<int64_t>(options.sampler_threads, 1), seed);
    default:
      throw std::invalid_argument("not a sampler of subgraphs");
  }
}

}  // namespace

std::vector<uint8_t> mark_training(const Graph& graph) {
  std::vector<uint8_t> is_training(static_cast<size_t>(graph.nodes), 0);
  for (const int64_t node : graph.train) is_training[static_cast<size_t>(node)] = 1;
  return is_training;
}

std::vector<int64_t> draw_subgraph(const SubgraphLaw& law, std::span<const uint8_t> is_training, uint64_t key) {
  constexpr uint64_t attempts = 10'000;
  NodeNumbering& drawn = SamplerScratch::of_this_thread().drawn;
  for (uint64_t attempt = 0; attempt < attempts; ++attempt) {
    drawn.start(static_cast<int64_t>(is_training.size()));
    law.pick(mix_key(key, attempt), drawn);
    const auto& nodes = drawn.nodes();
    if (std::none_of(nodes.begin(), nodes.end(), [&](int64_t node) { return is_training[static_cast<size_t>(node)] != 0; }))
      continue;
    std::vector<int64_t> ascending = nodes;
    std::sort(ascending.begin(), ascending.end());
    return ascending;
  }
  throw UserError(
      fmt::format("{} subgraphs were drawn for a step and none of them has a training node; raise train.batch or use another "
                  "graph.sampler (neighbour and fastgcn start from training nodes)",
                  attempts));
}

SaintSampler::SaintSampler(const Graph& graph, const GraphOptions& options, int64_t layers, int64_t batch, uint64_t seed)
    : graph_(graph),
      layers_(layers),
      batch_(batch),
      seed_(seed),
      is_training_(mark_training(graph)),
      law_(law_of(graph, options, batch, seed)) {
  for (const int64_t node : graph.train) examples_share_ += law_->chance(node) / static_cast<double>(graph.train.size());
}

MessagePlan SaintSampler::draw(int64_t epoch, int64_t index) const {
  if (epoch < 0 || index < 0 || index >= steps_per_epoch()) {
    throw std::out_of_range(
        fmt::format("step {} of epoch {} was asked for; an epoch has {} steps", index, epoch, steps_per_epoch()));
  }
  MessagePlan plan;
  const uint64_t step = mix_key(seed_, 0x7361696e74, static_cast<uint64_t>(epoch), static_cast<uint64_t>(index));
  plan.inputs = draw_subgraph(*law_, is_training_, step);
  plan.outputs = plan.inputs;

  NodeNumbering& numbering = SamplerScratch::of_this_thread().sources;
  numbering.start(graph_.nodes);
  for (const int64_t node : plan.inputs) numbering.number(node);
  std::vector<int64_t> offsets = {0};
  std::vector<int32_t> neighbours;
  std::vector<float> weights;
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    const int64_t node = plan.inputs[i];
    const double chance = law_->chance(node);
    for_each_known(graph_.heard_by(node), plan.inputs, numbering, [&](size_t place, int32_t number) {
      neighbours.push_back(number);
      weights.push_back(static_cast<float>(chance / law_->chance(node, static_cast<int64_t>(place))));
    });
    offsets.push_back(static_cast<int64_t>(neighbours.size()));
    if (is_training_[static_cast<size_t>(node)] == 0) continue;
    plan.examples.push_back(static_cast<int32_t>(i));
    plan.loss_weights.push_back(static_cast<float>(examples_share_ / chance));
  }
  const auto block = make_block(graph_, plan.inputs, std::move(offsets), std::move(neighbours), std::move(weights));
  plan.blocks.assign(static_cast<size_t>(layers_), block);
  return plan;
}

}  // namespace l0gm
