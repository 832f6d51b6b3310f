#include "data/graph/fastgcn_sampler.h"

#include <algorithm>
#include <numeric>

namespace l0gm {

FastGcnSampler::FastGcnSampler(const Graph& graph, const GraphOptions& options, int64_t layers, int64_t batch, uint64_t seed)
    : graph_(graph),
      layers_(layers),
      draws_(options.layer_nodes),
      seed_(seed),
      order_(graph.train, batch, seed),
      probability_(column_norms(graph)) {
  const double sum = std::accumulate(probability_.begin(), probability_.end(), 0.0);
  if (!(sum > 0)) return;
  table_.emplace(probability_);
  for (double& probability : probability_) probability /= sum;
}

// Draws one layer for the nodes that are sources so far, and numbers the drawn nodes behind them.
std::shared_ptr<const MessageBlock> FastGcnSampler::draw_layer(uint64_t key) const {
  auto& [sources, drawn, places] = SamplerScratch::of_this_thread();
  const std::vector<int64_t> targets = sources.nodes();
  drawn.start(graph_.nodes);
  std::vector<int64_t> counts;
  RandomStream random(key);
  for (int64_t i = 0; table_ && i < draws_; ++i) {
    const auto number = static_cast<size_t>(drawn.number(table_->draw(random)));
    counts.resize(static_cast<size_t>(drawn.size()), 0);
    ++counts[number];
  }
  std::vector<int32_t> source(counts.size());  // of each drawn node
  std::vector<float> weight(counts.size());
  for (size_t i = 0; i < counts.size(); ++i) {
    const int64_t node = drawn.nodes()[i];
    source[i] = sources.number(node);
    weight[i] = static_cast<float>(static_cast<double>(counts[i]) /
                                   (static_cast<double>(draws_) * probability_[static_cast<size_t>(node)]));
  }
  std::vector<int64_t> known = drawn.nodes();
  std::sort(known.begin(), known.end());

  std::vector<int64_t> offsets = {0};
  std::vector<int32_t> neighbours;
  std::vector<float> weights;
  for (const int64_t node : targets) {
    for_each_known(graph_.in_neighbours(node), known, drawn, [&](size_t, int32_t number) {
      neighbours.push_back(source[static_cast<size_t>(number)]);
      weights.push_back(weight[static_cast<size_t>(number)]);
    });
    offsets.push_back(static_cast<int64_t>(neighbours.size()));
  }
  return make_block(graph_, sources.nodes(), std::move(offsets), std::move(neighbours), std::move(weights));
}

MessagePlan FastGcnSampler::draw(int64_t epoch, int64_t index) const {
  NodeNumbering& sources = SamplerScratch::of_this_thread().sources;
  MessagePlan plan;
  plan.outputs = order_.batch(epoch, index);
  const uint64_t step = mix_key(seed_, 0x66617374, static_cast<uint64_t>(epoch), static_cast<uint64_t>(index));
  sources.start(graph_.nodes);
  for (const int64_t node : plan.outputs) sources.number(node);
  plan.blocks.resize(static_cast<size_t>(layers_));
  for (size_t layer = 0; layer < plan.blocks.size(); ++layer)
    plan.blocks[plan.blocks.size() - 1 - layer] = draw_layer(mix_key(step, layer));
  plan.inputs = sources.nodes();
  return plan;
}

}  // namespace l0gm
