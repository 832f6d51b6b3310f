#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "compact/compaction.h"
#include "compact/graph/graph_file.h"
#include "compact/graph/trained_graph.h"

namespace l0gm {

// What compaction of any graph run shares: the run in every form, and what its file says of it.
class GraphCompaction : public Compaction {
 public:
  explicit GraphCompaction(const std::filesystem::path& run) : trained_(run) {}
  const Checked& checked() const override { return checked_; }
  const std::vector<std::string>& classes() const override { return trained_.exact.graph.classes; }
  Calibrator calibrator() const override { return trained_.single.calibrator; }
  nlohmann::json about() override;
  std::string card(const std::string& file, const nlohmann::json& about) const override;
  nlohmann::json result(const nlohmann::json& about) const override;
  std::string describe(const nlohmann::json& result) const override;

 protected:
  TrainedGraph trained_;
  Checked checked_;
};

// The narrowed model, for `l0gm predict` through LibTorch: classes of nodes. Parity is proven on nodes.
class NodeCompaction : public GraphCompaction {
 public:
  explicit NodeCompaction(const std::filesystem::path& run);
  std::vector<double> trained(Precision precision) override;
  std::vector<double> folded() override;
  std::vector<double> served(const std::filesystem::path& file) override;
  Predictions served(const std::filesystem::path& file, Split split) override;
  int64_t write(const std::filesystem::path& file, WeightType weights, const Calibrator& calibrator,
                const nlohmann::json& about) override;

 private:
  const std::vector<double>& found(const std::filesystem::path& file);
  std::vector<int64_t> nodes_, predicted_;  // parity is proven on the first; the second has those of the figures, too
  std::vector<double> found_;               // what the last file said of them
  std::string found_in_;                    // SHA-256 of its tensors
};

// The same for links: parity is proven on validation links and as many pairs without one.
class LinkCompaction : public GraphCompaction {
 public:
  explicit LinkCompaction(const std::filesystem::path& run);
  std::vector<double> trained(Precision precision) override;
  std::vector<double> folded() override;
  std::vector<double> served(const std::filesystem::path& file) override;
  Predictions served(const std::filesystem::path& file, Split split) override;
  int64_t write(const std::filesystem::path& file, WeightType weights, const Calibrator& calibrator,
                const nlohmann::json& about) override;

 private:
  Predictions ask(std::shared_ptr<Model> model, const Graph& graph, Split split, torch::Dtype dtype);
};

// Whichever the run and the options ask for: links, look-ups of known nodes, or the model.
std::unique_ptr<Compaction> make_graph_compaction(const std::filesystem::path& run, const CompactOptions& options);

}  // namespace l0gm
