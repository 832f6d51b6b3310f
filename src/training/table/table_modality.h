#pragma once

#include "data/table/encoded.h"
#include "data/table/table_dataset.h"
#include "training/modality.h"
#include "training/table/table_record.h"

namespace l0gm {

// A table as it was read, and its training rows as fitting encoded them, until the task has its own copy of both.
class TableData : public Dataset {
 public:
  explicit TableData(TableDataset dataset) : data(std::move(dataset)) {}
  const std::string& name() const override { return data.name; }
  TableDataset data;
  EncodedTable train;
};

// Rows of a table are classified.
class TableModality : public Modality {
 public:
  std::string_view name() const override { return "table"; }
  bool reads(const DataOptions& data) const override;
  std::vector<Default> defaults() const override { return {}; }
  std::vector<std::string> models() const override;
  void settle(Config& config, const Record& record) const override;
  Trials trials(const Config& config, const Record& record) const override;
  std::vector<std::string> resolved_defaults() const override;
  std::shared_ptr<Dataset> load(const Config& config) const override;
  std::unique_ptr<Record> fit(Dataset& dataset, const Config& config) const override;
  std::unique_ptr<Record> read_record(const nlohmann::json& json) const override;
  void measure(Record& record, const Dataset& dataset, const Config& config, const Machine& machine,
               const Record* stored) const override;
  std::shared_ptr<Model> make_model(const Record& record, const Config& config, uint64_t seed) const override;
  std::unique_ptr<Task> make_task(const std::shared_ptr<Dataset>& dataset, const Record& record, std::shared_ptr<Model> model,
                                  const Config& config, const Machine& machine) const override;
  std::string describe(const Dataset& dataset, const Record& record, const Model& model) const override;
  DataReport export_data(const Config& config, const std::filesystem::path& folder, bool perturb) const override;
  DataReport make_data(const Config& config, const std::filesystem::path& file) const override;
  DataReport known_truth(const Config& config) const override;
  std::unique_ptr<Run> open(const std::filesystem::path& path, const Machine& machine) const override;
};

}  // namespace l0gm
