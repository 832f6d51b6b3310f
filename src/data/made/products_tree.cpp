#include "data/made/products_tree.h"

#include <algorithm>
#include <utility>

#include "base/random.h"
#include "base/threads.h"

namespace l0gm {
namespace {

constexpr uint64_t draw_order = 10, draw_community = 11;
constexpr int64_t smallest_community = 50, largest_community = 200;

// Pairs (key, node) sorted by kind (apparent class, then label), in random order within a kind; key >> 48 is the kind.
std::vector<std::pair<uint64_t, int32_t>> sorted_by_kind(const ProductsNodes& nodes, uint64_t seed) {
  std::vector<std::pair<uint64_t, int32_t>> keyed(static_cast<size_t>(nodes.size()));
  parallel_for(nodes.size(), 1 << 15, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      const auto kind = static_cast<uint64_t>(nodes.apparent[i] * products_classes + nodes.labels[i]);
      keyed[i] = {kind << 48 | mix_key(seed, draw_order, i) >> 16, static_cast<int32_t>(i)};
    }
  });
  std::sort(keyed.begin(), keyed.end());
  return keyed;
}

// The size of a kind's next community. A remainder smaller than a community joins the last one.
int64_t next_size(int64_t left, RandomStream& random) {
  const auto drawn = smallest_community + static_cast<int64_t>(random.below(largest_community - smallest_community + 1));
  return left - drawn < smallest_community ? left : drawn;
}

}  // namespace

ProductsTree make_products_tree(const ProductsNodes& nodes, uint64_t seed) {
  const auto keyed = sorted_by_kind(nodes, seed);
  const int64_t count = nodes.size();
  ProductsTree tree;
  tree.community.resize(keyed.size());
  for (const auto& [key, node] : keyed) tree.order.push_back(node);
  const auto kind_at = [&](int64_t place) { return keyed[static_cast<size_t>(place)].first >> 48; };

  RandomStream random(seed, draw_community);
  int64_t kind_end = 0;
  for (int64_t place = 0, size = 0; place < count; place += size) {
    std::array<bool, ProductsTree::levels> opens{};
    opens[0] = place == 0;
    opens[1] = place == 0 || kind_at(place) / products_classes != kind_at(place - 1) / products_classes;
    opens[2] = place == kind_end;
    opens[3] = true;
    if (opens[2]) {
      while (kind_end < count && kind_at(kind_end) == kind_at(place)) ++kind_end;
    }
    for (size_t level = 0; level < ProductsTree::levels; ++level) {
      if (opens[level]) tree.begins[level].push_back(place);
      tree.range_of_community[level].push_back(static_cast<int32_t>(tree.begins[level].size()) - 1);
    }
    size = next_size(kind_end - place, random);
    for (int64_t i = place; i < place + size; ++i) {
      tree.community[static_cast<size_t>(tree.order[static_cast<size_t>(i)])] = tree.range_of_community[3].back();
    }
  }
  for (auto& begins : tree.begins) begins.push_back(count);
  return tree;
}

}  // namespace l0gm
