#include "data/made/planted_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "base/text.h"
#include "base/threads.h"
#include "data/splits.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

constexpr int64_t attribute_count = 32, fewest_nodes = 100, most_nodes = 100'000'000;
constexpr int32_t class_count = 4;
constexpr uint64_t draw_label = 1, draw_edges = 2, draw_values = 3, draw_places = 4;
constexpr int picks = 6;  // edges that each node draws: the mean degree is twice that
constexpr double same_class = 0.75, decoy_correlation = 0.5;

// Slots before they are assigned to columns: 4 strong attributes, 4 weak ones, a decoy of each strong one, noise.
// A strong attribute has much of the signal in the node itself, plus noise that is independent for each node. A weak one has a
// third of it, plus noise that cancels over the neighbours: alone it is less informative than a decoy, aggregated over neighbours
// as informative as a strong one. So a filter that looks at single nodes prefers decoys to weak attributes, while a model that
// passes messages needs all eight informative attributes and no decoy.
constexpr int64_t strong = 4, informative = 8, decoys_end = 12;
constexpr double strong_signal = 0.15, weak_signal = 0.05;

// An attribute separates two classes (+1) from the other two (-1).
double signal_of(int64_t slot, int32_t label) {
  constexpr std::array<std::array<double, class_count>, 3> patterns = {{{1, 1, -1, -1}, {1, -1, 1, -1}, {1, -1, -1, 1}}};
  return patterns[static_cast<size_t>(slot % 3)][static_cast<size_t>(label)];
}

EdgeList draw_edge_list(const std::vector<int32_t>& labels, uint64_t seed) {
  std::array<std::vector<int32_t>, class_count> members;
  for (size_t i = 0; i < labels.size(); ++i) members[static_cast<size_t>(labels[i])].push_back(static_cast<int32_t>(i));
  EdgeList edges;
  for (size_t node = 0; node < labels.size(); ++node) {
    RandomStream random(mix_key(seed, draw_edges, node));
    for (int i = 0; i < picks; ++i) {
      const std::vector<int32_t>& own = members[static_cast<size_t>(labels[node])];
      const bool inside = random.uniform() < same_class;
      edges.from.push_back(static_cast<int32_t>(node));
      edges.to.push_back(inside ? own[random.below(own.size())] : static_cast<int32_t>(random.below(labels.size())));
    }
  }
  return edges;
}

using Values = std::vector<double>;  // one attribute, a value per node

// The normalised sum over a node and its neighbours, as in a graph convolution.
Values aggregate(const Graph& graph, const Values& values) {
  Values scale(values.size()), result(values.size());
  for (size_t i = 0; i < scale.size(); ++i)
    scale[i] = 1 / std::sqrt(static_cast<double>(graph.degree(static_cast<int64_t>(i)) + 1));
  for (size_t i = 0; i < result.size(); ++i) {
    double sum = scale[i] * values[i];
    for (const int32_t other : graph.in_neighbours(static_cast<int64_t>(i)))
      sum += scale[static_cast<size_t>(other)] * values[static_cast<size_t>(other)];
    result[i] = scale[i] * sum;
  }
  return result;
}

// Removes from the noise most of what two aggregations would leave of it.
void make_cancelling(const Graph& graph, Values& noise) {
  constexpr int rounds = 6;
  constexpr double step = 1.5;
  for (int round = 0; round < rounds; ++round) {
    const Values left = aggregate(graph, aggregate(graph, noise));
    for (size_t i = 0; i < noise.size(); ++i) noise[i] -= step * left[i];
  }
}

void standardise(Values& values) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  for (double& value : values) value = (value - mean) / std::sqrt(squares / count);
}

// `original`: the attribute that a decoy is correlated with; unused for other slots.
Values make_slot(const Graph& graph, int64_t slot, uint64_t seed, const Values& original) {
  Values values(static_cast<size_t>(graph.nodes));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = RandomStream(mix_key(seed, draw_values, static_cast<uint64_t>(slot), i)).normal();
  if (slot >= informative && slot < decoys_end) {
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = decoy_correlation * original[i] + std::sqrt(1 - decoy_correlation * decoy_correlation) * values[i];
    }
  }
  if (slot >= informative) return values;
  if (slot >= strong) make_cancelling(graph, values);
  standardise(values);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] += (slot < strong ? strong_signal : weak_signal) * signal_of(slot, graph.labels[static_cast<int64_t>(i)]);
  }
  standardise(values);
  return values;
}

void add_attributes(Graph& graph, uint64_t seed) {
  const std::vector<int64_t> places = RandomStream(seed, draw_places).permutation(attribute_count);
  std::vector<Values> slots(attribute_count);
  std::vector<float> dense(static_cast<size_t>(graph.nodes * attribute_count));
  for (const auto& [first, last] :
       {std::pair(int64_t{0}, informative), std::pair(informative, attribute_count)}) {  // decoys are made from strong ones
    parallel_for(last - first, 1, [&, begin = first](int64_t from, int64_t to) {
      for (int64_t slot = begin + from; slot < begin + to; ++slot) {
        auto& values = slots[static_cast<size_t>(slot)];
        values = make_slot(graph, slot, seed,
                           slot < informative ? Values() : slots[static_cast<size_t>((slot - informative) % strong)]);
        float* out = dense.data() + places[static_cast<size_t>(slot)];
        for (size_t i = 0; i < values.size(); ++i) out[i * attribute_count] = static_cast<float>(values[i]);
        if (slot >= strong) values = Values();
      }
    });
  }
  graph.attributes = attribute_count;
  graph.dense = std::move(dense);
  for (int64_t i = 0; i < attribute_count; ++i) graph.attribute_names.push_back(fmt::format("a{}", i));
  std::vector<int64_t> planted(places.begin(), places.begin() + informative);
  std::sort(planted.begin(), planted.end());
  for (const int64_t place : planted) graph.planted.push_back(graph.attribute_names[static_cast<size_t>(place)]);
}

}  // namespace

Graph make_planted_graph(int64_t nodes, uint64_t seed) {
  if (nodes < fewest_nodes || nodes > most_nodes) {
    throw UserError(fmt::format("planted-graph cannot have {} nodes; from {} to {} are possible.", with_thousands(nodes),
                                with_thousands(fewest_nodes), with_thousands(most_nodes)));
  }
  Graph graph;
  graph.name = fmt::format("planted-graph/{}", seed);
  graph.nodes = nodes;
  std::vector<int32_t> labels(static_cast<size_t>(nodes));
  RandomStream random(seed, draw_label);
  for (int32_t& label : labels) label = static_cast<int32_t>(random.below(class_count));
  build_adjacency(graph, draw_edge_list(labels, seed), true);
  for (int32_t label = 0; label < class_count; ++label) graph.classes.push_back(fmt::format("c{}", label));

  const auto parts = stratified(labels, std::array{0.2, 0.2}, seed);
  graph.train = parts[0];
  graph.valid = parts[1];
  graph.test = parts[2];
  graph.labels = std::move(labels);
  add_attributes(graph, seed);
  return graph;
}

}  // namespace l0gm
