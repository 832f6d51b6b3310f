#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "base/files.h"
#include "compact/compact_run.h"
#include "support/temporary_folder.h"
#include "training/graph/graph_run.h"
#include "training/graph/graph_task.h"
#include "training/modalities.h"
#include "training/train.h"

namespace l0gm::testing_tools {

// A run of a fraction of a second: 240 nodes with 32 named attributes and 4 classes, two layers of 12 channels.
inline Config tiny_graph_config(const std::vector<std::string>& assignments = {}) {
  const TemporaryFolder folder;
  const auto path = folder.write(
      "tiny.toml",
      "[data]\nsource = 'planted-graph'\nrows = 240\n[model]\nname = 'gcn'\nhidden = 12\ndepth = 2\ndropout = 0.1\n"
      "interface_dropout = 0.1\n[graph]\nblocks = 6\n[train]\nepochs = 12\nlr = 0.02\nevaluate_every = 4\nema = 0.5\n");
  return read_config(path, assignments);
}

// Two classes, named nodes, sparse attributes: 60 nodes in two rings with a few edges between.
struct OwnGraph {
  TemporaryFolder folder;
  std::filesystem::path config;
  explicit OwnGraph(const std::string& further = "") {
    std::string edges = "from,to\n", features = "name,red,green,blue,grey,black,white\n", labels = "node,label\n";
    for (int i = 0; i < 60; ++i) {
      const bool odd = i % 2 != 0;
      edges += name(i) + "," + name((i + 2) % 60) + "\n";
      if (i % 15 == 0) edges += name(i) + "," + name((i + 1) % 60) + "\n";
      // Less than a quarter of the values is not zero: they are stored sparse.
      features += name(i) + (odd          ? ",0,0," + std::to_string(1 + i % 3) + ",0,0,0\n"
                             : i % 4 == 0 ? ",2,0,0,0,0,0\n"
                                          : ",0,1,0,0,0,0\n");
      if (i < 50) labels += name(i) + (odd ? ",yes\n" : ",no\n");
    }
    folder.write("edges.csv", edges);
    folder.write("features.csv", features);
    folder.write("labels.csv", labels);
    config = folder.write("own.toml", data(true) + "cache = '" + (folder.path() / "cache").string() +
                                          "'\n[model]\nname = 'sage'\nhidden = 8\ndepth = 2\n" +
                                          "[train]\nepochs = 12\nlr = 0.02\nevaluate_every = 4\nema = 0.5\n" + further);
  }
  static std::string name(int i) { return fmt::format("n{}", i); }
  std::string data(bool labels) const {
    const auto file = [&](const char* key, const char* path) {
      return std::string(key) + " = '" + (folder.path() / path).string() + "'\n";
    };
    return "[data]\nsource = 'graph'\n" + file("edges", "edges.csv") + file("features", "features.csv") +
           (labels ? file("labels", "labels.csv") : "") + "[graph]\n";
  }
};

inline Machine one_thread_machine() { return prepare_machine("cpu", 1, false); }

inline void train_tiny_graph(const Config& config, const std::filesystem::path& out) {
  const std::atomic<bool> stop{false};
  if (!train(modalities(), config, out, false, one_thread_machine(), {}, stop))
    throw std::runtime_error("nobody asked it to stop");
}

// A finished run in a folder of its own.
struct TrainedTinyGraph {
  TemporaryFolder folder;
  std::filesystem::path run = folder.path() / "run", file = folder.path() / "model.l0gm";
  explicit TrainedTinyGraph(const std::vector<std::string>& assignments) {
    train_tiny_graph(tiny_graph_config(assignments), run);
  }
  explicit TrainedTinyGraph(const OwnGraph* own, const std::vector<std::string>& assignments = {}) {
    train_tiny_graph(read_config(own->config, assignments), run);
  }
  nlohmann::json compact(const CompactOptions& options = {}) const {
    return compact_run(compact_kinds(), run, file, options).json;
  }
  Graph raw() const { return GraphRun(run, one_thread_machine()).raw(); }
};

inline std::vector<int64_t> every_node(const Graph& graph) {
  std::vector<int64_t> nodes(static_cast<size_t>(graph.nodes));
  std::iota(nodes.begin(), nodes.end(), int64_t{0});
  return nodes;
}

// What the run's own model says, closed units and all, in float64.
inline Predictions uncompacted(const std::filesystem::path& run, const std::vector<int64_t>& nodes) {
  GraphRun loaded(run, one_thread_machine());
  place(*loaded.model, torch::kCPU, torch::kFloat64);
  const Graph graph = scale_attributes(loaded.raw(), loaded.graph.scaling);
  return predict_nodes(*loaded.model, loaded.gate_state, graph, nodes, 0, torch::kCPU, torch::kFloat64);
}
// The same of pairs of nodes, over all edges of the graph.
inline Predictions uncompacted_pairs(const std::filesystem::path& run, const std::vector<Link>& pairs) {
  GraphRun loaded(run, one_thread_machine());
  place(*loaded.model, torch::kCPU, torch::kFloat64);
  const Graph graph = scale_attributes(loaded.raw(), loaded.graph.scaling);
  return predict_pairs(*loaded.model, loaded.gate_state, graph, pairs, 0, torch::kCPU, torch::kFloat64);
}

inline double largest_gap(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return INFINITY;
  double gap = 0;
  for (size_t i = 0; i < a.size(); ++i) gap = std::max(gap, std::abs(a[i] - b[i]));
  return gap;
}

}  // namespace l0gm::testing_tools
