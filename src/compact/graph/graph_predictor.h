#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compact/compact_kinds.h"
#include "compact/graph/graph_file.h"
#include "data/graph/links.h"
#include "data/graph/node_names.h"
#include "metrics/predictions.h"

namespace l0gm {

// A graph model through LibTorch: a compact file, or a run's folder, whose closed units are left out as in a file.
class LoadedGraphModel {
 public:
  LoadedGraphModel(const std::filesystem::path& model, const Machine& machine);
  const GraphInputs& inputs() const { return inputs_; }
  const std::vector<std::string>& classes() const { return classes_; }
  const Calibrator& calibrator() const { return calibrator_; }
  // Raw probabilities of nodes of any graph that has the attributes the model reads, in the order asked for; its labels are not
  // looked at. Only what these nodes need is computed. `inference_rows`: as graph.inference_rows.
  Predictions predict(const Graph& raw, std::span<const int64_t> nodes, int64_t inference_rows) const;
  // The same of pairs of nodes, for a model of links: are they linked?
  Predictions predict(const Graph& raw, const std::vector<Link>& pairs, int64_t inference_rows) const;
  bool predicts_links() const { return links_; }

 private:
  GraphInputs inputs_;
  bool links_ = false;
  std::vector<std::string> classes_;
  Calibrator calibrator_;
  std::shared_ptr<Model> model_;
  GateState state_;
  Machine machine_;
  torch::Dtype dtype_ = torch::kFloat32;
};

// Nodes of a graph (column `node`) or pairs of them (columns `from`, `to`), by name.
class GraphPredictor : public Predictor {
 public:
  // options.context: a configuration (.toml) whose [data] and [graph] name the graph, or a graph's file.
  GraphPredictor(const std::filesystem::path& model, const PredictorOptions& options);
  const std::vector<std::string>& columns() const override { return columns_; }
  const std::vector<std::string>& classes() const override { return model_.classes(); }
  bool concurrent() const override { return false; }
  bool is_calibrated() const override { return calibrated_; }
  bool columns_name_rows() const override { return true; }
  std::vector<std::string> known_rows() const override;  // all nodes; none for links
  void predict(Cells cells, std::span<float> probabilities, InputCounts& counts) const override;
  const Graph& graph() const { return graph_; }

 private:
  int64_t find(const Cells& cells, size_t cell) const;
  LoadedGraphModel model_;
  bool calibrated_;
  int64_t inference_rows_;
  Graph graph_;
  NodeNames names_;
  std::vector<std::string> columns_;
};

}  // namespace l0gm
