#include "training/graph/narrow_graph.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <unordered_map>

#include "base/json_checks.h"
#include "base/text.h"
#include "l0gm/error.h"
#include "training/graph/graph_task.h"

namespace l0gm {

namespace {

int64_t number_of(const AttributeScaling& scaling, size_t place) {
  return scaling.kept.empty() ? static_cast<int64_t>(place) : scaling.kept[place];
}

// Names that tell attributes apart. Those that are just their numbers are what a graph without names gives.
bool are_names(const std::vector<std::string>& names, const AttributeScaling& scaling) {
  bool numbers = true;
  for (size_t i = 0; i < names.size(); ++i) numbers = numbers && names[i] == std::to_string(number_of(scaling, i));
  return !numbers && std::set<std::string>(names.begin(), names.end()).size() == names.size();
}

template <class T>
std::vector<T> picked(const std::vector<T>& values, const std::vector<int64_t>& places) {
  if (values.empty()) return values;
  std::vector<T> result;
  for (const int64_t place : places) result.push_back(values.at(static_cast<size_t>(place)));
  return result;
}

// Only these of what the inputs give so far (ascending).
void keep_attributes(GraphInputs& inputs, const std::vector<int64_t>& open) {
  if (static_cast<int64_t>(open.size()) == inputs.scaling.width()) return;
  if (inputs.scaling.scale == FeatureScale::rows) {  // a row's sum is over all of them
    inputs.selected = open;
    return;
  }
  std::vector<int64_t> kept;
  for (const int64_t place : open) kept.push_back(number_of(inputs.scaling, static_cast<size_t>(place)));
  inputs.scaling.kept = std::move(kept);
  inputs.scaling.mean = picked(inputs.scaling.mean, open);
  inputs.scaling.deviation = picked(inputs.scaling.deviation, open);
  inputs.names = picked(inputs.names, open);
}

// Which attribute of the graph each of `names` is.
std::vector<int64_t> places_of(const std::vector<std::string>& names, const Graph& graph) {
  std::unordered_map<std::string, int64_t> by_name;
  for (int64_t i = 0; i < graph.attributes; ++i) by_name.emplace(graph.attribute_names[static_cast<size_t>(i)], i);
  std::vector<int64_t> places;
  std::vector<std::string> missing;
  for (const std::string& name : names) {
    const auto found = by_name.find(name);
    if (found == by_name.end())
      missing.push_back(name);
    else
      places.push_back(found->second);
  }
  if (missing.empty()) return places;
  throw UserError(fmt::format("{} lacks {} of the {} attributes that the model reads: {}. It has {}: {}.", graph.name,
                              missing.size(), names.size(), list_some(missing), graph.attributes,
                              list_some(graph.attribute_names)));
}

// The graph with these attributes in this order, each at most once.
Graph arrange_attributes(const Graph& graph, const std::vector<int64_t>& places) {
  std::vector<int64_t> order(places.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::sort(order.begin(), order.end(),
            [&](int64_t a, int64_t b) { return places[static_cast<size_t>(a)] < places[static_cast<size_t>(b)]; });
  const bool in_order = std::is_sorted(order.begin(), order.end());
  if (in_order && static_cast<int64_t>(places.size()) == graph.attributes) return graph;
  Graph result = select_attributes(graph, picked(places, order));  // ascending; attribute i belongs at place order[i]
  if (in_order) return result;
  if (!result.is_sparse()) {
    std::vector<float> values(static_cast<size_t>(result.dense.size()));
    for (int64_t i = 0; i < result.dense.size(); ++i) {
      values[static_cast<size_t>(i - i % result.attributes + order[static_cast<size_t>(i % result.attributes)])] =
          result.dense[i];
    }
    result.dense = std::move(values);
  } else {
    std::vector<int32_t> columns;
    std::vector<float> values;
    std::vector<std::pair<int32_t, float>> row;
    for (int64_t node = 0; node < result.nodes; ++node) {
      row.clear();
      for (int64_t i = result.sparse.offsets[node]; i < result.sparse.offsets[node + 1]; ++i) {
        row.emplace_back(static_cast<int32_t>(order[static_cast<size_t>(result.sparse.columns[i])]), result.sparse.values[i]);
      }
      std::sort(row.begin(), row.end());
      for (const auto& [column, value] : row) {
        columns.push_back(column);
        values.push_back(value);
      }
    }
    result.sparse.columns = std::move(columns);
    result.sparse.values = std::move(values);
  }
  std::vector<std::string> names(places.size());
  for (size_t i = 0; i < order.size(); ++i) names[static_cast<size_t>(order[i])] = result.attribute_names[i];
  result.attribute_names = std::move(names);
  return result;
}

}  // namespace

Graph GraphInputs::of(const Graph& raw) const {
  Graph graph = raw;
  AttributeScaling local = scaling;
  if (!names.empty() && !raw.attribute_names.empty()) {
    graph = arrange_attributes(raw, places_of(names, raw));
    local.attributes = graph.attributes;
    local.kept.clear();
  } else if (raw.attributes != scaling.attributes) {
    throw UserError(fmt::format(
        "{} has {} attributes, the model was trained on nodes with {}: give it a graph with the same ones, in the same order.",
        raw.name, raw.attributes, scaling.attributes));
  }
  graph = scale_attributes(graph, local);
  return selected.empty() ? graph : select_attributes(graph, selected);
}

nlohmann::json GraphInputs::to_json() const {
  return {{"scaling", scaling.to_json()},
          {"names", names},
          {"selected", selected},
          {"undirected", undirected},
          {"inference_rows", inference_rows}};
}

GraphInputs GraphInputs::from_json(const nlohmann::json& json) {
  using namespace json_checks;
  GraphInputs inputs;
  inputs.scaling = AttributeScaling::from_json(member(json, "inputs", "scaling"));
  inputs.names = texts(json, "inputs", "names");
  if (!inputs.names.empty() && static_cast<int64_t>(inputs.names.size()) != inputs.scaling.width()) {
    refuse("inputs", fmt::format("it has {} names for {} attributes", inputs.names.size(), inputs.scaling.width()));
  }
  check_unique(inputs.names, "inputs", "names");
  inputs.selected = counts(json, "inputs", "selected", 0, inputs.scaling.width() - 1);
  if (std::adjacent_find(inputs.selected.begin(), inputs.selected.end(), std::greater_equal<>()) != inputs.selected.end()) {
    refuse("inputs", "'selected' does not ascend");
  }
  inputs.undirected = flag(json, "inputs", "undirected");
  inputs.inference_rows = count(json, "inputs", "inference_rows");
  return inputs;
}

torch::Tensor attribute_values(Model& model, const GateState& state) {
  torch::NoGradGuard no_grad;
  const GateSite& site = *graph_encoder(model).input_site();
  const torch::Tensor values = site.gate->test_values(state);
  return site.index.defined() ? values.index_select(0, site.index) : values;
}

bool has_instance_gates(const Model& model) {
  const auto sites = model.sites();
  return std::any_of(sites.begin(), sites.end(), [](const GateSite* site) { return site->gate->has_instance_logits(); });
}

GraphInputs narrow_graph(Model& model, const GateState& state, const GraphRecord& record, const GraphOptions& options) {
  GraphInputs inputs{record.scaling, record.attribute_names, {}, options.undirected, options.inference_rows};
  if (!are_names(inputs.names, inputs.scaling)) inputs.names.clear();
  if (has_instance_gates(model)) return inputs;
  GraphEncoder& encoder = graph_encoder(model);
  if (encoder.input_site() != nullptr) {
    const torch::Tensor values = attribute_values(model, state), kept = values.gt(0).nonzero().squeeze(1), on_host = kept.cpu();
    encoder.narrow_inputs(kept, values.index_select(0, kept));
    keep_attributes(inputs, {on_host.data_ptr<int64_t>(), on_host.data_ptr<int64_t>() + on_host.numel()});
  }
  encoder.narrow_hidden(state);
  model.narrow(state);
  return inputs;
}

}  // namespace l0gm
