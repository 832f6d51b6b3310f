#include "data/made/products_edges.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "base/threads.h"

namespace l0gm {
namespace {

constexpr uint64_t draw_degree = 12, draw_stubs = 13, draw_thinning = 14;
constexpr double degree_median = 24, degree_sigma = 1.24;
constexpr int64_t largest_degree = 17'500;
// A node has at most this share of a range as neighbours: otherwise too many edges would be duplicates and merged.
constexpr double densest = 0.3;
constexpr double surplus = 1.12;     // edges drawn per wanted edge: some are loops or duplicates, the excess is thinned out
constexpr double weight_unit = 256;  // weights are whole numbers: their sums are the same in any order

enum Level : size_t { all, same_apparent, same_kind, community };
using Shares = std::array<double, ProductsTree::levels>;  // of a node's edges, by level

struct Structure {
  const ProductsNodes& nodes;
  const ProductsTree& tree;
  uint64_t seed;
  std::vector<float> degree;                                    // node -> expected
  std::array<std::vector<uint64_t>, ProductsTree::levels> sum;  // [level][place]: sum of the weights before this place

  std::pair<int64_t, int64_t> range(size_t level, int64_t node) const {
    const auto number =
        static_cast<size_t>(tree.range_of_community[level][static_cast<size_t>(tree.community[static_cast<size_t>(node)])]);
    return {tree.begins[level][number], tree.begins[level][number + 1]};
  }
};

// Tuned to the homophily of the real graph: .81 of the edges, .83 as the mean over nodes. The later a product and the higher
// its degree, the more of its edges lead to any node. A node whose label is not its apparent class has half of its neighbours in
// the apparent class.
Shares shares_of(const Structure& structure, int64_t node) {
  const auto i = static_cast<size_t>(node);
  const ProductsNodes& nodes = structure.nodes;
  const double degree = structure.degree[i], popular = std::log(degree / degree_median);
  const bool mismatch = nodes.apparent[i] != nodes.labels[i];
  Shares share{};
  share[all] = std::clamp(0.035 + 0.04 * nodes.rank(node) + 0.01 * popular, 0.01, 0.4);
  share[same_apparent] = mismatch ? 0.5 : 0.1;
  share[community] = mismatch ? 0.15 : 0.3;
  share[same_kind] = 1 - share[all] - share[same_apparent] - share[community];
  for (size_t level = community; level > all; --level) {
    const auto [begin, end] = structure.range(level, node);
    const double room = std::min(share[level], densest * static_cast<double>(end - begin - 1) / degree);
    share[level - 1] += share[level] - room;
    share[level] = room;
  }
  return share;
}

void draw_degrees(Structure& structure) {
  const int64_t count = structure.nodes.size(), most = std::min(largest_degree, count / 4);
  structure.degree.resize(static_cast<size_t>(count));
  parallel_for(count, 1 << 15, [&](int64_t begin, int64_t end) {
    for (int64_t node = begin; node < end; ++node) {
      RandomStream random(mix_key(structure.seed, draw_degree, static_cast<uint64_t>(node)));
      const double drawn = degree_median * std::exp(degree_sigma * random.normal());
      structure.degree[static_cast<size_t>(node)] = static_cast<float>(std::min(drawn, static_cast<double>(most)));
    }
  });
}

// On each level a node receives as many edges as it emits, on average, so that its expected degree is as drawn.
void set_weights(Structure& structure) {
  const int64_t count = structure.nodes.size();
  for (auto& sum : structure.sum) sum.assign(static_cast<size_t>(count) + 1, 0);
  parallel_for(count, 1 << 15, [&](int64_t begin, int64_t end) {
    for (int64_t place = begin; place < end; ++place) {
      const int32_t node = structure.tree.order[static_cast<size_t>(place)];
      const Shares share = shares_of(structure, node);
      const double degree = structure.degree[static_cast<size_t>(node)];
      for (size_t level = 0; level < share.size(); ++level) {
        structure.sum[level][static_cast<size_t>(place) + 1] =
            static_cast<uint64_t>(std::llround(weight_unit * degree * share[level]));
      }
    }
  });
  for (auto& sum : structure.sum) std::partial_sum(sum.begin(), sum.end(), sum.begin());
}

size_t draw_level(const Shares& share, RandomStream& random) {
  double left = random.uniform();
  for (size_t level = share.size() - 1; level > 0; --level) {
    if ((left -= share[level]) < 0) return level;
  }
  return all;
}

// A node of the range, in proportion to the weights; the node itself where all weights are 0.
int32_t draw_partner(const Structure& structure, size_t level, int64_t node, RandomStream& random) {
  const auto [begin, end] = structure.range(level, node);
  const std::vector<uint64_t>& sum = structure.sum[level];
  const uint64_t first = sum[static_cast<size_t>(begin)], weights = sum[static_cast<size_t>(end)] - first;
  if (weights == 0) return static_cast<int32_t>(node);
  const auto found = std::upper_bound(sum.begin() + begin, sum.begin() + end, first + random.below(weights));
  return structure.tree.order[static_cast<size_t>(found - sum.begin()) - 1];
}

int32_t stubs_of(const Structure& structure, double factor, int64_t node, RandomStream& random) {
  return static_cast<int32_t>(std::floor(factor * structure.degree[static_cast<size_t>(node)] / 2 + random.uniform()));
}

std::vector<int64_t> offsets_of(const std::vector<int32_t>& counts) {
  std::vector<int64_t> offsets(counts.size() + 1, 0);
  for (size_t i = 0; i < counts.size(); ++i) offsets[i + 1] = offsets[i] + counts[i];
  return offsets;
}

// Partners that each node has drawn: those of node v are at offsets[v] … offsets[v + 1]. A node that drew itself has no partner.
struct Rows {
  std::vector<int64_t> offsets;
  std::vector<int32_t> neighbours;
};
using Counters = std::vector<std::atomic<int32_t>>;

Rows draw_partners(const Structure& structure, double factor, Counters& degrees) {
  const int64_t count = structure.nodes.size();
  const auto stream_of = [&](int64_t node) {
    return RandomStream(mix_key(structure.seed, draw_stubs, static_cast<uint64_t>(node)));
  };
  std::vector<int32_t> counts(static_cast<size_t>(count));
  for (int64_t node = 0; node < count; ++node) {
    RandomStream random = stream_of(node);
    counts[static_cast<size_t>(node)] = stubs_of(structure, factor, node, random);
  }
  Rows picked{offsets_of(counts), {}};
  picked.neighbours.resize(static_cast<size_t>(picked.offsets.back()));
  parallel_for(count, 1 << 12, [&](int64_t begin, int64_t end) {
    for (int64_t node = begin; node < end; ++node) {
      RandomStream random = stream_of(node);
      const int32_t stubs = stubs_of(structure, factor, node, random);
      const Shares share = shares_of(structure, node);
      int32_t* out = picked.neighbours.data() + picked.offsets[static_cast<size_t>(node)];
      for (int32_t i = 0; i < stubs; ++i) {
        const size_t level = draw_level(share, random);
        out[i] = draw_partner(structure, level, node, random);
        if (out[i] == node) continue;
        degrees[static_cast<size_t>(node)].fetch_add(1, std::memory_order_relaxed);
        degrees[static_cast<size_t>(out[i])].fetch_add(1, std::memory_order_relaxed);
      }
    }
  });
  return picked;
}

// Rows of both directions, with duplicates. Threads fill them in any order; merge_duplicates sorts them.
Rows both_directions(const Rows& picked, Counters& degrees) {
  std::vector<int32_t> counts(degrees.begin(), degrees.end());
  Rows rows{offsets_of(counts), {}};
  rows.neighbours.resize(static_cast<size_t>(rows.offsets.back()));
  const auto put = [&](int32_t node, int32_t other) {  // from the end of the row to its beginning
    const int32_t left = degrees[static_cast<size_t>(node)].fetch_sub(1, std::memory_order_relaxed);
    rows.neighbours[static_cast<size_t>(rows.offsets[static_cast<size_t>(node)] + left - 1)] = other;
  };
  parallel_for(static_cast<int64_t>(counts.size()), 1 << 12, [&](int64_t begin, int64_t end) {
    for (auto node = static_cast<int32_t>(begin); node < static_cast<int32_t>(end); ++node) {
      const auto row = static_cast<size_t>(node);
      for (int64_t i = picked.offsets[row]; i < picked.offsets[row + 1]; ++i) {
        const int32_t partner = picked.neighbours[static_cast<size_t>(i)];
        if (partner != node) put(node, partner), put(partner, node);
      }
    }
  });
  return rows;
}

// Sorts rows and merges duplicates in place; returns the remaining length of each row.
std::vector<int32_t> merge_duplicates(Rows& rows) {
  std::vector<int32_t> counts(rows.offsets.size() - 1);
  parallel_for(static_cast<int64_t>(counts.size()), 1 << 12, [&](int64_t begin, int64_t end) {
    for (auto node = static_cast<size_t>(begin); node < static_cast<size_t>(end); ++node) {
      const auto first = rows.neighbours.begin() + rows.offsets[node], last = rows.neighbours.begin() + rows.offsets[node + 1];
      std::sort(first, last);
      counts[node] = static_cast<int32_t>(std::unique(first, last) - first);
    }
  });
  return counts;
}

// Merged rows of at least `wanted` edges, if possible: a small graph has so many duplicates that more must be drawn.
Rows enough_rows(const Structure& structure, int64_t wanted, std::vector<int32_t>& counts) {
  constexpr int attempts = 5;
  const double expected = std::accumulate(structure.degree.begin(), structure.degree.end(), 0.0);
  double factor = surplus * static_cast<double>(wanted) / expected;
  for (int attempt = 1;; ++attempt) {
    Counters degrees(structure.degree.size());
    Rows rows;
    {
      const Rows picked = draw_partners(structure, factor, degrees);
      rows = both_directions(picked, degrees);
    }
    counts = merge_duplicates(rows);
    const int64_t there = std::accumulate(counts.begin(), counts.end(), int64_t{0});
    if (there >= wanted || attempt == attempts) return rows;
    factor *= 1.05 * static_cast<double>(wanted) / static_cast<double>(std::max<int64_t>(there, 1));
  }
}

// Drops edges at random, both directions together, so that about `wanted` remain.
void thin(Rows& rows, std::vector<int32_t>& counts, int64_t wanted, uint64_t seed) {
  const int64_t there = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  if (there <= wanted) return;
  const auto limit = static_cast<uint64_t>(std::ldexp(static_cast<double>(wanted) / static_cast<double>(there), 53));
  parallel_for(static_cast<int64_t>(counts.size()), 1 << 12, [&](int64_t begin, int64_t end) {
    for (auto node = static_cast<size_t>(begin); node < static_cast<size_t>(end); ++node) {
      const auto first = rows.neighbours.begin() + rows.offsets[node];
      const auto left = std::remove_if(first, first + counts[node], [&](int32_t other) {
        const auto one = static_cast<uint64_t>(node), two = static_cast<uint64_t>(other);
        return (mix_key(seed, draw_thinning, std::min(one, two), std::max(one, two)) >> 11) >= limit;
      });
      counts[node] = static_cast<int32_t>(left - first);
    }
  });
}

}  // namespace

void make_products_edges(const ProductsNodes& nodes, const ProductsTree& tree, int64_t directed_edges, uint64_t seed,
                         Graph& graph) {
  Structure structure{nodes, tree, seed, {}, {}};
  draw_degrees(structure);
  set_weights(structure);
  std::vector<int32_t> counts;
  Rows rows = enough_rows(structure, directed_edges, counts);
  thin(rows, counts, directed_edges, seed);
  std::vector<int64_t> offsets = offsets_of(counts);
  std::vector<int32_t> neighbours(static_cast<size_t>(offsets.back()));
  parallel_for(nodes.size(), 1 << 14, [&](int64_t begin, int64_t end) {
    for (auto node = static_cast<size_t>(begin); node < static_cast<size_t>(end); ++node) {
      std::copy_n(rows.neighbours.begin() + rows.offsets[node], counts[node], neighbours.begin() + offsets[node]);
    }
  });
  graph.offsets = std::move(offsets);
  graph.neighbours = std::move(neighbours);
  graph.symmetric = true;
}

}  // namespace l0gm
