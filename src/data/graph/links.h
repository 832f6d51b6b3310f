#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/graph/blocks.h"

// Link prediction: which pairs of nodes are linked. A pair is linked when either hears the other; which of them does is not
// asked, since a pair has one score whichever node comes first. So both directions of an edge are always in the same part of a
// split.
namespace l0gm {

struct Link {
  int32_t first = 0, second = 0;  // first < second, but where a user names pairs
  friend auto operator<=>(const Link&, const Link&) = default;
};

// All of a graph, ascending.
std::vector<Link> links_of(const Graph& graph);
bool is_linked(const Graph& graph, int64_t node, int64_t other);

// Each part ascending.
struct LinkSplit {
  std::vector<Link> train, valid, test;
};
// UserError where the shares leave a part empty.
LinkSplit split_links(const Graph& graph, double valid_share, double test_share, uint64_t seed);

// The same graph without some of its links, both directions of each. Links that it does not have are passed over.
Graph without_links(const Graph& graph, std::span<const Link> links);
// What messages pass over in a step that is asked about `links`: they are not there, nor is a share `drop` of the others, picked
// by `key`. Degrees are those of what is left.
std::shared_ptr<const MessageBlock> thinned_by(const Graph& graph, std::span<const Link> links, double drop = 0,
                                               uint64_t key = 0);

// Pairs of nodes that a graph does not link, uniformly drawn; pure functions of their arguments.
// Training draws from the training graph: a held-out link is then as likely a negative as any other pair. Were they spared, what
// is spared would tell the model where the held-out links are. Evaluation draws from the whole graph.
class UnlinkedPairs {
 public:
  explicit UnlinkedPairs(const Graph& graph);  // must outlive this
  int64_t count() const { return count_; }
  // Different pairs. UserError when the graph has not so many.
  std::vector<Link> draw(int64_t count, uint64_t key) const;
  // Nodes, the same one perhaps more than once, that one end of `link` is not linked to: its first node, or its second where the
  // first is linked to all. UserError when both are.
  struct Others {
    int32_t end = 0;
    std::vector<int32_t> nodes;
  };
  Others others_for(const Link& link, int64_t count, uint64_t key) const;

 private:
  std::vector<int32_t> draw_strangers(int32_t node, int64_t count, uint64_t key) const;  // empty: it has none

  const Graph& graph_;
  int64_t count_ = 0;
};

}  // namespace l0gm
