#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "data/table/table_dataset.h"
#include "training/run.h"
#include "training/table/table_task.h"

namespace l0gm {

// Everything a run knows about its table without having it: schema.json.
struct TableRecord {
  Schema schema;
  std::vector<FieldCounts> counts;
  std::string dataset;
  std::vector<FileStamp> files;
  std::vector<std::string> planted;
  double bayes_auc = 0, bayes_nll = 0;
  std::string training_rows;  // SHA-256 of which rows of the dataset were trained on
  std::string teacher;        // of the weights that soft labels came from; "": none

  nlohmann::json to_json() const;
  static TableRecord from_json(const nlohmann::json& json);
};

// Trains `config` into the folder `out`; with `resume` goes on where an interrupted run stopped.
// False when `stop` was raised before the end.
bool train_table(const Config& config, const std::filesystem::path& out, bool resume, const Machine& machine,
                 const std::vector<Observer*>& observers, const std::atomic<bool>& stop);

// A finished run on a table, ready to predict.
struct LoadedTable : LoadedRun {
  TableRecord table;
};
LoadedTable load_table_run(const std::filesystem::path& path, const Machine& machine);

// The table a run was trained on; refuses when its files have changed since.
TableDataset load_dataset(const LoadedTable& run);
// The rows of one split (train, valid, test), encoded as in training: the statistics of training rows are out of fold.
EncodedTable load_split(const LoadedTable& run, const std::string& split);

}  // namespace l0gm
