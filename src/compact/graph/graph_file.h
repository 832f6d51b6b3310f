#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "encoders/graph/graph_encoder.h"
#include "metrics/calibrator.h"
#include "training/graph/narrow_graph.h"

// The compact file of a graph model (.l0gm, kind "graph"): the same container as a table's (docs/format.md), read by LibTorch.
namespace l0gm {

// The shape of a narrowed model: what its tensors are the numbers of.
struct GraphNet {
  GraphShape encoder;
  int64_t members = 1, classes = 2;
  std::optional<LinkScorer> scorer;  // pairs of nodes are scored; none: nodes are classified
  int64_t scorer_hidden = 0;
  std::vector<int64_t> selected;  // channels that the head reads of an encoder that keeps its width; empty: all

  int64_t head_width() const { return selected.empty() ? encoder.widths.back() : static_cast<int64_t>(selected.size()); }
  int64_t head_parameters() const;
  int64_t parameters() const;  // as Model counts them
  int64_t numbers() const;     // that a file holds: with the statistics of batch norms
  nlohmann::json to_json() const;
  static GraphNet from_json(const nlohmann::json& json, const GraphInputs& inputs,
                            int64_t classes);  // UserError when it makes no sense
};
GraphNet net_of(Model& model, int64_t classes);  // of a model that was narrowed
std::shared_ptr<Model> make_model(const GraphNet& net);

// What a file says beside its numbers.
struct GraphHeader {
  GraphNet net;
  GraphInputs inputs;
  std::vector<std::string> classes;
  Calibrator calibrator;  // never folded
  nlohmann::json about;   // an object: provenance, options, gate, figures, parity; for people and reports, not for computing
};

struct GraphFile {
  GraphHeader header;
  std::shared_ptr<Model> model;  // float32, on the CPU, in evaluation mode
  std::string tensors_sha256;
};

// Writes atomically; returns the bytes written.
int64_t write_graph_model(const std::filesystem::path& path, const GraphHeader& header, const Model& model);
// Every hash, key, count and shape is checked before it asks for memory; numbers must be finite. UserError naming the file.
GraphFile read_graph_model(const std::filesystem::path& path);

}  // namespace l0gm
