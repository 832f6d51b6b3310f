#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "data/graph/graph.h"
#include "data/graph/options.h"

namespace l0gm {

// How raw attributes are selected and scaled for a model: fitted to training nodes and stored in the run. The same raw attributes
// of a new node give the same numbers.
struct AttributeScaling {
  FeatureScale scale = FeatureScale::raw;  // never automatic
  int64_t attributes = 0;                  // of the raw data
  std::vector<int64_t> kept;               // ascending; empty: all
  std::vector<float> mean, deviation;      // of the kept attributes; `standard` only. A constant attribute has deviation 1

  int64_t width() const { return kept.empty() ? attributes : static_cast<int64_t>(kept.size()); }
  nlohmann::json to_json() const;
  static AttributeScaling from_json(const nlohmann::json& json);  // UserError when it is inconsistent
};

// `seed`: of KeepBy::random.
AttributeScaling fit_attributes(const Graph& graph, const GraphOptions& options, uint64_t seed);

// The graph with scaled attributes: `rows` of sparse attributes stays sparse, `standard` becomes dense. Everything else is
// shared.
Graph scale_attributes(const Graph& graph, const AttributeScaling& scaling);

// The graph with only these attributes (ascending).
Graph select_attributes(const Graph& graph, const std::vector<int64_t>& kept);

}  // namespace l0gm
