#pragma once

#include <ATen/Functions.h>
#include <torch/nn/module.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "batches/graph/graph_batches.h"
#include "encoders/graph/convolution.h"

namespace l0gm::testing_tools {

// The graph and the values of tests/reference/graph_reference.py.
inline const nlohmann::json& graph_reference() {
  static const nlohmann::json reference = [] {
    const std::string path = std::string(L0GM_TEST_REFERENCE_DIR) + "/graph_reference.json";
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot open " + path);
    return nlohmann::json::parse(file);
  }();
  return reference;
}

inline torch::Tensor reference_tensor(const nlohmann::json& json) {
  if (!json.at(0).is_array()) return at::tensor(json.get<std::vector<double>>(), torch::kFloat64);
  std::vector<torch::Tensor> rows;
  for (const auto& row : json) rows.push_back(reference_tensor(row));
  return at::stack(rows);
}

inline torch::Tensor reference_attributes() { return reference_tensor(graph_reference()["attributes"]); }

inline std::shared_ptr<const MessageBlock> reference_block() {
  const nlohmann::json& graph = graph_reference()["graph"];
  auto block = std::make_shared<MessageBlock>();
  block->targets = block->sources = graph["nodes"].get<int64_t>();
  const auto offsets = graph["offsets"].get<std::vector<int64_t>>();
  std::vector<float> degrees;
  for (size_t v = 1; v < offsets.size(); ++v) degrees.push_back(static_cast<float>(offsets[v] - offsets[v - 1]));
  block->offsets = offsets;
  block->neighbours = graph["neighbours"].get<std::vector<int32_t>>();
  block->target_degree = block->source_degree = degrees;
  block->symmetric = true;
  return block;
}

inline std::shared_ptr<const Adjacency> reference_adjacency() {
  return Adjacency::of(reference_block(), torch::kCPU, torch::kFloat64);
}

// The same numbers stored sparse.
inline std::shared_ptr<const Adjacency> sparse_rows(const torch::Tensor& dense) {
  const torch::Tensor places = dense.ne(0).nonzero();
  const torch::Tensor counts = dense.ne(0).sum(1);
  return std::make_shared<Adjacency>(dense.size(1), at::cat({at::zeros({1}, torch::kInt64), counts.cumsum(0)}),
                                     places.select(1, 1).to(torch::kInt32).contiguous(), dense.masked_select(dense.ne(0)), false);
}

inline LayerRows layer_rows(const torch::Tensor& x, bool sparse) {
  return sparse ? LayerRows{{{}, sparse_rows(x)}, {}, {}, {}} : LayerRows{{x, nullptr}, {}, {}, {}};
}

struct ReferenceKind {
  ConvolutionKind kind = ConvolutionKind::linear;
  ConvolutionOptions options;
};

inline ReferenceKind reference_kind(const std::string& name) {
  ReferenceKind kind;
  kind.options.heads = graph_reference()["constants"]["heads"].get<int64_t>();
  kind.options.self_loops = name == "gcn" || name == "gat";
  if (name == "gcn") kind.kind = ConvolutionKind::gcn;
  if (name == "gat") kind.kind = ConvolutionKind::gat;
  if (name.starts_with("sage-")) {
    kind.kind = ConvolutionKind::sage;
    kind.options.aggregate = name == "sage-max" ? Aggregate::max : name == "sage-pool" ? Aggregate::pool : Aggregate::mean;
  }
  return kind;
}

// Puts the reference's weights under our names; `prefix`: of the convolution within the module.
inline void set_weights(torch::nn::Module& module, const std::string& prefix, const nlohmann::json& weights) {
  static const std::map<std::string, std::string> ours = {{"weight", "weight"},
                                                          {"bias", "bias"},
                                                          {"neighbour_weight", "weight_neighbour"},
                                                          {"root_weight", "weight_root"},
                                                          {"pool_weight", "weight_pool"},
                                                          {"pool_bias", "bias_pool"},
                                                          {"target", "attention_target"},
                                                          {"source", "attention_source"}};
  torch::NoGradGuard no_grad;
  auto parameters = module.named_parameters();
  for (const auto& [name, value] : weights.items()) {
    if (ours.contains(name)) parameters[prefix + ours.at(name)].set_data(reference_tensor(value));
  }
}

}  // namespace l0gm::testing_tools
