#include "data/graph/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <thread>

#include "base/random.h"
#include "base/threads.h"
#include "data/graph/sampling.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

SharedArray<float> degrees_of_rows(const SharedArray<int64_t>& offsets) {
  std::vector<float> degrees(static_cast<size_t>(offsets.size() - 1));
  for (size_t v = 0; v < degrees.size(); ++v) {
    const auto row = static_cast<int64_t>(v);
    degrees[v] = static_cast<float>(offsets[row + 1] - offsets[row]);
  }
  return degrees;
}

std::shared_ptr<const MessageBlock> square_block(SharedArray<int64_t> offsets, SharedArray<int32_t> neighbours, bool symmetric) {
  auto block = std::make_shared<MessageBlock>();
  block->targets = block->sources = offsets.size() - 1;
  block->target_degree = block->source_degree = degrees_of_rows(offsets);
  block->offsets = std::move(offsets);
  block->neighbours = std::move(neighbours);
  block->symmetric = symmetric;
  return block;
}

// The remaining neighbours of the rows first … last, concatenated.
struct ThinnedRows {
  int64_t first = 0, last = 0;
  std::vector<int64_t> lengths;
  std::vector<int32_t> neighbours;
};

// Numbers are drawn for many rows at once: short rows would leave most lanes of the generator idle.
void thin(const Graph& graph, double drop_share, uint64_t key, ThinnedRows& rows) {
  constexpr size_t enough = 4096;
  std::vector<int64_t> edges;
  std::vector<float> uniform;
  int64_t next = rows.first;  // the first row whose neighbours are not filtered yet
  for (int64_t v = rows.first; v < rows.last; ++v) {
    for (const int32_t u : graph.in_neighbours(v)) {
      const bool reversed = graph.symmetric && v < u;  // both directions of an edge get the same random number
      edges.push_back(reversed ? v << 32 | u : int64_t{u} << 32 | v);
    }
    if (edges.size() < enough && v + 1 < rows.last) continue;
    uniform.resize(edges.size());
    fill_uniform(key, edges.data(), static_cast<int64_t>(edges.size()), 1, uniform.data());
    size_t edge = 0;
    for (; next <= v; ++next) {
      const size_t before = rows.neighbours.size();
      for (const int32_t u : graph.in_neighbours(next)) {
        if (uniform[edge++] >= drop_share) rows.neighbours.push_back(u);
      }
      rows.lengths.push_back(static_cast<int64_t>(rows.neighbours.size() - before));
    }
    edges.clear();
  }
}

bool needs_all(int64_t count, const Graph& graph) { return count * 10 > graph.nodes * 9; }

// Sets `examples` and `outputs`: the requested `nodes` in their order, which may contain a node twice.
void set_outputs(MessagePlan& plan, const Graph& graph, std::span<const int64_t> nodes, NodeNumbering& numbering) {
  for (const int64_t node : nodes) {
    if (node < 0 || node >= graph.nodes) {
      throw UserError(fmt::format("node {} was asked for; the graph has the nodes 0 … {}", node, graph.nodes - 1));
    }
    plan.examples.push_back(numbering.number(node));
  }
  if (needs_all(numbering.size(), graph)) {
    plan.examples.assign(nodes.begin(), nodes.end());
  } else {
    plan.outputs = numbering.nodes();
  }
  bool in_order = static_cast<int64_t>(nodes.size()) == (plan.outputs.empty() ? graph.nodes : numbering.size());
  for (size_t i = 0; in_order && i < nodes.size(); ++i) in_order = plan.examples[i] == static_cast<int32_t>(i);
  if (in_order) plan.examples.clear();
}

// All rows of the nodes numbered so far. Their neighbours are numbered as well; the numbered nodes are the block's sources,
// unless nearly all nodes are needed: then all nodes are.
std::shared_ptr<const MessageBlock> complete_block(const Graph& graph, const std::shared_ptr<const MessageBlock>& whole,
                                                   NodeNumbering& numbering) {
  const std::vector<int64_t> targets = numbering.nodes();
  std::vector<int64_t> offsets = {0};
  std::vector<int32_t> neighbours;
  for (const int64_t node : targets) {
    const auto row = graph.in_neighbours(node);
    neighbours.insert(neighbours.end(), row.begin(), row.end());
    offsets.push_back(static_cast<int64_t>(neighbours.size()));
  }
  std::vector<int32_t> numbered = neighbours;
  numbering.number_all(numbered);
  if (!needs_all(numbering.size(), graph))
    return make_block(graph, numbering.nodes(), std::move(offsets), std::move(numbered), {});
  auto block = std::make_shared<MessageBlock>(*make_block(graph, targets, std::move(offsets), std::move(neighbours), {}));
  block->sources = graph.nodes;
  block->source_degree = whole->source_degree;
  block->own = std::vector<int32_t>(targets.begin(), targets.end());
  return block;
}

}  // namespace

std::shared_ptr<const MessageBlock> whole_block(const Graph& graph) {
  return square_block(graph.offsets, graph.neighbours, graph.symmetric);
}

std::shared_ptr<const MessageBlock> thinned_block(const Graph& graph, double drop_share, uint64_t key) {
  constexpr int64_t edges_worth_a_thread = 1 << 18;
  const int64_t useful = std::min<int64_t>(graph.edges() / edges_worth_a_thread, thread_limit());
  std::vector<ThinnedRows> parts(static_cast<size_t>(std::max<int64_t>(useful, 1)));
  const auto count = static_cast<int64_t>(parts.size());
  for (int64_t i = 0; i < count; ++i) {
    auto& part = parts[static_cast<size_t>(i)];
    // Parts of about as many edges each: cut where a share of the edges is reached.
    const auto cut = [&](int64_t k) {
      return std::lower_bound(graph.offsets.begin(), graph.offsets.end() - 1, graph.edges() / count * k) - graph.offsets.begin();
    };
    part.first = i == 0 ? 0 : cut(i);
    part.last = i + 1 == count ? graph.nodes : cut(i + 1);
  }
  {
    std::vector<std::jthread> threads;
    for (size_t i = 1; i < parts.size(); ++i) threads.emplace_back([&, i] { thin(graph, drop_share, key, parts[i]); });
    thin(graph, drop_share, key, parts[0]);
  }
  std::vector<int64_t> offsets = {0};
  offsets.reserve(static_cast<size_t>(graph.nodes) + 1);
  size_t left = 0;
  for (const auto& part : parts) left += part.neighbours.size();
  std::vector<int32_t> neighbours;
  neighbours.reserve(left);
  for (const auto& part : parts) {
    neighbours.insert(neighbours.end(), part.neighbours.begin(), part.neighbours.end());
    for (const int64_t length : part.lengths) offsets.push_back(offsets.back() + length);
  }
  return square_block(std::move(offsets), std::move(neighbours), graph.symmetric);
}

MessagePlan complete_plan(const Graph& graph, const std::shared_ptr<const MessageBlock>& whole, std::span<const int64_t> nodes,
                          int64_t layers) {
  if (nodes.empty()) throw UserError("no node was asked for; name at least one");
  MessagePlan plan;
  NodeNumbering numbering;
  numbering.start(graph.nodes);
  set_outputs(plan, graph, nodes, numbering);
  plan.blocks.resize(static_cast<size_t>(layers));
  bool all = needs_all(numbering.size(), graph);
  for (auto block = plan.blocks.rbegin(); block != plan.blocks.rend(); ++block) {
    *block = all ? whole : complete_block(graph, whole, numbering);
    all = needs_all(numbering.size(), graph);
  }
  if (!all) plan.inputs = numbering.nodes();
  return plan;
}

}  // namespace l0gm
