#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "compact/graph/graph_compaction.h"
#include "runtime/table_net.h"

namespace l0gm {

// Pairs of nodes of a fixed graph as a table model with the columns `from` and `to`: what the encoder says of each node, over all
// edges of the graph, was computed ahead, so that the runtime serves it without LibTorch. For link.scorer = dot. A name that is
// not there counts as a node without an embedding: the score's bias decides.
class LinkLookupCompaction : public GraphCompaction {
 public:
  // `which`: all, or a csv that names nodes.
  LinkLookupCompaction(const std::filesystem::path& run, const std::string& which);
  std::vector<double> trained(Precision precision) override;
  std::vector<double> folded() override;
  std::vector<double> served(const std::filesystem::path& file) override;
  // None: the run's was fitted with messages over training links alone.
  Calibrator calibrator() const override { return {}; }
  // No figures: messages pass over the held-out links, too.
  Predictions served(const std::filesystem::path&, Split) override { return {}; }
  nlohmann::json about() override;
  int64_t write(const std::filesystem::path& file, WeightType weights, const Calibrator& calibrator,
                const nlohmann::json& about) override;
  nlohmann::json result(const nlohmann::json& about) const override;

 private:
  void fold();
  std::vector<int64_t> nodes_;
  std::vector<Link> pairs_;  // that parity is proven on, by place among the nodes
  Schema schema_;
  TableNet<Matrix> net_;
};

}  // namespace l0gm
