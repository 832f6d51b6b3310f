#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/graph/blocks.h"

// Link prediction: which pairs of nodes are linked. A pair is linked when there is an edge in either direction; the direction is
// ignored, since a pair has one score in either order. So both directions of an edge are always in the same part of a split.
namespace l0gm {

struct Link {
  int32_t first = 0, second = 0;  // first < second, except for pairs that a user lists
  friend auto operator<=>(const Link&, const Link&) = default;
};

// All links of a graph, ascending.
std::vector<Link> links_of(const Graph& graph);
bool is_linked(const Graph& graph, int64_t node, int64_t other);

// Each part ascending.
struct LinkSplit {
  std::vector<Link> train, valid, test;
};
// UserError where the shares leave a part empty.
LinkSplit split_links(const Graph& graph, double valid_share, double test_share, uint64_t seed);

// The same graph without some of its links, both directions of each. Links that it does not have are ignored.
Graph without_links(const Graph& graph, std::span<const Link> links);
// The places of the links in graph.neighbours, both directions of each, ascending. Links that it does not have are ignored.
std::vector<int64_t> places_of_links(const Graph& graph, std::span<const Link> links);
// The messages of a step that predicts `links`: without these edges, and without a share `drop` of the others, picked by `key`.
// Degrees are those of the remaining edges.
std::shared_ptr<const MessageBlock> block_without_links(const Graph& graph, std::span<const Link> links, double drop = 0,
                                                        uint64_t key = 0);

// Pairs of nodes that a graph does not link (negatives), uniformly drawn; pure functions of their arguments.
// Training draws from the training graph: a held-out link is then as likely a negative as any other pair. Excluding the held-out
// links would leak them: the pairs that are never negatives. Evaluation draws from the whole graph.
class UnlinkedPairs {
 public:
  explicit UnlinkedPairs(const Graph& graph);  // must outlive this
  int64_t count() const { return count_; }
  // Distinct pairs. UserError when the graph has fewer.
  std::vector<Link> draw(int64_t count, uint64_t key) const;
  // Nodes, drawn with replacement, that one end of `link` is not linked to: its first node, or its second where the first is
  // linked to all nodes. UserError when both are.
  struct Negatives {
    int32_t end = 0;
    std::vector<int32_t> nodes;
  };
  Negatives negatives_for(const Link& link, int64_t count, uint64_t key) const;

 private:
  std::vector<int32_t> draw_unlinked(int32_t node, int64_t count, uint64_t key) const;  // empty: linked to all nodes

  const Graph& graph_;
  int64_t count_ = 0;
};

}  // namespace l0gm
