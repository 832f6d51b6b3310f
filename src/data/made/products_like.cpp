#include "data/made/products_like.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/progress.h"
#include "base/random.h"
#include "base/text.h"
#include "base/threads.h"
#include "data/made/products_edges.h"

namespace l0gm {
namespace {

constexpr int64_t attribute_count = 100;
constexpr uint64_t draw_centres = 20, draw_communities = 21, draw_attributes = 22;
// Strength of class and community in a node's attributes, relative to noise of deviation 1.
constexpr float centre_deviation = 0.285F, community_deviation = 0.12F;

// Rows of standard normal numbers (Box-Muller, two numbers out of two), element (id, j) always the same.
void fill_normal(uint64_t key, const int64_t* ids, int64_t rows, int64_t width, float* out) {
  fill_uniform(key, ids, rows, width, out);
  for (int64_t i = 0; i < rows * width; i += 2) {
    const auto [first, second] = box_muller(out[i], out[i + 1]);
    out[i] = first;
    out[i + 1] = second;
  }
}

std::vector<float> normal_rows(uint64_t key, int64_t rows) {
  std::vector<int64_t> ids(static_cast<size_t>(rows));
  std::iota(ids.begin(), ids.end(), int64_t{0});
  std::vector<float> values(static_cast<size_t>(rows * attribute_count));
  fill_normal(key, ids.data(), rows, attribute_count, values.data());
  return values;
}

// Attributes depend on the apparent class, which is less often the label for late nodes (products_nodes.cpp).
std::vector<float> make_attributes(const ProductsNodes& nodes, const ProductsTree& tree, uint64_t seed) {
  const std::vector<float> centres = normal_rows(draw_centres, products_classes);  // the same for every seed
  const std::vector<float> communities = normal_rows(mix_key(seed, draw_communities), tree.communities());
  std::vector<float> values(static_cast<size_t>(nodes.size() * attribute_count));
  parallel_for(nodes.size(), 1 << 10, [&](int64_t begin, int64_t end) {
    std::vector<int64_t> ids(static_cast<size_t>(end - begin));
    std::iota(ids.begin(), ids.end(), begin);
    float* out = values.data() + begin * attribute_count;
    fill_normal(mix_key(seed, draw_attributes), ids.data(), end - begin, attribute_count, out);
    for (int64_t node = begin; node < end; ++node, out += attribute_count) {
      const auto i = static_cast<size_t>(node);
      const float* centre = centres.data() + nodes.apparent[i] * attribute_count;
      const float* offset = communities.data() + tree.community[i] * attribute_count;
      for (int64_t j = 0; j < attribute_count; ++j) out[j] += centre_deviation * centre[j] + community_deviation * offset[j];
    }
  });
  return values;
}

}  // namespace

Graph make_products_like(double scale, uint64_t seed, const std::string& real) {
  Graph graph;
  graph.name = fmt::format("products-like/{}/{}", shortest(scale), seed);
  Progress progress("making the graph", 4);
  progress.update(0, "nodes");
  const ProductsNodes nodes = make_products_nodes(scale, seed, real, graph);
  progress.update(1, "communities");
  const ProductsTree tree = make_products_tree(nodes, seed);
  progress.update(2, "edges");
  const double share = static_cast<double>(graph.nodes) / static_cast<double>(products_nodes);
  make_products_edges(nodes, tree, std::llround(share * static_cast<double>(products_directed_edges)), seed, graph);
  progress.update(3, "attributes");
  graph.attributes = attribute_count;
  graph.dense = make_attributes(nodes, tree, seed);
  return graph;
}

}  // namespace l0gm
