#include "data/graph/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "base/threads.h"

namespace l0gm {
namespace {

void check_numbers(const EdgeList& edges, int64_t nodes) {
  if (nodes < 0 || nodes > std::numeric_limits<int32_t>::max())
    throw std::invalid_argument(fmt::format("a graph of {} nodes", nodes));
  if (edges.from.size() != edges.to.size())
    throw std::invalid_argument("an edge list has different numbers of sources and targets");
  const auto exists = [nodes](int32_t node) { return node >= 0 && node < nodes; };
  if (!std::all_of(edges.from.begin(), edges.from.end(), exists) || !std::all_of(edges.to.begin(), edges.to.end(), exists)) {
    throw std::invalid_argument("an edge names a node that does not exist");
  }
}

// How many nodes one thread takes: each looks at all edges, so there are as many pieces as cores and not more.
int64_t nodes_of_a_thread(int64_t nodes, int64_t edges) {
  constexpr int64_t edges_worth_a_thread = int64_t{1} << 19, most_threads = 16;
  const int64_t cores = std::min(thread_limit(), most_threads);
  return nodes / std::min(cores, 1 + edges / edges_worth_a_thread) + 1;
}

// Calls action(to, from) for every message to a node in [begin, end). Each thread reads all edges and writes only to its own
// range of nodes: no two threads write to the same place, and the writes of one stay close together.
template <class Action>
void each_message(const EdgeList& edges, bool undirected, int64_t begin, int64_t end, const Action& action) {
  const auto in_range = [begin, end](int32_t node) { return node >= begin && node < end; };
  for (size_t i = 0; i < edges.from.size(); ++i) {
    const int32_t from = edges.from[i], to = edges.to[i];
    if (from == to) continue;
    if (in_range(to)) action(to, from);
    if (undirected && in_range(from)) action(from, to);
  }
}

// Sorts each row and removes duplicates. `ends` becomes the new end of each row.
void sort_rows(const std::vector<int64_t>& offsets, std::vector<int32_t>& neighbours, std::vector<int64_t>& ends) {
  constexpr int64_t rows_at_once = 1 << 14;
  parallel_for(static_cast<int64_t>(ends.size()), rows_at_once, [&](int64_t begin, int64_t end) {
    for (int64_t node = begin; node < end; ++node) {
      const auto row = neighbours.begin() + offsets[static_cast<size_t>(node)];
      const auto row_end = neighbours.begin() + offsets[static_cast<size_t>(node) + 1];
      std::sort(row, row_end);
      ends[static_cast<size_t>(node)] = std::unique(row, row_end) - neighbours.begin();
    }
  });
}

// Moves the rows together, so that each begins where the one before it ends.
void close_gaps(std::vector<int64_t>& offsets, std::vector<int32_t>& neighbours, const std::vector<int64_t>& ends) {
  int64_t place = 0;
  for (size_t node = 0; node < ends.size(); ++node) {
    const int64_t begin = offsets[node];
    offsets[node] = place;
    if (begin != place) std::copy(neighbours.begin() + begin, neighbours.begin() + ends[node], neighbours.begin() + place);
    place += ends[node] - begin;
  }
  offsets.back() = place;
  neighbours.resize(static_cast<size_t>(place));
  if (neighbours.capacity() - neighbours.size() > neighbours.size() / 4) neighbours.shrink_to_fit();
}

}  // namespace

std::string Graph::attribute_name(int64_t attribute) const {
  return attribute_names.empty() ? std::to_string(attribute) : attribute_names.at(static_cast<size_t>(attribute));
}

std::string Graph::node_name(int64_t node) const {
  return node_names.empty() ? std::to_string(node) : node_names.at(static_cast<size_t>(node));
}

void build_adjacency(Graph& graph, EdgeList edges, bool undirected) {
  check_numbers(edges, graph.nodes);
  const int64_t nodes = graph.nodes, share = nodes_of_a_thread(nodes, static_cast<int64_t>(edges.from.size()));
  std::vector<int64_t> offsets(static_cast<size_t>(nodes) + 1, 0);
  parallel_for(nodes, share, [&](int64_t begin, int64_t end) {
    each_message(edges, undirected, begin, end, [&](int32_t to, int32_t) { offsets[static_cast<size_t>(to) + 1] += 1; });
  });
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  std::vector<int32_t> neighbours(static_cast<size_t>(offsets.back()));
  std::vector<int64_t> ends(offsets.begin(), offsets.end() - 1);
  parallel_for(nodes, share, [&](int64_t begin, int64_t end) {
    each_message(edges, undirected, begin, end,
                 [&](int32_t to, int32_t from) { neighbours[static_cast<size_t>(ends[static_cast<size_t>(to)]++)] = from; });
  });
  edges = EdgeList{};
  sort_rows(offsets, neighbours, ends);
  close_gaps(offsets, neighbours, ends);
  graph.offsets = std::move(offsets);
  graph.neighbours = std::move(neighbours);
  graph.symmetric = undirected || is_symmetric(graph);
}

bool is_symmetric(const Graph& graph) {
  // Nodes are visited in ascending order and rows are ascending: in a symmetric graph the visits to a row match its entries one
  // after the other.
  std::vector<int64_t> next(graph.offsets.begin(), graph.offsets.end() - 1);
  for (int64_t node = 0; node < graph.nodes; ++node) {
    for (const int32_t other : graph.in_neighbours(node)) {
      int64_t& place = next[static_cast<size_t>(other)];
      if (place == graph.offsets[other + int64_t{1}] || graph.neighbours[place] != node) return false;
      place += 1;
    }
  }
  return true;
}

void leave_unlabelled(Graph& graph) {
  graph.classes.clear();
  graph.labels = std::vector<int32_t>(static_cast<size_t>(graph.nodes), -1);
}

}  // namespace l0gm
