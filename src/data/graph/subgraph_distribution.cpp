#include "data/graph/subgraph_distribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "l0gm/error.h"

namespace l0gm {
namespace {

// The chance that at least one of n independent draws hits what a single one hits with probability `hit`.
double chance_of_one(double n, double hit) { return hit >= 1 ? 1.0 : -std::expm1(n * std::log1p(-hit)); }

// The chance that both of two things are hit; `both`: that a single draw hits them together; chance_a = chance_of_one(n, a). By
// inclusion and exclusion 1 - (1 - a)^n - (1 - b)^n + (1 - a - b + both)^n, written so that nothing cancels where all are small.
double chance_of_two(double n, double a, double b, double both, double chance_a, double chance_b) {
  constexpr double always = 1 - 1e-12;
  if (a >= always) return chance_b;
  if (b >= always) return chance_a;
  const double shift = std::max((both - a * b) / ((1 - a) * (1 - b)), -1.0);
  return chance_a * chance_b + (1 - chance_a) * (1 - chance_b) * std::expm1(n * std::log1p(shift));
}

// Chances of nodes and pairs in n draws, given that a training node is hit. Without that condition they are the two functions
// above; from these the subgraphs without a training node are subtracted, in which every draw misses all training nodes.
class DrawnChances {
 public:
  // Probabilities of a single draw. `hit`: that it hits each node. `hit_only`: that it hits the node and no training node.
  // `training`: that it hits a training node.
  DrawnChances(int64_t draws, std::vector<double> hit, std::vector<double> hit_only, double training)
      : draws_(static_cast<double>(draws)), hit_(std::move(hit)), hit_only_(std::move(hit_only)), misses_training_(1 - training) {
    empty_ = 1 - chance_of_one(draws_, training);
    if (empty_ < 1e-12 || misses_training_ <= 0) empty_ = 0;  // below the resolution of a float
    chance_.resize(hit_.size());
    for (size_t v = 0; v < hit_.size(); ++v) {
      chance_[v] = chance_of_one(draws_, hit_[v]);
      if (empty_ > 0) chance_[v] = (chance_[v] - empty_ * chance_of_one(draws_, hit_only_[v] / misses_training_)) / (1 - empty_);
    }
  }

  double one(int64_t node) const { return chance_[static_cast<size_t>(node)]; }
  double two(int64_t node, int64_t other, double both) const {
    const auto v = static_cast<size_t>(node), u = static_cast<size_t>(other);
    if (empty_ == 0) return chance_of_two(draws_, hit_[v], hit_[u], both, chance_[v], chance_[u]);
    const auto of_any = [&](double a, double b, double together) {
      return chance_of_two(draws_, a, b, together, chance_of_one(draws_, a), chance_of_one(draws_, b));
    };
    const double chance = of_any(hit_[v], hit_[u], both);
    if (hit_only_[v] == 0 || hit_only_[u] == 0) return chance / (1 - empty_);
    return (chance - empty_ * of_any(hit_only_[v] / misses_training_, hit_only_[u] / misses_training_, both / misses_training_)) /
           (1 - empty_);
  }

 private:
  double draws_;
  std::vector<double> hit_, hit_only_, chance_;
  double misses_training_;  // that a single draw hits no training node
  double empty_ = 0.0;      // that none of the draws hits a training node
};

class NodeDistribution : public SubgraphDistribution {
 public:
  NodeDistribution(const Graph& graph, int64_t draws) : NodeDistribution(graph, draws, probabilities(graph)) {}
  void pick(uint64_t key, NodeNumbering& nodes) const override {
    RandomStream random(key);
    for (int64_t i = 0; i < draws_; ++i) nodes.number(table_.draw(random));
  }
  double chance(int64_t node) const override { return chances_.one(node); }
  double chance(int64_t node, int64_t place) const override {
    return chances_.two(node, graph_.in_neighbours(node)[static_cast<size_t>(place)], 0.0);
  }

 private:
  NodeDistribution(const Graph& graph, int64_t draws, const std::vector<double>& probability)
      : graph_(graph),
        draws_(draws),
        table_(probability),
        chances_(draws, probability, hit_only(graph, probability), training(graph, probability)) {}
  static std::vector<double> probabilities(const Graph& graph) {
    std::vector<double> norms = column_norms(graph);
    const double sum = std::accumulate(norms.begin(), norms.end(), 0.0);
    const auto positive = std::count_if(norms.begin(), norms.end(), [](double norm) { return norm > 0; });
    const double mean = positive > 0 ? sum / static_cast<double>(positive) : 1.0;
    for (double& norm : norms) norm = norm > 0 ? norm : mean;
    const double total = std::accumulate(norms.begin(), norms.end(), 0.0);
    for (double& norm : norms) norm /= total;
    return norms;
  }
  static std::vector<double> hit_only(const Graph& graph, std::vector<double> probability) {
    for (const int64_t node : graph.train) probability[static_cast<size_t>(node)] = 0;
    return probability;
  }
  static double training(const Graph& graph, const std::vector<double>& probability) {
    double sum = 0;
    for (const int64_t node : graph.train) sum += probability[static_cast<size_t>(node)];
    return sum;
  }

  const Graph& graph_;
  int64_t draws_;
  AliasTable table_;
  DrawnChances chances_;
};

// A draw is a node v at random and then one of its neighbours: the pair (v, u) with probability 1 / (nodes * d_v), and (u, v)
// likewise.
class EdgeDistribution : public SubgraphDistribution {
 public:
  EdgeDistribution(const Graph& graph, int64_t draws) : graph_(graph), draws_(draws), chances_(chances(graph, draws)) {}
  void pick(uint64_t key, NodeNumbering& nodes) const override {
    RandomStream random(key);
    for (int64_t i = 0; i < draws_; ++i) {
      const auto node = static_cast<int64_t>(random.below(static_cast<uint64_t>(graph_.nodes)));
      nodes.number(node);
      const auto row = graph_.in_neighbours(node);
      if (!row.empty()) nodes.number(row[static_cast<size_t>(random.below(row.size()))]);
    }
  }
  double chance(int64_t node) const override { return chances_.one(node); }
  double chance(int64_t node, int64_t place) const override {
    const int64_t other = graph_.in_neighbours(node)[static_cast<size_t>(place)];
    const auto row = graph_.in_neighbours(other);
    const bool back = graph_.symmetric || std::binary_search(row.begin(), row.end(), static_cast<int32_t>(node));
    const double both = 1.0 / static_cast<double>(graph_.degree(node)) + (back ? 1.0 / static_cast<double>(row.size()) : 0.0);
    return chances_.two(node, other, both / static_cast<double>(graph_.nodes));
  }

 private:
  static DrawnChances chances(const Graph& graph, int64_t draws) {
    const std::vector<uint8_t> is_training = mark_training(graph);
    const auto count = static_cast<size_t>(graph.nodes);
    const double root = 1.0 / static_cast<double>(graph.nodes);
    std::vector<double> hit(count, root), hit_only(count, 0.0);
    double training = 0;
    for (size_t v = 0; v < count; ++v) {
      const auto row = graph.in_neighbours(static_cast<int64_t>(v));
      const double step = row.empty() ? 0.0 : root / static_cast<double>(row.size());
      size_t trained = 0;
      for (const int32_t u : row) {
        hit[static_cast<size_t>(u)] += step;
        trained += is_training[static_cast<size_t>(u)];
        if (is_training[v] == 0 && is_training[static_cast<size_t>(u)] == 0) hit_only[static_cast<size_t>(u)] += step;
      }
      const double meets = is_training[v] != 0 ? root : static_cast<double>(trained) * step;
      training += meets;
      if (is_training[v] == 0 && (row.empty() || trained < row.size())) hit_only[v] += root - meets;
    }
    return {draws, std::move(hit), std::move(hit_only), std::min(training, 1.0)};
  }

  const Graph& graph_;
  int64_t draws_;
  DrawnChances chances_;
};

}  // namespace

std::vector<uint8_t> mark_training(const Graph& graph) {
  std::vector<uint8_t> is_training(static_cast<size_t>(graph.nodes), 0);
  for (const int64_t node : graph.train) is_training[static_cast<size_t>(node)] = 1;
  return is_training;
}

std::vector<int64_t> draw_subgraph(const SubgraphDistribution& distribution, std::span<const uint8_t> is_training, uint64_t key) {
  constexpr uint64_t attempts = 10'000;
  NodeNumbering& drawn = SamplerScratch::of_this_thread().drawn;
  for (uint64_t attempt = 0; attempt < attempts; ++attempt) {
    drawn.start(static_cast<int64_t>(is_training.size()));
    distribution.pick(mix_key(key, attempt), drawn);
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

std::unique_ptr<SubgraphDistribution> node_distribution(const Graph& graph, int64_t draws) {
  return std::make_unique<NodeDistribution>(graph, draws);
}

std::unique_ptr<SubgraphDistribution> edge_distribution(const Graph& graph, int64_t draws) {
  return std::make_unique<EdgeDistribution>(graph, draws);
}

}  // namespace l0gm
