#include "data/made/varied_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/random.h"
#include "data/splits.h"

namespace l0gm {
namespace {

constexpr auto world_names =
    std::to_array<std::string_view>({"communities", "opposites", "own", "difference", "distant", "mines"});
constexpr uint64_t draw_shape = 1, draw_label = 2, draw_edges = 3, draw_values = 4, draw_flips = 5;

struct Draw {
  GraphWorld world = GraphWorld::communities;
  int64_t nodes = 0, attributes = 0, informative = 0;
  int32_t classes = 2;
  double degree = 0, hubs = 0;  // mean degree; exponent of the nodes' weights, 0: all alike
  double tie = 0;               // share of the edges that follow the classes
  double signal = 0;            // of an informative attribute, in deviations
  double flips = 0;             // share of the labels that are drawn anew
  double train = 0;
};

double between(RandomStream& random, double low, double high) { return low + (high - low) * random.uniform(); }
double between_logs(RandomStream& random, double low, double high) {
  return std::exp(between(random, std::log(low), std::log(high)));
}

Draw draw_of(uint64_t seed) {
  RandomStream random(seed, draw_shape);
  Draw draw;
  draw.world = static_cast<GraphWorld>(random.below(world_names.size()));
  draw.nodes = static_cast<int64_t>(between_logs(random, 2000, 20000));
  draw.classes = draw.world == GraphWorld::mines ? 2 : 2 + static_cast<int32_t>(random.below(9));
  draw.degree = between_logs(random, 4, 40);
  draw.hubs = random.uniform() < 0.5 ? between(random, 0.3, 0.8) : 0;
  draw.tie = between(random, 0.5, 0.9);
  draw.attributes = static_cast<int64_t>(between_logs(random, 16, 256));
  draw.informative =
      std::max<int64_t>(draw.classes, static_cast<int64_t>(static_cast<double>(draw.attributes) * between(random, 0.2, 0.8)));
  draw.attributes = std::max(draw.attributes, draw.informative);
  draw.signal = between(random, 0.2, 0.6);
  draw.flips = between(random, 0, 0.15);
  draw.train = between(random, 0.1, 0.6);
  return draw;
}

// Nodes of each class, drawn in proportion to their weights.
class Population {
 public:
  Population(const std::vector<int32_t>& labels, int32_t classes, double hubs, uint64_t seed)
      : members_(static_cast<size_t>(classes)), ends_(static_cast<size_t>(classes)) {
    RandomStream random(seed, draw_edges);
    for (size_t i = 0; i < labels.size(); ++i) {
      const auto label = static_cast<size_t>(labels[i]);
      members_[label].push_back(static_cast<int32_t>(i));
      const double before = ends_[label].empty() ? 0 : ends_[label].back();
      ends_[label].push_back(before + std::pow(random.uniform(), -hubs));
    }
  }
  int32_t draw(int32_t label, RandomStream& random) const {
    const auto& ends = ends_[static_cast<size_t>(label)];
    const auto place = std::upper_bound(ends.begin(), ends.end(), random.uniform() * ends.back());
    return members_[static_cast<size_t>(label)][static_cast<size_t>(std::min(place - ends.begin(), std::ssize(ends) - 1))];
  }

 private:
  std::vector<std::vector<int32_t>> members_;
  std::vector<std::vector<double>> ends_;
};

EdgeList draw_edges_of(const Draw& draw, const std::vector<int32_t>& labels, uint64_t seed) {
  const Population population(labels, draw.classes, draw.hubs, seed);
  EdgeList edges;
  for (int64_t node = 0; node < draw.nodes; ++node) {
    RandomStream random(mix_key(seed, draw_edges, static_cast<uint64_t>(node)));
    const double wanted = draw.degree / 2;
    const auto picks = static_cast<int>(wanted) + (random.uniform() < wanted - std::floor(wanted) ? 1 : 0);
    for (int i = 0; i < picks; ++i) {
      const int32_t own = labels[static_cast<size_t>(node)];
      int32_t other = static_cast<int32_t>(random.below(static_cast<uint64_t>(draw.classes)));
      if (random.uniform() < draw.tie) {
        if (draw.world == GraphWorld::communities) other = own;
        if (draw.world == GraphWorld::opposites) other = (own + 1) % draw.classes;
      }
      edges.from.push_back(static_cast<int32_t>(node));
      edges.to.push_back(population.draw(other, random));
    }
  }
  return edges;
}

// Squares of a board that touch, corners included.
EdgeList board_edges(int64_t side) {
  EdgeList edges;
  for (int64_t y = 0; y < side; ++y) {
    for (int64_t x = 0; x < side; ++x) {
      for (const auto& [dx, dy] : {std::pair(1, 0), std::pair(0, 1), std::pair(1, 1), std::pair(-1, 1)}) {
        if (x + dx < 0 || x + dx >= side || y + dy >= side) continue;
        edges.from.push_back(static_cast<int32_t>(y * side + x));
        edges.to.push_back(static_cast<int32_t>((y + dy) * side + x + dx));
      }
    }
  }
  return edges;
}

// One attribute for each number of mines around the square and one for squares that do not know it.
void describe_board(Graph& graph, const std::vector<int32_t>& mines, double hidden, uint64_t seed) {
  constexpr int64_t most_around = 8;
  graph.attributes = most_around + 2;
  std::vector<float> dense(static_cast<size_t>(graph.nodes * graph.attributes), 0);
  for (int64_t node = 0; node < graph.nodes; ++node) {
    int64_t around = 0;
    for (const int32_t other : graph.in_neighbours(node)) around += mines[static_cast<size_t>(other)];
    const bool unknown = RandomStream(mix_key(seed, draw_values, static_cast<uint64_t>(node))).uniform() < hidden;
    dense[static_cast<size_t>(node * graph.attributes + (unknown ? most_around + 1 : around))] = 1;
  }
  graph.dense = std::move(dense);
}

// Attributes that lean to one side or the other by the node's class, and others that are noise.
std::vector<float> class_attributes(const Draw& draw, const std::vector<int32_t>& labels, uint64_t seed) {
  std::vector<float> leaning(static_cast<size_t>(draw.classes * draw.informative));
  RandomStream random(seed, draw_values);
  for (float& lean : leaning) lean = static_cast<float>(draw.signal * random.normal());
  std::vector<float> dense(static_cast<size_t>(draw.nodes * draw.attributes));
  for (int64_t node = 0; node < draw.nodes; ++node) {
    RandomStream values(mix_key(seed, draw_values, static_cast<uint64_t>(node)));
    for (int64_t i = 0; i < draw.attributes; ++i) {
      const float lean =
          i < draw.informative ? leaning[static_cast<size_t>(labels[static_cast<size_t>(node)] * draw.informative + i)] : 0;
      dense[static_cast<size_t>(node * draw.attributes + i)] = lean + static_cast<float>(values.normal());
    }
  }
  return dense;
}

using Values = std::vector<double>;

Values mean_of_neighbours(const Graph& graph, const Values& values) {
  Values result(values.size(), 0);
  for (int64_t node = 0; node < graph.nodes; ++node) {
    for (const int32_t other : graph.in_neighbours(node)) result[static_cast<size_t>(node)] += values[static_cast<size_t>(other)];
    result[static_cast<size_t>(node)] /= static_cast<double>(std::max<int64_t>(graph.degree(node), 1));
  }
  return result;
}

void standardise(Values& values) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  for (double& value : values) value = (value - mean) / std::max(std::sqrt(squares / count), 1e-12);
}

// Classes of equal size along a score that attributes give to nodes: what the node has beyond its neighbours, or what lies two
// steps away.
std::vector<int32_t> labels_by_score(const Draw& draw, const Graph& graph, uint64_t seed) {
  Values weights(static_cast<size_t>(draw.informative)), own(static_cast<size_t>(draw.nodes), 0);
  RandomStream random(seed, draw_label);
  for (double& weight : weights) weight = random.normal();
  for (size_t node = 0; node < own.size(); ++node) {
    const float* const row = graph.dense.data() + node * static_cast<size_t>(draw.attributes);
    own[node] = std::inner_product(weights.begin(), weights.end(), row, 0.0);
  }
  standardise(own);
  Values near = mean_of_neighbours(graph, own), score = own;
  if (draw.world == GraphWorld::distant) {
    score = mean_of_neighbours(graph, near);
  } else {
    standardise(near);
    for (size_t i = 0; i < score.size(); ++i) score[i] -= near[i];
  }
  std::vector<int64_t> order(score.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](int64_t a, int64_t b) { return score[static_cast<size_t>(a)] < score[static_cast<size_t>(b)]; });
  std::vector<int32_t> labels(score.size());
  for (size_t rank = 0; rank < order.size(); ++rank)
    labels[static_cast<size_t>(order[rank])] = static_cast<int32_t>(rank * static_cast<size_t>(draw.classes) / order.size());
  return labels;
}

void flip_some(std::vector<int32_t>& labels, const Draw& draw, uint64_t seed) {
  RandomStream random(seed, draw_flips);
  for (int32_t& label : labels) {
    if (random.uniform() < draw.flips) label = static_cast<int32_t>(random.below(static_cast<uint64_t>(draw.classes)));
  }
}

std::vector<int32_t> make_board(Graph& graph, const Draw& draw, uint64_t seed) {
  constexpr double mines = 0.2, hidden = 0.5;
  const auto side = static_cast<int64_t>(std::sqrt(static_cast<double>(draw.nodes)));
  graph.nodes = side * side;
  std::vector<int32_t> labels(static_cast<size_t>(graph.nodes));
  RandomStream random(seed, draw_label);
  for (int32_t& label : labels) label = random.uniform() < mines ? 1 : 0;
  build_adjacency(graph, board_edges(side), true);
  describe_board(graph, labels, hidden, seed);
  return labels;
}

std::vector<int32_t> make_classes(Graph& graph, const Draw& draw, uint64_t seed) {
  graph.nodes = draw.nodes;
  graph.attributes = draw.attributes;
  std::vector<int32_t> labels(static_cast<size_t>(draw.nodes));
  RandomStream random(seed, draw_label);
  for (int32_t& label : labels) label = static_cast<int32_t>(random.below(static_cast<uint64_t>(draw.classes)));
  build_adjacency(graph, draw_edges_of(draw, labels, seed), true);
  const bool by_score = draw.world == GraphWorld::difference || draw.world == GraphWorld::distant;
  graph.dense = class_attributes(draw, labels, seed);
  if (by_score) labels = labels_by_score(draw, graph, seed);
  flip_some(labels, draw, seed);
  return labels;
}

}  // namespace

std::string_view name_of(GraphWorld world) { return world_names[static_cast<size_t>(world)]; }

Graph make_varied_graph(uint64_t seed) {
  const Draw draw = draw_of(seed);
  Graph graph;
  graph.name = fmt::format("varied-graph/{}/{}", seed, name_of(draw.world));
  std::vector<int32_t> labels = draw.world == GraphWorld::mines ? make_board(graph, draw, seed) : make_classes(graph, draw, seed);
  for (int32_t label = 0; label < draw.classes; ++label) graph.classes.push_back(fmt::format("c{}", label));
  const double valid = std::min((1 - draw.train) / 2, 0.25);
  const auto parts = stratified(labels, std::array{valid, 1 - draw.train - valid}, seed);
  graph.train = parts[0];
  graph.valid = parts[1];
  graph.test = parts[2];
  graph.labels = std::move(labels);
  return graph;
}

}  // namespace l0gm
