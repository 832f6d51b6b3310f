#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "compact/graph/graph_file.h"
#include "data/graph/links.h"
#include "metrics/predictions.h"

namespace l0gm {

// A graph model through LibTorch: a compact file, or a run's folder, whose closed units are left out as in a file.
class GraphPredictor {
 public:
  GraphPredictor(const std::filesystem::path& model, const Machine& machine);
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

// Whether a path is a graph's model: a compact file, or a run on a graph. False for anything else, whatever is wrong with it.
bool predicts_nodes(const std::filesystem::path& model);

struct PredictGraphOptions {
  std::string nodes;  // a csv that names nodes; empty: all
  std::string pairs;  // links: a csv that names pairs of nodes
  bool calibrated = false;
};
// `input`: a configuration (.toml) whose [data] and [graph] name a graph, or a graph's file. Writes `node,prediction,p_<class>…`,
// or for links `from,to,p_linked`, all of it or nothing, and returns what `l0gm predict --json` prints.
nlohmann::json predict_graph(const GraphPredictor& predictor, const std::filesystem::path& input,
                             const std::filesystem::path& output, const PredictGraphOptions& options);

}  // namespace l0gm
