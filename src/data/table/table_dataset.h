#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/file_stamp.h"
#include "base/text_table.h"

namespace l0gm {

// A table with its label and split: the result of every source (catalogue, csv, generator).
struct TableDataset {
  std::string name;  // for messages and the run's record: "adult/openml/0", "bank.csv"
  TextTable table;
  int64_t label = -1;                       // column
  std::vector<int64_t> train, valid, test;  // row numbers of `table`
  std::vector<std::string> planted;         // made data: the columns that carry signal; else empty
  double bayes_auc = 0;                     // made data: what the best possible model scores; else 0
  std::vector<FileStamp> files;
  std::vector<double> weights;  // of all rows; empty: each counts the same
  double bayes_nll = 0;         // made data: as bayes_auc, where it is known; else 0
  std::string about;            // made data that differ from draw to draw: what was drawn, as JSON; else empty
};

}  // namespace l0gm
