#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/table/encoded.h"
#include "encoders/table/serving_costs.h"
#include "model/model.h"
#include "model/options.h"

namespace l0gm {

// Everything a table model is built from beside its schema and its gate.
struct TableModelOptions {
  ModelOptions model;
  FmOptions fm;
  CinOptions cin;
  bool balanced = false;  // classes weigh the same in the loss: logits start at equal odds, else at the base rate
  ServingPrices prices = fitted_prices();  // gate.cost = serving
};

std::vector<std::string> table_model_names();
// Hidden layers, which members of an ensemble can share.
bool has_deep_branch(const std::string& name);

// A table model, its parameters drawn from `seed`. The interface of `linear` are the terms themselves, and its units columns.
std::shared_ptr<Model> make_table_model(const Schema& schema, const std::vector<FieldCounts>& counts,
                                        const TableModelOptions& options, const GateOptions& gate, uint64_t seed);

}  // namespace l0gm
