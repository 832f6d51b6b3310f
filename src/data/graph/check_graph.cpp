#include "data/graph/check_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <string_view>
#include <unordered_set>

#include "base/text.h"
#include "base/threads.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

constexpr int64_t none = std::numeric_limits<int64_t>::max();

// The first of 0 … count for which `bad` holds, or `none`; several threads search.
template <class Bad>
int64_t first_bad(int64_t count, const Bad& bad) {
  constexpr int64_t at_once = 1 << 16;
  std::atomic<int64_t> first = none;
  parallel_for(count, at_once, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end && i < first.load(std::memory_order_relaxed); ++i) {
      if (!bad(i)) continue;
      int64_t known = first.load();
      while (i < known && !first.compare_exchange_weak(known, i)) {
      }
      return;
    }
  });
  return first;
}

[[noreturn]] void fail(const std::string& source, const std::string& what) {
  throw UserError(fmt::format("{}: {}", source, what));
}

void check_rows(const SharedArray<int64_t>& offsets, int64_t rows, int64_t entries, const std::string& source,
                std::string_view what) {
  if (offsets.size() != rows + 1 || offsets[0] != 0 || offsets[rows] != entries) {
    fail(source,
         fmt::format(
             "the rows of its {} do not fit together: {} rows and {} entries were wanted. The file is damaged; write it anew.",
             what, rows, entries));
  }
  const int64_t bad = first_bad(rows, [&](int64_t row) { return offsets[row] > offsets[row + 1]; });
  if (bad != none)
    fail(source, fmt::format("row {} of its {} ends before it begins. The file is damaged; write it anew.", bad, what));
}

// Whether the numbers of a row do not ascend or are outside 0 … limit - 1. The row's offsets have been checked.
bool row_is_bad(std::span<const int32_t> row, int64_t limit) {
  int64_t last = -1;
  for (const int32_t number : row) {
    if (number <= last || number >= limit) return true;
    last = number;
  }
  return false;
}

void check_structure(const Graph& graph, const std::string& source) {
  check_rows(graph.offsets, graph.nodes, graph.neighbours.size(), source, "adjacency");
  const int64_t bad = first_bad(graph.nodes, [&](int64_t node) {
    const std::span<const int32_t> row = graph.in_neighbours(node);
    return row_is_bad(row, graph.nodes) || std::binary_search(row.begin(), row.end(), static_cast<int32_t>(node));
  });
  if (bad != none) {
    fail(source,
         fmt::format(
             "the neighbours of node {} are not ascending numbers of other nodes below {}. The file is damaged; write it anew.",
             bad, graph.nodes));
  }
  if (graph.symmetric && !is_symmetric(graph))
    fail(source, "it is marked as symmetric, but not every edge has both directions. The file is damaged; write it anew.");
}

[[noreturn]] void fail_value(const Graph& graph, const std::string& source, int64_t node, int64_t attribute, float value) {
  fail(source, fmt::format("attribute {} of node {} is {}, wanted a finite number. Fill or remove such values.",
                           graph.attribute_name(attribute), graph.node_name(node), value));
}

void check_dense(const Graph& graph, const std::string& source) {
  if (graph.dense.size() / graph.attributes != graph.nodes || graph.dense.size() % graph.attributes != 0) {
    fail(source, fmt::format("it has {} attribute values; {} nodes with {} attributes each need {}.", graph.dense.size(),
                             graph.nodes, graph.attributes, graph.nodes * graph.attributes));
  }
  const int64_t bad = first_bad(graph.dense.size(), [&](int64_t i) { return !std::isfinite(graph.dense[i]); });
  if (bad != none) fail_value(graph, source, bad / graph.attributes, bad % graph.attributes, graph.dense[bad]);
}

void check_sparse(const Graph& graph, const std::string& source) {
  const SparseRows& sparse = graph.sparse;
  check_rows(sparse.offsets, graph.nodes, sparse.columns.size(), source, "attributes");
  if (sparse.values.size() != sparse.columns.size()) {
    fail(source, fmt::format("its attributes have {} values in {} places. The file is damaged; write it anew.",
                             sparse.values.size(), sparse.columns.size()));
  }
  const int64_t bad = first_bad(graph.nodes, [&](int64_t node) {
    const auto begin = static_cast<size_t>(sparse.offsets[node]), end = static_cast<size_t>(sparse.offsets[node + 1]);
    return row_is_bad(sparse.columns.span().subspan(begin, end - begin), graph.attributes);
  });
  if (bad != none) {
    fail(source, fmt::format("the attributes of node {} are not ascending numbers below {}. The file is damaged; write it anew.",
                             bad, graph.attributes));
  }
  const int64_t not_finite = first_bad(sparse.values.size(), [&](int64_t i) { return !std::isfinite(sparse.values[i]); });
  if (not_finite == none) return;
  const auto row = std::upper_bound(sparse.offsets.begin(), sparse.offsets.end(), not_finite) - sparse.offsets.begin() - 1;
  fail_value(graph, source, row, sparse.columns[not_finite], sparse.values[not_finite]);
}

void check_attributes(const Graph& graph, const std::string& source) {
  if (graph.attributes < 1) fail(source, "its nodes have no attributes; at least one is needed.");
  if (!graph.attribute_names.empty() && static_cast<int64_t>(graph.attribute_names.size()) != graph.attributes) {
    fail(source, fmt::format("it has {} names for {} attributes.", graph.attribute_names.size(), graph.attributes));
  }
  if (graph.is_sparse()) {
    check_sparse(graph, source);
  } else {
    check_dense(graph, source);
  }
}

void check_distinct(const std::vector<std::string>& names, std::string_view what, const std::string& source) {
  std::unordered_set<std::string_view> seen;
  for (const std::string& name : names) {
    if (!seen.insert(name).second) fail(source, fmt::format("two {} are called '{}'. Give each a name of its own.", what, name));
  }
}

void check_labels(const Graph& graph, const std::string& source) {
  check_distinct(graph.classes, "classes", source);
  if (std::find(graph.classes.begin(), graph.classes.end(), "") != graph.classes.end())
    fail(source, "one of its classes has no name.");
  if (graph.labels.size() != graph.nodes) {
    fail(source, fmt::format("it has {} labels for {} nodes; give one for each node (-1 or nothing where it is not known).",
                             graph.labels.size(), graph.nodes));
  }
  const auto classes = static_cast<int64_t>(graph.classes.size());
  const int64_t bad =
      first_bad(graph.nodes, [&](int64_t node) { return graph.labels[node] < -1 || graph.labels[node] >= classes; });
  if (bad == none) return;
  fail(source, fmt::format("the label of node {} is {}, wanted a class from 0 to {}, or -1 where it is not known.",
                           graph.node_name(bad), graph.labels[bad], classes - 1));
}

void check_part(const Graph& graph, const std::vector<int64_t>& part, std::string_view name, std::vector<bool>& taken,
                const std::string& source) {
  int64_t last = -1;
  for (const int64_t node : part) {
    if (node < 0 || node >= graph.nodes) {
      fail(source, fmt::format("its {} nodes include {}, wanted numbers from 0 to {}.", name, node, graph.nodes - 1));
    }
    if (taken[static_cast<size_t>(node)]) {
      fail(source, fmt::format("node {} is in the split twice (the second time in {}); it may be in one part only.",
                               graph.node_name(node), name));
    }
    if (node < last) fail(source, fmt::format("its {} nodes are not in ascending order.", name));
    if (graph.labels[node] < 0 && !graph.classes.empty()) {  // without classes no node has or needs a label
      fail(source,
           fmt::format("node {} is in the {} part of the split, but its label is missing. Add the label, or take the node out of "
                       "the split.",
                       graph.node_name(node), name));
    }
    taken[static_cast<size_t>(node)] = true;
    last = node;
  }
}

}  // namespace

void check_graph(const Graph& graph, const std::string& source, bool to_train) {
  if (graph.nodes < 1 || graph.nodes > std::numeric_limits<int32_t>::max()) {
    fail(source,
         fmt::format("it has {} nodes, wanted 1 to {}.", graph.nodes, with_thousands(std::numeric_limits<int32_t>::max())));
  }
  if (!graph.node_names.empty() && static_cast<int64_t>(graph.node_names.size()) != graph.nodes) {
    fail(source, fmt::format("it has {} names for {} nodes.", graph.node_names.size(), graph.nodes));
  }
  check_distinct(graph.node_names, "nodes", source);
  check_structure(graph, source);
  check_attributes(graph, source);
  check_labels(graph, source);
  std::vector<bool> taken(static_cast<size_t>(graph.nodes), false);
  check_part(graph, graph.train, "training", taken, source);
  check_part(graph, graph.valid, "validation", taken, source);
  check_part(graph, graph.test, "test", taken, source);
  if (to_train && graph.train.empty())
    fail(source, "no node is in the training part of the split; at least one is needed. Change the split.");
}

}  // namespace l0gm
