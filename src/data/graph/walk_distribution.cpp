#include "data/graph/walk_distribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <vector>

#include "base/log.h"

namespace l0gm {
namespace {

class WalkDistribution : public SubgraphDistribution {
 public:
  WalkDistribution(const Graph& graph, int64_t roots, int64_t length, int64_t threads, uint64_t seed)
      : graph_(graph), roots_(roots), length_(length) {
    constexpr int64_t wanted_of_a_node = 50, most = 65'535;  // the largest count that edge_count_ can hold
    const int64_t nodes_of_one = roots * (length + 1);
    subgraphs_ = std::clamp<int64_t>((wanted_of_a_node * graph.nodes + nodes_of_one - 1) / nodes_of_one, wanted_of_a_node, most);
    node_count_.resize(static_cast<size_t>(graph.nodes));
    edge_count_.resize(static_cast<size_t>(graph.edges()));
    log_detail(fmt::format("saint-walk: counting nodes and edges of {} subgraphs", subgraphs_));
    const std::vector<uint8_t> is_training = mark_training(graph);
    std::atomic<int64_t> next = 0;
    std::vector<std::future<void>> workers;
    for (int64_t i = 0; i < threads; ++i) {
      workers.push_back(std::async(std::launch::async, [&] {
        for (int64_t k = next++; k < subgraphs_; k = next++) {
          count(draw_subgraph(*this, is_training, mix_key(seed, 0x636f756e74, static_cast<uint64_t>(k))));
        }
      }));
    }
    for (auto& worker : workers) worker.wait();  // all of them, before one that failed throws
    for (auto& worker : workers) worker.get();
  }

  void pick(uint64_t key, NodeNumbering& nodes) const override {
    for (int64_t root = 0; root < roots_; ++root) {
      RandomStream random(key, static_cast<uint64_t>(root));
      auto node = static_cast<int64_t>(random.below(static_cast<uint64_t>(graph_.nodes)));
      nodes.number(node);
      for (int64_t step = 0; step < length_ && graph_.degree(node) > 0; ++step) {
        const auto row = graph_.in_neighbours(node);
        node = row[static_cast<size_t>(random.below(row.size()))];
        nodes.number(node);
      }
    }
  }
  // A node that was never counted has a chance below 1 / subgraphs_; that bound is used.
  double chance(int64_t node) const override {
    return static_cast<double>(std::max<uint32_t>(node_count_[static_cast<size_t>(node)], 1)) / static_cast<double>(subgraphs_);
  }
  double chance(int64_t node, int64_t place) const override {
    const uint16_t count = edge_count_[static_cast<size_t>(graph_.offsets[node] + place)];
    return count == 0 ? chance(node) : static_cast<double>(count) / static_cast<double>(subgraphs_);
  }

 private:
  void count(const std::vector<int64_t>& nodes) {
    NodeNumbering& numbering = SamplerScratch::of_this_thread().sources;
    numbering.start(graph_.nodes);
    for (const int64_t node : nodes) numbering.number(node);
    for (const int64_t node : nodes) {
      std::atomic_ref(node_count_[static_cast<size_t>(node)]).fetch_add(1, std::memory_order_relaxed);
      const auto first = static_cast<size_t>(graph_.offsets[node]);
      for_each_known(graph_.in_neighbours(node), nodes, numbering, [&](size_t place, int32_t) {
        std::atomic_ref(edge_count_[first + place]).fetch_add(1, std::memory_order_relaxed);
      });
    }
  }

  const Graph& graph_;
  int64_t roots_, length_, subgraphs_ = 0;
  std::vector<uint32_t> node_count_;
  std::vector<uint16_t> edge_count_;  // two bytes an edge: the largest array here
};

}  // namespace

std::unique_ptr<SubgraphDistribution> walk_distribution(const Graph& graph, int64_t roots, int64_t length, int64_t threads,
                                                        uint64_t seed) {
  return std::make_unique<WalkDistribution>(graph, roots, length, threads, seed);
}

}  // namespace l0gm
