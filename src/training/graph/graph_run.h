#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "data/graph/attributes.h"
#include "data/graph/graph.h"
#include "model/graph_model.h"
#include "training/run.h"

namespace l0gm {

// Everything a run knows about its graph without having it: schema.json.
struct GraphRecord {
  std::string dataset;
  int64_t nodes = 0, edges = 0;
  AttributeScaling scaling;
  std::vector<std::string> attribute_names;  // of what the model reads
  std::vector<std::string> classes;
  std::vector<int64_t> class_rows;  // training nodes of each
  std::vector<FileStamp> files;
  std::string training_nodes;  // SHA-256 of which nodes were trained on
  std::vector<std::string> planted;

  nlohmann::json to_json() const;
  static GraphRecord from_json(const nlohmann::json& json);
};

bool train_graph(const Config& config, const std::filesystem::path& out, bool resume, const Machine& machine,
                 const std::vector<Observer*>& observers, const std::atomic<bool>& stop);

// A finished run on a graph, ready to predict.
struct LoadedGraph : LoadedRun {
  GraphRecord graph;
};
LoadedGraph load_graph_run(const std::filesystem::path& path, const Machine& machine);

// The graph a run was trained on, its attributes as they were read; refuses when its files have changed since.
Graph load_run_graph(const LoadedGraph& run);

GraphModelOptions graph_model_options(const Config& config);

}  // namespace l0gm
