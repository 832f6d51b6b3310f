#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "encode/table/schema.h"
#include "l0gm/gate_pass.h"

// What a row costs when the compact file of a table model is served (gate.cost = serving): look-ups, numbers that are added to
// the first layer, products of the layers behind it.
namespace l0gm {

// Nanoseconds of the runtime, one thread, rows of numbers, 1,024 at a time. A run keeps those that it was started with.
struct ServingPrices {
  using HasFields = void;
  double row = 0;      // whatever the model is
  double code = 0;     // a cell of a category: its code
  double number = 0;   // a cell of a number: its bin, or which known value it is
  double cut = 0;      // the same number once more, cut into a statistic's ranges
  double look_up = 0;  // a statistic: its key, and its place in the table of keys
  double add = 0;      // a number of a row that is added to the first layer
  double product = 0;  // a multiplication and addition of the layers behind it
  double pair = 0;     // the same in pairs of fields and in CIN

  template <class Visitor>
  void visit(Visitor& v) {
    v("row", row);
    v("code", code);
    v("number", number);
    v("cut", cut);
    v("look_up", look_up);
    v("add", add);
    v("product", product);
    v("pair", pair);
  }
};

// As bench/serving_prices.py fitted them to measured times.
ServingPrices fitted_prices();

// What of a model's shape decides how long a row takes.
struct ServedShape {
  int64_t sums = 0;          // numbers of the first layer, of all members, and linear terms
  double products = 0;       // of the layers behind it
  double grid_products = 0;  // of pairs and CIN, while all fields are open
};

// What is looked up at once: the table of each column, with its embeddings, linear terms and the statistics of its own codes;
// then each statistic that no column's table holds.
struct LookUps {
  std::vector<int64_t> of_field;   // which look-up each field of the schema is a part of
  std::vector<std::string> names;  // columns first, in the schema's order
};
LookUps look_ups_of(const Schema& schema);
// Whether a field is a statistic whose value follows from a code of its column: its table holds it.
bool is_held_by_table(const Schema& schema, const Field& field);

// In nanoseconds.
struct ServingCosts {
  SharedCosts units;   // reading a column and cutting its numbers is shared
  double besides = 0;  // what a row costs with all units closed
};
// The units are sources of fields (source_of_field: below `sources`): look-ups, or columns and pairs.
ServingCosts serving_costs(const Schema& schema, const std::vector<int64_t>& source_of_field, int64_t sources,
                           const ServedShape& shape, const ServingPrices& prices);

}  // namespace l0gm
