#pragma once

#include <utility>

#include "encoders/graph/graph_encoder.h"
#include "encoders/graph/reference_graph.h"

namespace l0gm::testing_tools {

inline Norm norm_named(const std::string& name) {
  return name == "batch" ? Norm::batch : name == "layer" ? Norm::layer : Norm::none;
}

inline std::shared_ptr<GraphEncoder> reference_encoder(const nlohmann::json& model) {
  const ReferenceKind made = reference_kind(model["kind"]);
  GraphShape shape;
  shape.attributes = 5;
  shape.attribute_names = {"v", "w", "x", "y", "z"};
  shape.widths = {4, 6};
  shape.kind = made.kind;
  shape.convolution = made.options;
  const auto& layers = model["layers"];
  shape.norm = norm_named(layers[0]["norm"]);
  shape.last_norm = norm_named(layers[1]["norm"]);
  shape.residual = model["residual"] == "linear" ? Residual::linear : Residual::none;
  if (model["kind"] == "sage-pool") shape.narrowed = {{{}, 5}, {{}, 4}};
  auto encoder = std::make_shared<GraphEncoder>(shape);
  torch::NoGradGuard no_grad;
  auto parameters = encoder->named_parameters();
  for (size_t i = 0; i < 2; ++i) {
    const auto& weights = layers[i]["weights"];
    const std::string number = std::to_string(i);
    set_weights(*encoder, "convolution" + number + ".", weights);
    for (const char* name : {"weight", "bias", "mean", "variance"}) {
      const std::string theirs = std::string("norm_") + name;
      if (weights.contains(theirs)) parameters["norm" + number + "." + name].set_data(reference_tensor(weights[theirs]));
    }
    if (weights.contains("residual_weight"))
      parameters["residual" + number].set_data(reference_tensor(weights["residual_weight"]));
  }
  encoder->eval();
  return encoder;
}

// Hidden layer and interface, by the reference.
inline std::pair<torch::Tensor, torch::Tensor> reference_results(const nlohmann::json& model) {
  return {reference_tensor(model["hidden"]), reference_tensor(model["result"])};
}

}  // namespace l0gm::testing_tools
