#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/file_stamp.h"
#include "base/shared_array.h"

namespace l0gm {

// Rows of numbers of which most are zero.
struct SparseRows {
  SharedArray<int64_t> offsets;  // [rows + 1]
  SharedArray<int32_t> columns;  // ascending within a row, no duplicates
  SharedArray<float> values;
};

// A graph with attributes, classes and a split: the result of every source. Immutable once made.
// Row v of the adjacency lists the in-neighbours of v (nodes u with an edge u -> v), ascending, each once, never v itself.
struct Graph {
  std::string name;  // for messages and the run's record
  int64_t nodes = 0;
  SharedArray<int64_t> offsets;     // [nodes + 1]
  SharedArray<int32_t> neighbours;  // [edges]
  bool symmetric = false;           // every edge has its opposite

  int64_t attributes = 0;                    // per node; stored in one of two ways
  SharedArray<float> dense;                  // [nodes, attributes], or empty
  SparseRows sparse;                         // where `dense` is empty
  std::vector<std::string> attribute_names;  // empty: they are called 0, 1, …

  SharedArray<int32_t> labels;  // [nodes]; -1: unknown
  std::vector<std::string> classes;
  std::vector<int64_t> train, valid, test;  // nodes, ascending
  std::vector<std::string> node_names;      // empty: nodes are called 0, 1, …

  std::vector<FileStamp> files;      // what it was read from
  std::vector<std::string> planted;  // made graphs: the attributes that carry signal; else empty

  int64_t edges() const { return neighbours.size(); }  // directed
  int64_t degree(int64_t node) const { return offsets[node + 1] - offsets[node]; }
  std::span<const int32_t> in_neighbours(int64_t node) const {
    return neighbours.span().subspan(static_cast<size_t>(offsets[node]), static_cast<size_t>(degree(node)));
  }
  bool is_sparse() const { return dense.empty() && attributes > 0; }
  std::string attribute_name(int64_t attribute) const;
  std::string node_name(int64_t node) const;
};

// Edges as pairs (from, to) into rows as above: loops dropped, duplicates merged, with `undirected` both directions of each.
// Needs about 12 bytes an edge beside the pairs, which are consumed. Every number must be below `nodes`.
struct EdgeList {
  std::vector<int32_t> from, to;
};
void build_adjacency(Graph& graph, EdgeList edges, bool undirected);

// Whether every edge has its opposite. Rows must be sorted.
bool is_symmetric(const Graph& graph);

// Sets all labels to unknown (-1) and removes the classes.
void leave_unlabelled(Graph& graph);

}  // namespace l0gm
