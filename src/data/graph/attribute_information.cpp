#include "data/graph/attribute_information.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/threads.h"

namespace l0gm {
namespace {

constexpr size_t bin_count = 10;

// Attributes of the training nodes with a known class, one column at a time.
class TrainingColumns {
 public:
  explicit TrainingColumns(const Graph& graph) : graph_(graph) {
    for (const int64_t node : graph.train) {
      if (graph.labels[node] >= 0) nodes_.push_back(node);
    }
    if (graph.is_sparse()) transpose();
  }
  const std::vector<int64_t>& nodes() const { return nodes_; }

  void write(int64_t attribute, std::vector<float>& out) const {
    out.assign(nodes_.size(), 0.0F);
    if (graph_.is_sparse()) {
      for (size_t i = begins_[static_cast<size_t>(attribute)]; i < begins_[static_cast<size_t>(attribute) + 1]; ++i)
        out[rows_[i]] = values_[i];
    } else {
      for (size_t row = 0; row < out.size(); ++row) out[row] = graph_.dense[nodes_[row] * graph_.attributes + attribute];
    }
  }

 private:
  void transpose() {
    const SparseRows& sparse = graph_.sparse;
    begins_.assign(static_cast<size_t>(graph_.attributes) + 1, 0);
    for (const int64_t node : nodes_) {
      for (int64_t i = sparse.offsets[node]; i < sparse.offsets[node + 1]; ++i)
        ++begins_[static_cast<size_t>(sparse.columns[i]) + 1];
    }
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
    rows_.resize(begins_.back());
    values_.resize(begins_.back());
    std::vector<size_t> next(begins_.begin(), begins_.end() - 1);
    for (size_t row = 0; row < nodes_.size(); ++row) {
      for (int64_t i = sparse.offsets[nodes_[row]]; i < sparse.offsets[nodes_[row] + 1]; ++i) {
        const size_t place = next[static_cast<size_t>(sparse.columns[i])]++;
        rows_[place] = row;
        values_[place] = sparse.values[i];
      }
    }
  }

  const Graph& graph_;
  std::vector<int64_t> nodes_;
  std::vector<size_t> begins_, rows_;
  std::vector<float> values_;
};

// Where bins of equal mass begin, after the first; frequent values make some bins empty. Empty: the attribute is mostly zero.
std::vector<float> bin_begins(std::vector<float> values) {
  const auto zeros = static_cast<size_t>(std::count(values.begin(), values.end(), 0.0F));
  if (2 * zeros > values.size()) return {};
  std::sort(values.begin(), values.end());
  std::vector<float> begins;
  for (size_t bin = 1; bin < bin_count; ++bin) begins.push_back(values[bin * values.size() / bin_count]);
  return begins;
}

double information(const std::vector<float>& values, const std::vector<int32_t>& labels, size_t classes) {
  if (values.empty()) return 0;
  const std::vector<float> begins = bin_begins(values);
  std::vector<std::array<int64_t, bin_count>> joint(classes, std::array<int64_t, bin_count>{});
  std::array<int64_t, bin_count> of_bin{};
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t bin = begins.empty()
                           ? static_cast<size_t>(values[i] != 0)
                           : static_cast<size_t>(std::upper_bound(begins.begin(), begins.end(), values[i]) - begins.begin());
    ++joint[static_cast<size_t>(labels[i])][bin];
    ++of_bin[bin];
  }
  const auto count = static_cast<double>(values.size());
  double sum = 0;
  for (const auto& row : joint) {
    const auto of_class = static_cast<double>(std::accumulate(row.begin(), row.end(), int64_t{0}));
    for (size_t bin = 0; bin < bin_count; ++bin) {
      const auto both = static_cast<double>(row[bin]);
      if (both > 0) sum += both / count * std::log(both * count / (of_class * static_cast<double>(of_bin[bin])));
    }
  }
  return std::max(sum, 0.0);
}

}  // namespace

std::vector<double> attribute_information(const Graph& graph) {
  const TrainingColumns columns(graph);
  std::vector<int32_t> labels;
  for (const int64_t node : columns.nodes()) labels.push_back(graph.labels[node]);
  std::vector<double> result(static_cast<size_t>(graph.attributes));
  parallel_for(graph.attributes, 16, [&](int64_t begin, int64_t end) {
    std::vector<float> values;
    for (int64_t attribute = begin; attribute < end; ++attribute) {
      columns.write(attribute, values);
      result[static_cast<size_t>(attribute)] = information(values, labels, graph.classes.size());
    }
  });
  return result;
}

}  // namespace l0gm
