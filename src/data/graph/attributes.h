#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "data/graph/graph.h"
#include "data/graph/options.h"

namespace l0gm {

// How a graph's raw attributes become what a model reads, learned from training nodes and stored in the run: which are kept, and
// how they are scaled. Pure: the same raw attributes of a new node give the same numbers.
struct AttributeScaling {
  FeatureScale scale = FeatureScale::raw;  // never automatic
  int64_t attributes = 0;                  // of the raw data
  std::vector<int64_t> kept;               // ascending; empty: all
  std::vector<float> mean, deviation;      // of the kept; `standard` only. A constant attribute has deviation 1

  int64_t width() const { return kept.empty() ? attributes : static_cast<int64_t>(kept.size()); }
  nlohmann::json to_json() const;
  static AttributeScaling from_json(const nlohmann::json& json);  // UserError when it makes no sense
};

// `seed`: of KeepBy::random.
AttributeScaling fit_attributes(const Graph& graph, const GraphOptions& options, uint64_t seed);

// The graph with scaled attributes: `rows` of sparse attributes stays sparse, `standard` becomes dense. Everything else is
// shared.
Graph scale_attributes(const Graph& graph, const AttributeScaling& scaling);

// The graph with only these attributes (ascending).
Graph select_attributes(const Graph& graph, const std::vector<int64_t>& kept);

// Mutual information in nats of each attribute with the class, over training nodes; an attribute is looked at as present or
// absent where it is mostly zero, else in ten bins of equal mass.
std::vector<double> attribute_information(const Graph& graph);

}  // namespace l0gm
