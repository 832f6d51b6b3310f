#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "base/random.h"
#include "data/graph/blocks.h"

// What samplers share: numbering the nodes of a step, drawing in proportion to weights, the order of an epoch, rows among chosen
// nodes.
namespace l0gm {

// Assigns numbers 0, 1, … to nodes below a limit, in the order in which they are first seen. start() only clears the list of
// seen nodes, so that one numbering is reused for every step on a graph of millions of nodes.
class NodeNumbering {
 public:
  void start(int64_t limit);
  int32_t find(int64_t node) const {  // -1: not seen yet
    const uint64_t entry = entries_[static_cast<size_t>(node)];
    return entry >> 32 == stamp_ ? static_cast<int32_t>(entry & 0xFFFFFFFFU) : -1;
  }
  int32_t number(int64_t node) {
    uint64_t& entry = entries_[static_cast<size_t>(node)];
    if (entry >> 32 != stamp_) {
      entry = uint64_t{stamp_} << 32 | nodes_.size();
      nodes_.push_back(node);
    }
    return static_cast<int32_t>(entry & 0xFFFFFFFFU);
  }
  void number_all(std::span<int32_t> nodes);  // replaces each node by its number
  int64_t size() const { return static_cast<int64_t>(nodes_.size()); }
  const std::vector<int64_t>& nodes() const { return nodes_; }  // by number

 private:
  std::vector<uint64_t> entries_;  // upper 32 bits: the stamp of the start() that set the entry; lower: the number
  uint32_t stamp_ = 0;
  std::vector<int64_t> nodes_;
};

// Numberings that a thread keeps from step to step: 8 bytes a node each, until the thread ends.
struct SamplerScratch {
  NodeNumbering sources, drawn, places;
  static SamplerScratch& of_this_thread();
};

// Draws i with probability weight[i] / sum in constant time (Walker's alias method). Weights are not negative; their sum is above
// 0.
class AliasTable {
 public:
  explicit AliasTable(std::span<const double> weights);
  int64_t draw(RandomStream& random) const;

 private:
  std::vector<float> keep_;     // probability that place i returns i
  std::vector<int32_t> other_;  // what it returns otherwise
};

// The training nodes in the order of each epoch, cut into batches; the last batch may be smaller. Caches the orders of two
// epochs, since threads that draw in advance may be on both sides of an epoch's end.
class EpochOrder {
 public:
  EpochOrder(std::span<const int64_t> nodes, int64_t batch, uint64_t seed);
  int64_t steps() const;
  std::vector<int64_t> batch(int64_t epoch, int64_t index) const;

 private:
  using Order = std::shared_ptr<const std::vector<int64_t>>;
  Order order(int64_t epoch) const;

  std::span<const int64_t> nodes_;
  int64_t batch_;
  uint64_t seed_;
  mutable std::mutex mutex_;
  mutable std::array<std::pair<int64_t, Order>, 2> recent_;
};

// Squared norm of each column of GCN's matrix without its loops, A[v, u] = 1 / sqrt((d_v + 1) (d_u + 1)): the total
// influence of a node.
std::vector<double> column_norms(const Graph& graph);

// A block whose sources are `nodes` and whose targets are the first of them, as many as `offsets` has rows. Degrees are the
// graph's.
std::shared_ptr<const MessageBlock> make_block(const Graph& graph, std::span<const int64_t> nodes, std::vector<int64_t> offsets,
                                               std::vector<int32_t> neighbours, std::vector<float> weights);

// Calls visit(place in the row, number) for each node of an ascending row that has a number; `known`: the numbered nodes,
// ascending. Where the row is much longer than `known` (a hub), the known nodes are searched in the row.
template <class Visit>
void for_each_known(std::span<const int32_t> row, std::span<const int64_t> known, const NodeNumbering& numbering, Visit visit) {
  constexpr size_t steps_of_a_search = 16;
  if (row.size() <= known.size() * steps_of_a_search) {
    for (size_t place = 0; place < row.size(); ++place) {
      if (const int32_t number = numbering.find(row[place]); number >= 0) visit(place, number);
    }
    return;
  }
  auto from = row.begin();
  for (const int64_t node : known) {
    from = std::lower_bound(from, row.end(), node);
    if (from == row.end()) return;
    if (*from == node) visit(static_cast<size_t>(from - row.begin()), numbering.find(node));
  }
}

}  // namespace l0gm
