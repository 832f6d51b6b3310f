#pragma once

#include <map>
#include <optional>

#include "batches/table/table_batches.h"
#include "data/table/tree_grower.h"
#include "training/task.h"

namespace l0gm {

// Rows of a table, encoded once; a fresh order every epoch.
class TableTask : public Task {
 public:
  TableTask(const Schema& schema, int64_t batch, uint64_t seed) : schema_(schema), batch_(batch), seed_(seed) {}
  void add_split(Split split, EncodedTable table, torch::Device device, torch::Dtype dtype);
  // What trees read of the rows: for trees beside the net, and for a better choice of columns.
  struct Trees {
    std::unique_ptr<TreeGrower> grower;
    bool beside = false, refit_columns = false;
    bool units_are_columns = false;
  };
  void set_trees(Trees trees) { trees_ = std::move(trees); }

  void set_soft_targets(const Predictions& predictions) override;

  int64_t steps_per_epoch() const override;
  std::shared_ptr<Batch> training_batch(int64_t epoch, int64_t index) override;
  Predictions predict(Model& model, const GateState& state, Split split) override;
  Predictions predict_sample(Model& model, const GateState& state, Split split, int64_t examples) override;
  bool has_fixed_shapes() const override { return true; }
  std::optional<std::vector<uint8_t>> better_units(const std::vector<uint8_t>& open, const std::atomic<bool>& stop) override;
  bool complete(Model& model, const GateState& state, const RunFolder& folder, const std::atomic<bool>& stop) override;
  int64_t class_count() const override { return static_cast<int64_t>(schema_.classes.size()); }
  const TableTensors& split(Split name) const { return splits_.at(name); }

 private:
  std::vector<TreeChoice> tree_choices(Model& model, const GateState& state) const;
  std::vector<double> probabilities_of(const TreeGrowth& growth, const std::vector<int64_t>& rows) const;

  Schema schema_;
  Trees trees_;
  double tree_share_ = 0;                   // once training is complete
  std::vector<double> tree_probabilities_;  // then: of validation rows x classes
  int64_t batch_;
  uint64_t seed_;
  std::map<Split, TableTensors> splits_;
  std::map<std::pair<Split, int64_t>, TableTensors> samples_;
  int64_t ordered_epoch_ = -1;
  torch::Tensor order_;
};

// Predictions over all rows, in blocks, with the trees of the schema unless these are to be left out; the model is in
// evaluation mode afterwards.
Predictions predict_table(Model& model, const GateState& state, const TableTensors& rows, const Schema& schema,
                          bool with_trees = true);

}  // namespace l0gm
