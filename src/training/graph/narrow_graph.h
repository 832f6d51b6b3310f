#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "data/graph/attributes.h"
#include "model/model.h"
#include "training/graph/graph_record.h"

namespace l0gm {

// How a raw graph becomes what a model reads, once closed attributes are gone.
struct GraphInputs {
  AttributeScaling scaling;        // `kept`: the attributes of the data that are looked at
  std::vector<std::string> names;  // theirs; empty: the data has none and attributes go by number
  std::vector<int64_t>
      selected;                // of the scaled ones, those that the model reads; empty: all. `rows` needs the others for its sums
  bool undirected = true;      // edges count in both directions
  int64_t inference_rows = 0;  // as graph.inference_rows

  int64_t width() const {
    return selected.empty() ? scaling.width() : static_cast<int64_t>(selected.size());
  }  // of the model's first layer
  // Attributes go by name where both sides have names, so that a graph may have others and another order; else by number.
  // UserError naming what is missing, or both counts.
  Graph of(const Graph& raw) const;

  nlohmann::json to_json() const;
  static GraphInputs from_json(const nlohmann::json& json);  // UserError when it makes no sense
};

// What the gate on the input multiplies each attribute with, [attributes]; the model must have one.
torch::Tensor attribute_values(Model& model, const GateState& state);
// Whether some gate of the model depends on the example: then nothing can be taken out ahead.
bool has_instance_gates(const Model& model);

// Takes everything out of a trained model that its gates have closed: attributes are not read, channels not computed. What is
// left says the same as before; where gates depend on the example it is everything. Returns how it reads a graph from now on.
GraphInputs narrow_graph(Model& model, const GateState& state, const GraphRecord& record, const GraphOptions& options);

// A model without its closed units, and how it reads a graph.
struct NarrowedGraph {
  std::shared_ptr<Model> model;
  GraphInputs inputs;
};

}  // namespace l0gm
