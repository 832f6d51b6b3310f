#pragma once

#include "data/graph/graph.h"
#include "training/graph/graph_record.h"
#include "training/modality.h"

namespace l0gm {

// A graph as it was read, and with the attributes scaled as a model reads them once that is fitted.
class GraphData : public Dataset {
 public:
  explicit GraphData(Graph graph) : raw(std::move(graph)) {}
  const std::string& name() const override { return raw.name; }
  Graph raw, scaled;
};

// Nodes of a graph are classified, or pairs of them as linked or not.
class GraphModality : public Modality {
 public:
  std::string_view name() const override { return "graph"; }
  bool reads(const DataOptions& data) const override;
  std::vector<Default> defaults() const override;
  std::vector<std::string> models() const override;
  void resolve(OptionList& options, const Config& config) const override;
  Trials trials(const Config& config, const Record& record) const override;
  std::vector<std::string> resolved_defaults() const override;
  void check(const Config& config, const Machine& machine) const override;
  std::shared_ptr<Dataset> load(const Config& config) const override;
  std::unique_ptr<Record> fit(Dataset& dataset, const Config& config) const override;
  std::unique_ptr<Record> read_record(const nlohmann::json& json) const override;
  std::shared_ptr<Model> make_model(const Record& record, const Config& config, uint64_t seed) const override;
  std::unique_ptr<Task> make_task(const std::shared_ptr<Dataset>& dataset, const Record& record, std::shared_ptr<Model> model,
                                  const Config& config, const Machine& machine) const override;
  std::string describe(const Dataset& dataset, const Record& record, const Model& model) const override;
  DataReport export_data(const Config& config, const std::filesystem::path& folder, bool perturb) const override;
  DataReport make_data(const Config& config, const std::filesystem::path& file) const override;
  std::unique_ptr<Run> open(const std::filesystem::path& path, const Machine& machine) const override;
};

}  // namespace l0gm
