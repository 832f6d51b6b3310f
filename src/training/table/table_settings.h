#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "training/options.h"

namespace l0gm {

// What settings follow from: training rows, input columns, classes.
struct TableFacts {
  int64_t rows = 0, columns = 0, classes = 2;
  bool measures_columns = false;  // a budget of columns, which are closed one by one (gate.worth)
  bool gates_dimensions = false;  // single units of the interface are closed, by a gate or a mask
  bool dense = false;             // there is no gate
  bool shares_layers = true;      // the model that was named, if one was, has hidden layers that members can share
  bool may_be_taught = false;     // a gate on single units of a model that nobody named, and no other start or teacher
};

// An option that follows from the table, where nobody named it.
struct TableSetting {
  std::string_view key;
  std::string value;  // as in a configuration
};

// `epochs`: how many were asked for; 0: nobody named them.
std::vector<TableSetting> table_settings(const TableFacts& facts, Quality quality, int64_t epochs = 0);

// Whether a dense model is trained first, as a teacher, where nobody said so (distill.dense).
bool is_taught_by_dense_model(const TableFacts& facts, Quality quality);

// The same for people, as rows of docs/options.md.
std::vector<std::string> describe_table_settings();

}  // namespace l0gm
