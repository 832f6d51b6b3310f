#pragma once

#include <filesystem>
#include <memory>

#include "data/graph/graph.h"
#include "training/graph/graph_record.h"
#include "training/graph/link_task.h"
#include "training/graph/narrow_graph.h"
#include "training/run.h"

namespace l0gm {

// A finished run on a graph: nodes are classified, or pairs of nodes as linked or not. Predictions come from a copy of the model
// that reads no closed attribute and computes no closed channel; `model` stays as it was trained.
class GraphRun : public Run {
 public:
  GraphRun(const std::filesystem::path& path, const Machine& machine);

  const Record& record() const override { return graph; }
  Nouns nouns() const override { return {predicts_links() ? "pairs of nodes" : "nodes", "attributes"}; }
  Predictions predict(Split split) override;
  // The attributes of nodes outside training are perturbed; where links are predicted, those of all nodes.
  PerturbedPredictions predict_perturbed(Split split, const Perturbation& perturbation, bool keep_file) override;
  GateReport gates(Split split) override;
  std::optional<InputReport> inputs(Split split) override;  // where the gate sits on the attributes
  void add_figures(Split split, Evaluation& evaluation) override;

  const Graph& raw();  // refused when its files have changed since training
  bool predicts_links() const { return config.graph.task == GraphTaskKind::links; }
  // The model without its closed units, and how it reads a graph.
  NarrowedGraph& narrowed();

  GraphRecord graph;

 private:
  Predictions predict_on(const Graph& raw, Split split);
  Predictions predict_read(const Graph& read, Split split);  // of what the narrowed model reads
  // By how much the NLL of validation nodes rises when each of the attributes is closed; where that is cheap.
  void fill_attribute_worth(std::vector<OpenInput>& open);
  std::unique_ptr<LinkTask> link_task(const Graph& graph, std::shared_ptr<Model> model) const;
  std::unique_ptr<NarrowedGraph> narrowed_;
};

}  // namespace l0gm
