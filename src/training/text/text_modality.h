#pragma once

#include "training/modality.h"

namespace l0gm {

class TextModality : public Modality {
 public:
  std::string_view name() const override { return "text"; }
  bool reads(const DataOptions& data) const override;
  std::vector<Default> defaults() const override;
  std::vector<std::string> models() const override;
  void resolve(OptionList& options, const Config& config) const override;
  std::vector<std::string> resolved_defaults() const override;
  void check(const Config& config, const Machine& machine) const override;

  std::shared_ptr<Dataset> load(const Config& config) const override;
  std::unique_ptr<Record> fit(Dataset& dataset, const Config& config) const override;
  std::unique_ptr<Record> read_record(const nlohmann::json& json) const override;
  void measure(Record& record, const Dataset& dataset, const Config& config, const Machine& machine,
               const Record* stored) const override;
  std::shared_ptr<Model> make_model(const Record& record, const Config& config, uint64_t seed) const override;
  void start(Model& model, const Config& config) const override;
  void leave_out(TensorMap& weights, const Model& model) const override;
  std::unique_ptr<Task> make_task(const std::shared_ptr<Dataset>& dataset, const Record& record, std::shared_ptr<Model> model,
                                  const Config& config, const Machine& machine) const override;
  std::string describe(const Dataset& dataset, const Record& record, const Model& model) const override;
  DataReport export_data(const Config& config, const std::filesystem::path& folder, bool perturb) const override;
  DataReport make_data(const Config& config, const std::filesystem::path& file) const override;
  DataReport known_truth(const Config& config) const override;
  std::unique_ptr<Run> open(const std::filesystem::path& path, const Machine& machine) const override;
};

}  // namespace l0gm
