#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/graph/graph.h"

// The nodes of `products-like` with labels and split, before they have edges and attributes.
namespace l0gm {

constexpr int64_t products_nodes = 2'449'029, products_directed_edges = 123'718'152;
constexpr int32_t products_classes = 47;
// Nodes are in the order of sales rank: training, validation, test.
constexpr int64_t products_train_end = 196'615, products_valid_end = 235'938;
// Share of the nodes before the test nodes.
constexpr double products_early = static_cast<double>(products_valid_end) / products_nodes;

struct ProductsNodes {
  std::vector<int32_t> labels;
  std::vector<int32_t> apparent;  // the class that a node's attributes and part of its neighbours suggest: its label, or another
  int64_t size() const { return static_cast<int64_t>(labels.size()); }
  double rank(int64_t node) const { return (static_cast<double>(node) + 0.5) / static_cast<double>(size()); }  // 0 … 1
};

// `scale` times as many nodes as ogbn-products has; node i has the label and part of its node i / scale. With `real` "" the
// labels are drawn from the class counts of each part. Fills nodes, labels, classes, split and files of the graph.
ProductsNodes make_products_nodes(double scale, uint64_t seed, const std::string& real, Graph& graph);

}  // namespace l0gm
