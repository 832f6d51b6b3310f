#include "data/graph/neighbour_sampler.h"

#include <fmt/format.h>

#include <algorithm>

#include "l0gm/error.h"

namespace l0gm {
namespace {

std::vector<int64_t> fanout_of_layers(const std::vector<int64_t>& fanout, int64_t layers) {
  if (fanout.size() == 1) return std::vector<int64_t>(static_cast<size_t>(layers), fanout[0]);
  if (static_cast<int64_t>(fanout.size()) < layers) {
    throw UserError(
        fmt::format("graph.fanout has {} numbers, the model has {} layers; give one for each layer, from the last to the first, "
                    "or a single one for all",
                    fanout.size(), layers));
  }
  return {fanout.begin(), fanout.begin() + layers};
}

// One layer's rows as they are drawn.
struct DrawnRows {
  std::vector<int64_t> offsets = {0};
  std::vector<int32_t> neighbours;  // first nodes, then (after number_all) numbers of sources
  std::vector<float> weights;       // empty as long as every row is complete
};

// Floyd's algorithm for `count` distinct places of a row: as many draws as places, independent of the row's length.
void draw_places(int64_t length, int64_t count, RandomStream& random, NodeNumbering& places) {
  places.start(length);
  for (int64_t last = length - count; last < length; ++last) {
    const int64_t before = places.size();
    places.number(static_cast<int64_t>(random.below(static_cast<uint64_t>(last) + 1)));
    if (places.size() == before) places.number(last);
  }
}

void add_row(const Graph& graph, int64_t node, int64_t fanout, uint64_t layer_key, NodeNumbering& places, DrawnRows& rows) {
  const auto row = graph.in_neighbours(node);
  const auto degree = static_cast<int64_t>(row.size());
  if (degree <= fanout) {
    rows.neighbours.insert(rows.neighbours.end(), row.begin(), row.end());
    if (!rows.weights.empty()) rows.weights.resize(rows.neighbours.size(), 1.0F);
  } else {
    rows.weights.resize(rows.neighbours.size(), 1.0F);  // of the complete rows before the first incomplete one
    RandomStream random(layer_key, static_cast<uint64_t>(node));
    draw_places(degree, fanout, random, places);
    for (const int64_t place : places.nodes()) rows.neighbours.push_back(row[static_cast<size_t>(place)]);
    rows.weights.resize(rows.neighbours.size(), static_cast<float>(static_cast<double>(degree) / static_cast<double>(fanout)));
  }
  rows.offsets.push_back(static_cast<int64_t>(rows.neighbours.size()));
}

}  // namespace

NeighbourSampler::NeighbourSampler(const Graph& graph, const GraphOptions& options, int64_t layers, int64_t batch, uint64_t seed)
    : graph_(graph), fanout_(fanout_of_layers(options.fanout, layers)), seed_(seed), order_(graph.train, batch, seed) {}

MessagePlan NeighbourSampler::draw(int64_t epoch, int64_t index) const {
  SamplerScratch& scratch = SamplerScratch::of_this_thread();
  MessagePlan plan;
  plan.outputs = order_.batch(epoch, index);
  const uint64_t step = mix_key(seed_, 0x6e65696768, static_cast<uint64_t>(epoch), static_cast<uint64_t>(index));

  // A layer's sources are the targets of the layer before it, under the same numbers: one numbering grows through all layers.
  scratch.sources.start(graph_.nodes);
  for (const int64_t node : plan.outputs) scratch.sources.number(node);
  plan.blocks.resize(fanout_.size());
  for (size_t layer = 0; layer < fanout_.size(); ++layer) {
    const std::vector<int64_t>& nodes = scratch.sources.nodes();
    const uint64_t layer_key = mix_key(step, layer);
    DrawnRows rows;
    rows.offsets.reserve(nodes.size() + 1);
    for (size_t i = 0; i < nodes.size(); ++i) {
      constexpr size_t ahead = 8;  // rows are scattered in memory
      if (i + ahead < nodes.size()) __builtin_prefetch(graph_.offsets.data() + nodes[i + ahead]);
      if (i + ahead / 2 < nodes.size()) __builtin_prefetch(graph_.neighbours.data() + graph_.offsets[nodes[i + ahead / 2]]);
      add_row(graph_, nodes[i], fanout_[layer], layer_key, scratch.places, rows);
    }
    scratch.sources.number_all(rows.neighbours);
    plan.blocks[fanout_.size() - 1 - layer] =
        make_block(graph_, nodes, std::move(rows.offsets), std::move(rows.neighbours), std::move(rows.weights));
  }
  plan.inputs = scratch.sources.nodes();
  return plan;
}

}  // namespace l0gm
