#pragma once

#include <filesystem>
#include <map>

#include "batches/table/table_batches.h"
#include "data/table/encoded.h"
#include "data/table/table_dataset.h"
#include "encoders/table/field_embeddings.h"
#include "training/run.h"
#include "training/table/table_record.h"

namespace l0gm {

// A finished run on a table.
class TableRun : public Run {
 public:
  TableRun(const std::filesystem::path& path, const Machine& machine);

  const Record& record() const override { return table; }
  Predictions predict(Split split) override;
  // The copy is written to RUN/perturbed/SPLIT-<condition>.csv and read back as any file is.
  PerturbedPredictions predict_perturbed(Split split, const Perturbation& perturbation, bool keep_file) override;
  bool keeps_perturbed_files() const override { return true; }
  std::optional<Predictions> predict_file(const std::filesystem::path& file) override;
  GateReport gates(Split split) override;
  std::optional<InputReport> inputs(Split split) override;
  void add_figures(Split split, Evaluation& evaluation) override;

  const TableDataset& dataset();  // refused when its files have changed since training
  // As in training: the statistics of training rows are out of fold. Encoded at each call: only the tensors are kept.
  EncodedTable encoded(Split split);
  const FieldEmbeddings& fields() const { return dynamic_cast<const FieldEmbeddings&>(model->encoder()); }
  // What the interface of every row was multiplied with, [rows, width]: ones where nothing gates it.
  torch::Tensor gates_by_row(Split split);
  // Of the schema's columns: whether the trees beside the net read it, or a statistic of it.
  std::vector<bool> columns_of_trees() const;

  TableRecord table;

 private:
  void attach_kept_trees();
  const TableTensors& tensors(Split split);
  torch::Tensor share_of_dimension(Split split);  // of rows for which each is open, [width]
  std::map<Split, TableTensors> tensors_;
};

}  // namespace l0gm
