#pragma once

#include <map>
#include <optional>

#include "batches/table/table_batches.h"
#include "data/table/grow_trees.h"
#include "training/task.h"

namespace l0gm {

// Rows of a table, encoded once; a fresh order every epoch.
class TableTask : public Task {
 public:
  TableTask(const Schema& schema, int64_t batch, uint64_t seed) : schema_(schema), batch_(batch), seed_(seed) {}
  void add_split(Split split, EncodedTable table, torch::Device device, torch::Dtype dtype);
  // Trees beside the net, and the validation rows encoded with them.
  void set_trees(GrownTrees grown, const EncodedTable& valid);

  void set_soft_targets(const Predictions& predictions) override;

  int64_t steps_per_epoch() const override;
  std::shared_ptr<Batch> training_batch(int64_t epoch, int64_t index) override;
  Predictions predict(Model& model, const GateState& state, Split split) override;
  Predictions predict_sample(Model& model, const GateState& state, Split split, int64_t examples) override;
  bool has_fixed_shapes() const override { return true; }
  void complete(Model& model, const GateState& state, const RunFolder& folder) override;
  int64_t class_count() const override { return static_cast<int64_t>(schema_.classes.size()); }
  const TableTensors& split(Split name) const { return splits_.at(name); }

 private:
  Schema schema_;
  std::optional<GrownTrees> grown_;
  std::vector<double> tree_probabilities_;  // of validation rows x classes
  int64_t batch_;
  uint64_t seed_;
  std::map<Split, TableTensors> splits_;
  std::map<std::pair<Split, int64_t>, TableTensors> samples_;
  int64_t ordered_epoch_ = -1;
  torch::Tensor order_;
};

// Predictions over all rows, in blocks, with the trees of the schema; the model is in evaluation mode afterwards.
Predictions predict_table(Model& model, const GateState& state, const TableTensors& rows, const Schema& schema);

}  // namespace l0gm
