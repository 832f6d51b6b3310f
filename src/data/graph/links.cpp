#include "data/graph/links.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/random.h"
#include "l0gm/error.h"

namespace l0gm {

namespace {

// Whether there is an edge other -> node.
bool has_edge(const Graph& graph, int64_t node, int64_t other) {
  const auto row = graph.in_neighbours(node);
  return std::binary_search(row.begin(), row.end(), static_cast<int32_t>(other));
}

Link pair_of(int64_t a, int64_t b) { return {static_cast<int32_t>(std::min(a, b)), static_cast<int32_t>(std::max(a, b))}; }

// Calls visit(link) once for each link, row by row: in the row of its larger node, or in the row of its smaller node where there
// is only that direction.
template <class Visit>
void for_each_link(const Graph& graph, Visit visit) {
  for (int64_t node = 0; node < graph.nodes; ++node) {
    for (const int32_t other : graph.in_neighbours(node)) {
      if (other < node || (!graph.symmetric && !has_edge(graph, other, node))) visit(pair_of(node, other));
    }
  }
}

struct Rows {
  std::vector<int64_t> offsets;
  std::vector<int32_t> neighbours;
};

// Copies the neighbours between the removed positions in one piece each: a step removes few of many edges.
Rows rows_without(const Graph& graph, std::span<const Link> links) {
  const std::vector<int64_t> places = places_of_links(graph, links);
  Rows rows;
  rows.neighbours.reserve(static_cast<size_t>(graph.edges()) - places.size());
  int64_t from = 0;
  const auto copy_until = [&](int64_t to) {
    rows.neighbours.insert(rows.neighbours.end(), graph.neighbours.begin() + from, graph.neighbours.begin() + to);
    from = to + 1;
  };
  for (const int64_t place : places) copy_until(place);
  copy_until(graph.edges());
  rows.offsets.reserve(static_cast<size_t>(graph.nodes) + 1);
  size_t gone = 0;
  for (const int64_t offset : graph.offsets) {
    while (gone < places.size() && places[gone] < offset) ++gone;
    rows.offsets.push_back(offset - static_cast<int64_t>(gone));
  }
  return rows;
}

// A hash set of pairs with open addressing: a step draws tens of thousands, an evaluation millions.
class PairSet {
 public:
  explicit PairSet(int64_t capacity) : slots_(std::bit_ceil(static_cast<size_t>(2 * capacity + 2)), free) {}
  bool insert(const Link& link) {  // false: already in the set
    const uint64_t value = static_cast<uint64_t>(link.first) << 32 | static_cast<uint32_t>(link.second);
    for (size_t place = mix_key(value, 0);; ++place) {
      uint64_t& slot = slots_[place & (slots_.size() - 1)];
      if (slot == value) return false;
      if (slot != free) continue;
      slot = value;
      return true;
    }
  }

 private:
  static constexpr uint64_t free = ~uint64_t{0};  // not a valid pair: nodes are not negative
  std::vector<uint64_t> slots_;
};

}  // namespace

std::vector<int64_t> places_of_links(const Graph& graph, std::span<const Link> links) {
  std::vector<int64_t> places;
  places.reserve(2 * links.size());
  const auto find = [&](int64_t node, int32_t other) {
    const auto row = graph.in_neighbours(node);
    const auto found = std::lower_bound(row.begin(), row.end(), other);
    if (found != row.end() && *found == other) places.push_back(graph.offsets[node] + (found - row.begin()));
  };
  for (const Link& link : links) {
    find(link.first, link.second);
    find(link.second, link.first);
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

std::vector<Link> links_of(const Graph& graph) {
  std::vector<Link> links;
  links.reserve(static_cast<size_t>(graph.symmetric ? graph.edges() / 2 : graph.edges()));
  for_each_link(graph, [&](const Link& link) { links.push_back(link); });
  std::sort(links.begin(), links.end());
  return links;
}

bool is_linked(const Graph& graph, int64_t node, int64_t other) {
  if (graph.symmetric)
    return graph.degree(node) < graph.degree(other) ? has_edge(graph, node, other) : has_edge(graph, other, node);
  return has_edge(graph, node, other) || has_edge(graph, other, node);
}

LinkSplit split_links(const Graph& graph, double valid_share, double test_share, uint64_t seed) {
  const std::vector<Link> links = links_of(graph);
  const auto total = static_cast<double>(links.size());
  const int64_t valid = std::llround(valid_share * total), test = std::llround(test_share * total);
  const int64_t train = static_cast<int64_t>(links.size()) - valid - test;
  if (valid < 1 || test < 1 || train < 1) {
    throw UserError(
        fmt::format("{} has {} links: link.valid = {} and link.test = {} make {} of them for validation, {} for the test "
                    "and leave {} for training. Each needs at least one: change the shares",
                    graph.name, links.size(), valid_share, test_share, valid, test, train));
  }
  constexpr uint64_t split_stream = 0x6c696e6b73;
  const std::vector<int64_t> order = RandomStream(seed, split_stream).permutation(static_cast<int64_t>(links.size()));
  LinkSplit split;
  split.train.reserve(static_cast<size_t>(train));
  for (size_t i = 0; i < links.size(); ++i) {
    (order[i] < valid ? split.valid : order[i] < valid + test ? split.test : split.train).push_back(links[i]);
  }
  return split;
}

Graph without_links(const Graph& graph, std::span<const Link> links) {
  Rows rows = rows_without(graph, links);
  Graph left = graph;
  left.offsets = std::move(rows.offsets);
  left.neighbours = std::move(rows.neighbours);
  return left;
}

std::shared_ptr<const MessageBlock> block_without_links(const Graph& graph, std::span<const Link> links, double drop,
                                                        uint64_t key) {
  Rows rows = rows_without(graph, links);
  Graph structure;  // without names and split, which a block does not need
  structure.nodes = graph.nodes;
  structure.symmetric = graph.symmetric;
  structure.offsets = std::move(rows.offsets);
  structure.neighbours = std::move(rows.neighbours);
  return drop > 0 ? thinned_block(structure, drop, key) : whole_block(structure);
}

UnlinkedPairs::UnlinkedPairs(const Graph& graph) : graph_(graph), count_(graph.nodes * (graph.nodes - 1) / 2) {
  if (graph.symmetric) {
    count_ -= graph.edges() / 2;
  } else {
    for_each_link(graph, [this](const Link&) { --count_; });
  }
}

std::vector<Link> UnlinkedPairs::draw(int64_t count, uint64_t key) const {
  if (count > count_) {
    throw UserError(
        fmt::format("{} pairs of nodes without a link were to be drawn, and {} has {}: lower train.batch, link.negatives or "
                    "the shares link.valid and link.test",
                    count, graph_.name, count_));
  }
  RandomStream random(key);
  PairSet seen(count);
  std::vector<Link> pairs;
  pairs.reserve(static_cast<size_t>(count));
  while (static_cast<int64_t>(pairs.size()) < count) {
    const auto a = static_cast<int64_t>(random.below(static_cast<uint64_t>(graph_.nodes)));
    const auto b = static_cast<int64_t>(random.below(static_cast<uint64_t>(graph_.nodes)));
    if (a == b || is_linked(graph_, a, b)) continue;
    if (const Link pair = pair_of(a, b); seen.insert(pair)) pairs.push_back(pair);
  }
  return pairs;
}

std::vector<int32_t> UnlinkedPairs::draw_unlinked(int32_t node, int64_t count, uint64_t key) const {
  RandomStream random(key);
  std::vector<int32_t> drawn;
  const auto unlinked = [&](int64_t other) { return other != node && !is_linked(graph_, node, other); };
  const int64_t tries = 16 * (count + 4);
  for (int64_t i = 0; i < tries && static_cast<int64_t>(drawn.size()) < count; ++i) {
    const auto other = static_cast<int64_t>(random.below(static_cast<uint64_t>(graph_.nodes)));
    if (unlinked(other)) drawn.push_back(static_cast<int32_t>(other));
  }
  if (static_cast<int64_t>(drawn.size()) == count) return drawn;
  // The node is linked to nearly all nodes: draw from the list of the others.
  std::vector<int32_t> all;
  for (int64_t other = 0; other < graph_.nodes; ++other) {
    if (unlinked(other)) all.push_back(static_cast<int32_t>(other));
  }
  if (all.empty()) return {};
  while (static_cast<int64_t>(drawn.size()) < count) drawn.push_back(all[random.below(all.size())]);
  return drawn;
}

UnlinkedPairs::Negatives UnlinkedPairs::negatives_for(const Link& link, int64_t count, uint64_t key) const {
  for (const int32_t end : {link.first, link.second}) {
    if (std::vector<int32_t> nodes = draw_unlinked(end, count, key); !nodes.empty()) return {end, std::move(nodes)};
  }
  throw UserError(fmt::format("the link between the nodes {} and {} of {} cannot be ranked: both are linked to every other node",
                              graph_.node_name(link.first), graph_.node_name(link.second), graph_.name));
}

}  // namespace l0gm
