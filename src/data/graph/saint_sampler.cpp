#include "data/graph/saint_sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "data/graph/walk_distribution.h"

namespace l0gm {
namespace {

std::unique_ptr<SubgraphDistribution> distribution_of(const Graph& graph, const GraphOptions& options, int64_t batch,
                                                      uint64_t seed) {
  switch (options.sampler) {
    case SamplerKind::saint_node:
      return node_distribution(graph, batch);
    case SamplerKind::saint_edge:
      return edge_distribution(graph, std::max<int64_t>(batch / 2, 1));
    case SamplerKind::saint_walk:
      return walk_distribution(graph, std::max<int64_t>(batch / (options.walk_length + 1), 1), options.walk_length,
                               std::max<int64_t>(options.sampler_threads, 1), seed);
    default:
      throw std::invalid_argument("not a sampler of subgraphs");
  }
}

}  // namespace

SaintSampler::SaintSampler(const Graph& graph, const GraphOptions& options, int64_t layers, int64_t batch, uint64_t seed)
    : graph_(graph),
      layers_(layers),
      batch_(batch),
      seed_(seed),
      is_training_(mark_training(graph)),
      distribution_(distribution_of(graph, options, batch, seed)) {}

MessagePlan SaintSampler::draw(int64_t epoch, int64_t index) const {
  if (epoch < 0 || index < 0 || index >= steps_per_epoch()) {
    throw std::out_of_range(
        fmt::format("step {} of epoch {} was asked for; an epoch has {} steps", index, epoch, steps_per_epoch()));
  }
  MessagePlan plan;
  const uint64_t step = mix_key(seed_, 0x7361696e74, static_cast<uint64_t>(epoch), static_cast<uint64_t>(index));
  plan.inputs = draw_subgraph(*distribution_, is_training_, step);
  plan.outputs = plan.inputs;

  NodeNumbering& numbering = SamplerScratch::of_this_thread().sources;
  numbering.start(graph_.nodes);
  for (const int64_t node : plan.inputs) numbering.number(node);
  std::vector<int64_t> offsets = {0};
  std::vector<int32_t> neighbours;
  std::vector<float> weights;
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    const int64_t node = plan.inputs[i];
    const double chance = distribution_->chance(node);
    for_each_known(graph_.in_neighbours(node), plan.inputs, numbering, [&](size_t place, int32_t number) {
      neighbours.push_back(number);
      weights.push_back(static_cast<float>(chance / distribution_->chance(node, static_cast<int64_t>(place))));
    });
    offsets.push_back(static_cast<int64_t>(neighbours.size()));
    if (is_training_[static_cast<size_t>(node)] == 0) continue;
    plan.examples.push_back(static_cast<int32_t>(i));
    plan.loss_weights.push_back(static_cast<float>(1 / (chance * static_cast<double>(graph_.train.size()))));
  }
  const auto block = make_block(graph_, plan.inputs, std::move(offsets), std::move(neighbours), std::move(weights));
  plan.blocks.assign(static_cast<size_t>(layers_), block);
  return plan;
}

}  // namespace l0gm
