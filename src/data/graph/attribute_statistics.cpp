#include "data/graph/attribute_statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace l0gm {
namespace {

// visit(attribute, value) for all that is stored of the training nodes.
template <class Visit>
void visit_training_values(const Graph& graph, const Visit& visit) {
  for (const int64_t node : graph.train) {
    if (graph.is_sparse()) {
      for (int64_t i = graph.sparse.offsets[node]; i < graph.sparse.offsets[node + 1]; ++i) {
        visit(static_cast<size_t>(graph.sparse.columns[i]), graph.sparse.values[i]);
      }
    } else {
      const float* row = graph.dense.data() + node * graph.attributes;
      for (size_t j = 0; j < static_cast<size_t>(graph.attributes); ++j) visit(j, row[j]);
    }
  }
}

}  // namespace

AttributeStatistics attribute_statistics(const Graph& graph) {
  const auto width = static_cast<size_t>(graph.attributes);
  const auto count = static_cast<int64_t>(graph.train.size());
  AttributeStatistics found{std::vector<double>(width, 0), std::vector<double>(width, 0),
                            std::vector<float>(width, std::numeric_limits<float>::infinity()),
                            std::vector<float>(width, -std::numeric_limits<float>::infinity())};
  std::vector<int64_t> stored(width, 0);
  visit_training_values(graph, [&](size_t j, float value) {
    found.mean[j] += value;
    found.low[j] = std::min(found.low[j], value);
    found.high[j] = std::max(found.high[j], value);
    ++stored[j];
  });
  for (size_t j = 0; j < width; ++j) {
    found.mean[j] /= static_cast<double>(std::max<int64_t>(count, 1));
    if (stored[j] == count && count > 0) continue;
    found.low[j] = std::min(found.low[j], 0.0F);  // what is not stored is 0
    found.high[j] = std::max(found.high[j], 0.0F);
  }
  visit_training_values(graph,
                        [&](size_t j, float value) { found.deviation[j] += (value - found.mean[j]) * (value - found.mean[j]); });
  for (size_t j = 0; j < width && count > 0; ++j) {
    const double of_zeros = static_cast<double>(count - stored[j]) * found.mean[j] * found.mean[j];
    found.deviation[j] =
        found.low[j] < found.high[j] ? std::sqrt((found.deviation[j] + of_zeros) / static_cast<double>(count)) : 0;
  }
  return found;
}

void write_attributes(const Graph& graph, int64_t node, std::span<float> out) {
  if (!graph.is_sparse()) {
    std::copy_n(graph.dense.data() + node * graph.attributes, graph.attributes, out.begin());
    return;
  }
  std::fill(out.begin(), out.end(), 0.0F);
  for (int64_t i = graph.sparse.offsets[node]; i < graph.sparse.offsets[node + 1]; ++i) {
    out[static_cast<size_t>(graph.sparse.columns[i])] = graph.sparse.values[i];
  }
}

}  // namespace l0gm
