#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "training/modality.h"

// A modality that lives in tests alone: points of five numbers each, drawn from a seed, of three classes (data.source = toy).
//   const Config config = read_config(modalities_with_toy(), path, {});
//   train(modalities_with_toy(), config, out, false, machine, {}, stop);
namespace l0gm::testing_tools {

constexpr int64_t toy_numbers = 5;  // of a point

class ToyData : public Dataset {
 public:
  ToyData(int64_t rows, uint64_t seed);
  const std::string& name() const override { return name_; }
  const std::vector<int64_t>& rows(Split split) const { return rows_.at(split); }
  std::vector<double> values_of(const std::vector<int64_t>& rows) const;  // [rows, numbers]

  std::vector<double> values;  // [points, numbers]
  std::vector<int32_t> labels;

 private:
  std::string name_;
  std::map<Split, std::vector<int64_t>> rows_;
};

class ToyRecord : public Record {
 public:
  std::vector<double> mean, deviation;  // of each number, over training rows
  std::vector<std::string> classes;
  std::vector<int64_t> class_rows;

  nlohmann::json to_json() const override;
  static ToyRecord from_json(const nlohmann::json& json);
  std::string label() const override { return "size"; }
  const std::vector<std::string>& class_names() const override { return classes; }
  const std::vector<int64_t>& rows_of_classes() const override { return class_rows; }
  // As the model reads them, [rows, numbers]; a number that is missing (not a number) is read as the mean.
  torch::Tensor scaled(const std::vector<double>& values) const;
};

struct ToyBatch : Batch {
  torch::Tensor numbers;  // scaled, [examples, numbers]
  std::shared_ptr<ToyBatch> select(const torch::Tensor& rows) const;
};
std::shared_ptr<ToyBatch> toy_batch(const ToyData& data, const ToyRecord& record, const std::vector<int64_t>& rows);

// tanh(weight (x - centre) + bias). The centre is a running mean that training moves and evaluation uses: a learned buffer, not a
// parameter.
class ToyEncoder : public Encoder {
 public:
  explicit ToyEncoder(int64_t width);
  torch::Tensor forward(const Batch& batch, GatePass& pass) override;
  int64_t width() const override { return weight_.size(1); }
  InterfaceUnits units(UnitKind kind, Attach attach) const override;
  std::vector<std::string> column_names() const;
  std::vector<int64_t> parameters_of_dimension() const override;
  bool narrow(const torch::Tensor& kept) override;
  std::map<std::string, torch::Tensor> learned_buffers() const override { return {{"centre", centre_}}; }

 private:
  torch::Tensor weight_, bias_, centre_;
};

std::shared_ptr<Model> make_toy_model(const std::vector<int64_t>& class_rows, const ModelOptions& options,
                                      const GateOptions& gate, uint64_t seed);
Predictions predict_toy(Model& model, const GateState& state, const ToyBatch& rows, const std::vector<std::string>& classes);

class ToyTask : public Task {
 public:
  ToyTask(const ToyData& data, const ToyRecord& record, int64_t batch, uint64_t seed);
  int64_t steps_per_epoch() const override;
  std::shared_ptr<Batch> training_batch(int64_t epoch, int64_t index) override;
  Predictions predict(Model& model, const GateState& state, Split split) override;
  int64_t class_count() const override { return static_cast<int64_t>(classes_.size()); }

 private:
  std::map<Split, std::shared_ptr<ToyBatch>> rows_;
  std::vector<std::string> classes_;
  int64_t batch_;
  uint64_t seed_;
};

class ToyModality : public Modality {
 public:
  std::string_view name() const override { return "toy"; }
  bool reads(const DataOptions& data) const override { return data.source == "toy"; }
  std::vector<Default> defaults() const override { return {{"model.name", "points"}, {"train.batch", "32"}}; }
  std::vector<std::string> models() const override { return {"points"}; }
  void check(const Config& config, const Machine& machine) const override;
  std::shared_ptr<Dataset> load(const Config& config) const override;
  std::unique_ptr<Record> fit(Dataset& dataset, const Config& config) const override;
  std::unique_ptr<Record> read_record(const nlohmann::json& json) const override;
  std::shared_ptr<Model> make_model(const Record& record, const Config& config, uint64_t seed) const override;
  std::unique_ptr<Task> make_task(const std::shared_ptr<Dataset>& dataset, const Record& record, std::shared_ptr<Model> model,
                                  const Config& config, const Machine& machine) const override;
  std::string describe(const Dataset& dataset, const Record& record, const Model& model) const override;
  DataReport make_data(const Config& config, const std::filesystem::path& file) const override;
  std::unique_ptr<Run> open(const std::filesystem::path& path, const Machine& machine) const override;
};

// The product's list and the toy.
const Modalities& modalities_with_toy();

}  // namespace l0gm::testing_tools
