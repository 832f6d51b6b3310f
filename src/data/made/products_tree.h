#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "data/made/products_nodes.h"

namespace l0gm {

// Nodes ordered by kind (apparent class and label), as a tree of ranges:
//   all  >  same apparent class  >  same kind  >  community, about 50 to 200 random nodes of a kind
// Each node is in one range of every level.
struct ProductsTree {
  static constexpr size_t levels = 4;
  std::vector<int32_t> order;      // place -> node
  std::vector<int32_t> community;  // node -> number of its community
  // [level]: the range that a community is in; where each range begins, followed by the end of the last.
  std::array<std::vector<int32_t>, levels> range_of_community;
  std::array<std::vector<int64_t>, levels> begins;

  int64_t communities() const { return static_cast<int64_t>(begins[levels - 1].size()) - 1; }
};
ProductsTree make_products_tree(const ProductsNodes& nodes, uint64_t seed);

}  // namespace l0gm
