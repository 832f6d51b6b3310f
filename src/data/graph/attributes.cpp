#include "data/graph/attributes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>

#include "base/random.h"
#include "base/text.h"
#include "base/threads.h"
#include "data/graph/attribute_information.h"
#include "data/graph/attribute_statistics.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

constexpr uint64_t draw_kept = 1;
constexpr std::string_view advice = "The run's files do not belong together: train it again.";

std::vector<int64_t> pick(const Graph& graph, const GraphOptions& options, uint64_t seed) {
  const int64_t wanted = std::llround(options.keep_attributes * static_cast<double>(graph.attributes));
  const int64_t count = std::clamp<int64_t>(wanted, std::min<int64_t>(1, graph.attributes), graph.attributes);
  if (count == graph.attributes) return {};
  std::vector<int64_t> order;
  if (options.keep_by == KeepBy::random) {
    order = RandomStream(seed, draw_kept).permutation(graph.attributes);
  } else if (graph.classes.empty()) {
    throw UserError(
        "graph.keep_attributes picks by mutual information with the class, and the nodes have no labels: set data.labels, or "
        "graph.keep_by = random");
  } else {
    const std::vector<double> information = attribute_information(graph);
    order.resize(static_cast<size_t>(graph.attributes));
    std::iota(order.begin(), order.end(), int64_t{0});
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return information[static_cast<size_t>(a)] > information[static_cast<size_t>(b)];
    });
  }
  order.resize(static_cast<size_t>(count));
  std::sort(order.begin(), order.end());
  return order;
}

// attribute -> its number among the kept ones, or -1.
std::vector<int32_t> new_numbers(const AttributeScaling& scaling) {
  std::vector<int32_t> numbers(static_cast<size_t>(scaling.attributes), scaling.kept.empty() ? 0 : -1);
  if (scaling.kept.empty()) std::iota(numbers.begin(), numbers.end(), 0);
  for (size_t i = 0; i < scaling.kept.size(); ++i) numbers[static_cast<size_t>(scaling.kept[i])] = static_cast<int32_t>(i);
  return numbers;
}

void divide_by_magnitude(std::span<float> values) {
  double sum = 0;
  for (const float value : values) sum += std::abs(static_cast<double>(value));
  if (!(sum > 0)) return;  // a node without attributes stays as it is
  for (float& value : values) value = static_cast<float>(value / sum);
}

SparseRows scaled_sparse(const Graph& graph, const AttributeScaling& scaling) {
  const SparseRows& raw = graph.sparse;
  const std::vector<int32_t> numbers = new_numbers(scaling);
  std::vector<int64_t> offsets = {0};
  std::vector<int32_t> columns;
  std::vector<float> values;
  offsets.reserve(static_cast<size_t>(graph.nodes) + 1);
  for (int64_t node = 0; node < graph.nodes; ++node) {
    const size_t begin = values.size();
    for (int64_t i = raw.offsets[node]; i < raw.offsets[node + 1]; ++i) {
      const int32_t number = numbers[static_cast<size_t>(raw.columns[i])];
      if (number < 0) continue;
      columns.push_back(number);
      values.push_back(raw.values[i]);
    }
    if (scaling.scale == FeatureScale::rows) divide_by_magnitude(std::span(values).subspan(begin));
    offsets.push_back(static_cast<int64_t>(values.size()));
  }
  return {std::move(offsets), std::move(columns), std::move(values)};
}

std::vector<float> scaled_dense(const Graph& graph, const AttributeScaling& scaling) {
  const auto width = static_cast<size_t>(scaling.width());
  std::vector<float> values(static_cast<size_t>(graph.nodes) * width);
  parallel_for(graph.nodes, 1 << 10, [&](int64_t begin, int64_t end) {
    std::vector<float> raw(static_cast<size_t>(graph.attributes));
    for (int64_t node = begin; node < end; ++node) {
      write_attributes(graph, node, raw);
      const std::span out = std::span(values).subspan(static_cast<size_t>(node) * width, width);
      for (size_t j = 0; j < width; ++j) {
        const float value = raw[scaling.kept.empty() ? j : static_cast<size_t>(scaling.kept[j])];
        out[j] = scaling.scale == FeatureScale::standard ? (value - scaling.mean[j]) / scaling.deviation[j] : value;
      }
      if (scaling.scale == FeatureScale::rows) divide_by_magnitude(out);
    }
  });
  return values;
}

SparseRows select_sparse(const Graph& graph, const std::vector<int64_t>& kept) {
  std::vector<int32_t> place(static_cast<size_t>(graph.attributes), -1);
  for (size_t i = 0; i < kept.size(); ++i) place[static_cast<size_t>(kept[i])] = static_cast<int32_t>(i);
  std::vector<int64_t> offsets = {0};
  std::vector<int32_t> columns;
  std::vector<float> values;
  for (int64_t node = 0; node < graph.nodes; ++node) {
    for (int64_t i = graph.sparse.offsets[node]; i < graph.sparse.offsets[node + 1]; ++i) {
      const int32_t column = place[static_cast<size_t>(graph.sparse.columns[i])];
      if (column < 0) continue;
      columns.push_back(column);
      values.push_back(graph.sparse.values[i]);
    }
    offsets.push_back(static_cast<int64_t>(columns.size()));
  }
  return {std::move(offsets), std::move(columns), std::move(values)};
}

std::vector<float> select_dense(const Graph& graph, const std::vector<int64_t>& kept) {
  std::vector<float> values;
  values.reserve(static_cast<size_t>(graph.nodes) * kept.size());
  for (int64_t node = 0; node < graph.nodes; ++node) {
    for (const int64_t attribute : kept) values.push_back(graph.dense[node * graph.attributes + attribute]);
  }
  return values;
}

void check(const AttributeScaling& scaling) {
  const auto refuse = [](const std::string& what) {
    throw UserError(fmt::format("the scaling of attributes {}. {}", what, advice));
  };
  if (scaling.attributes < 0) refuse(fmt::format("has {} attributes, wanted 0 or more", scaling.attributes));
  for (size_t i = 0; i < scaling.kept.size(); ++i) {
    const int64_t kept = scaling.kept[i];
    if (kept < 0 || kept >= scaling.attributes || (i > 0 && kept <= scaling.kept[i - 1])) {
      refuse(fmt::format("keeps attribute {} at place {}: wanted are ascending numbers below {}", kept, i, scaling.attributes));
    }
  }
  const size_t wanted = scaling.scale == FeatureScale::standard ? static_cast<size_t>(scaling.width()) : 0;
  if (scaling.mean.size() != wanted || scaling.deviation.size() != wanted) {
    refuse(
        fmt::format("has {} means and {} deviations where {} are wanted", scaling.mean.size(), scaling.deviation.size(), wanted));
  }
  for (size_t i = 0; i < wanted; ++i) {
    if (!std::isfinite(scaling.mean[i]) || !std::isfinite(scaling.deviation[i]) || scaling.deviation[i] <= 0) {
      refuse(fmt::format("has mean {} and deviation {} at place {}: wanted are finite numbers, deviations above 0",
                         scaling.mean[i], scaling.deviation[i], i));
    }
  }
}

}  // namespace

nlohmann::json AttributeScaling::to_json() const {
  return {{"scale", name_of_enum(scale)}, {"attributes", attributes}, {"kept", kept}, {"mean", mean}, {"deviation", deviation}};
}

AttributeScaling AttributeScaling::from_json(const nlohmann::json& json) {
  AttributeScaling scaling;
  try {
    const auto name = json.at("scale").get<std::string>();
    const auto& names = enum_names<FeatureScale>;
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end() || *found == name_of_enum(FeatureScale::automatic)) {
      throw UserError(fmt::format("the scaling of attributes is called '{}'; wanted is raw, rows or standard. {}", name, advice));
    }
    scaling.scale = static_cast<FeatureScale>(found - names.begin());
    json.at("attributes").get_to(scaling.attributes);
    json.at("kept").get_to(scaling.kept);
    json.at("mean").get_to(scaling.mean);
    json.at("deviation").get_to(scaling.deviation);
  } catch (const nlohmann::json::exception& error) {
    throw UserError(fmt::format("the scaling of attributes cannot be read ({}). {}", error.what(), advice));
  }
  check(scaling);
  return scaling;
}

AttributeScaling fit_attributes(const Graph& graph, const GraphOptions& options, uint64_t seed) {
  AttributeScaling scaling;
  scaling.scale = options.features;
  if (scaling.scale == FeatureScale::automatic) scaling.scale = graph.is_sparse() ? FeatureScale::rows : FeatureScale::standard;
  scaling.attributes = graph.attributes;
  scaling.kept = pick(graph, options, seed);
  if (scaling.scale != FeatureScale::standard) return scaling;
  const AttributeStatistics found = attribute_statistics(graph);
  for (int64_t i = 0; i < scaling.width(); ++i) {
    const auto j = static_cast<size_t>(scaling.kept.empty() ? i : scaling.kept[static_cast<size_t>(i)]);
    const auto deviation = static_cast<float>(found.deviation[j]);
    scaling.mean.push_back(static_cast<float>(found.mean[j]));
    scaling.deviation.push_back(deviation > 0 ? deviation : 1.0F);
  }
  return scaling;
}

Graph scale_attributes(const Graph& graph, const AttributeScaling& scaling) {
  if (graph.attributes != scaling.attributes) {
    throw UserError(fmt::format("{} has {} attributes per node; the model was trained on {}. Give it the data it was made for.",
                                graph.name, with_thousands(graph.attributes), with_thousands(scaling.attributes)));
  }
  Graph scaled = graph;
  if (scaling.scale == FeatureScale::raw && scaling.kept.empty()) return scaled;
  scaled.attributes = scaling.width();
  if (graph.is_sparse() && scaling.scale != FeatureScale::standard) {
    scaled.sparse = scaled_sparse(graph, scaling);
  } else {
    scaled.sparse = {};
    scaled.dense = scaled_dense(graph, scaling);
  }
  if (!scaling.kept.empty()) {  // attributes keep their names, also where those are numbers
    scaled.attribute_names.clear();
    for (const int64_t attribute : scaling.kept) scaled.attribute_names.push_back(graph.attribute_name(attribute));
  }
  return scaled;
}

Graph select_attributes(const Graph& graph, const std::vector<int64_t>& kept) {
  Graph result = graph;
  result.attributes = static_cast<int64_t>(kept.size());
  if (graph.is_sparse())
    result.sparse = select_sparse(graph, kept);
  else
    result.dense = select_dense(graph, kept);
  result.attribute_names.clear();
  for (const int64_t attribute : kept) result.attribute_names.push_back(graph.attribute_name(attribute));
  return result;
}

}  // namespace l0gm
