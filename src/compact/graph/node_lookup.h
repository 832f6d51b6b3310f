#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "compact/graph/graph_compaction.h"
#include "runtime/table_net.h"

namespace l0gm {

// Nodes of a fixed graph as a table model with one categorical column, `node`: what the encoder says of each was computed ahead,
// so that the runtime serves it without LibTorch. A name that is not there gets the classes' shares among training nodes.
struct NodeLookup {
  Schema schema;
  TableNet<Matrix> net;
  bool folded = false;  // the table holds logits, else open channels: whatever is narrower
};
NodeLookup make_node_lookup(TrainedGraph& trained, std::span<const int64_t> nodes);

// What look-ups of any kind are made of: categorical columns whose values are the nodes' names; what the head reads of each node,
// [nodes, open channels]; the nodes `which`: all, valid, test, or a csv that names them.
Schema lookup_schema(const TrainedGraph& trained, std::span<const int64_t> nodes, const std::vector<std::string>& columns);
torch::Tensor node_embeddings(TrainedGraph& trained, std::span<const int64_t> nodes);
std::vector<int64_t> nodes_named(const Graph& graph, const std::string& which);

// Look-ups of the nodes `which`: all, valid, test, or a csv that names them.
class LookupCompaction : public GraphCompaction {
 public:
  LookupCompaction(const std::filesystem::path& run, const std::string& which);
  std::vector<double> trained(Precision precision) override;
  std::vector<double> folded() override;
  std::vector<double> served(const std::filesystem::path& file) override;
  Predictions served(const std::filesystem::path& file, Split split) override;
  nlohmann::json about() override;
  int64_t write(const std::filesystem::path& file, WeightType weights, const Calibrator& calibrator,
                const nlohmann::json& about) override;
  nlohmann::json result(const nlohmann::json& about) const override;

 private:
  std::vector<int64_t> nodes_;
  NodeLookup lookup_;
};

}  // namespace l0gm
