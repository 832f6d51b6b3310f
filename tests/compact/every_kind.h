#pragma once

#include <string>
#include <vector>

#include "base/random.h"
#include "base/text.h"
#include "data/table/encoded.h"
#include "data/table/fit.h"
#include "data/table/statistics.h"
#include "model/table_model.h"

namespace l0gm::testing_tools {

// A small table with a column of every kind of encoding, and what is learned from it.
struct EveryKind {
  TextTable table{{"colour", "id", "tags", "age", "income", "hour", "day", "label"}};
  Schema schema;
  std::vector<FieldCounts> counts;

  explicit EveryKind(int64_t classes, Statistics statistics = Statistics::pairs, bool cuts = true) {
    RandomStream random(5);
    const std::vector<std::string> colours = {"red", "green", "blue", "grey", "?"}, tags = {"a", "b", "c", "d"};
    std::vector<int64_t> rows;
    for (int64_t row = 0; row < 300; ++row) {
      const std::string several = tags[random.below(4)] + "|" + tags[random.below(4)] + (random.below(3) == 0 ? "|e" : "");
      const std::vector<std::string> cells = {colours[random.below(5)],
                                              "user" + std::to_string(random.below(40)),
                                              several,
                                              random.below(10) == 0 ? "" : std::to_string(20 + random.below(12)),
                                              shortest(random.normal() * 1000),
                                              shortest(24 * random.uniform()),
                                              std::to_string(random.below(7)),
                                              "class" + std::to_string(random.below(static_cast<uint64_t>(classes)))};
      table.add_row({cells.begin(), cells.end()});
      rows.push_back(row);
    }
    TableOptions options;
    options.bins = 6;
    options.min_count = 1;
    options.statistics = statistics;
    options.max_pairs = 3;
    std::map<std::string, ColumnOptions> columns;
    columns["id"].hash_buckets = 16;
    columns["tags"].type = "multi";
    columns["income"].encoding = "plain";
    columns["hour"].encoding = "periodic";
    columns["hour"].exact_values = ExactValues::off;
    columns["day"].encoding = "periodic";
    columns["day"].type = "numeric";
    columns["day"].exact_values = ExactValues::on;
    columns["age"].exact_values = ExactValues::on;
    schema = fit_schema(table, 7, rows, options, columns, {});
    EncodedTable encoded = encode_rows(table, RowEncoder(schema), rows, true);
    EncodedTable fresh = encoded;
    fit_statistics(schema, encoded, options);
    if (cuts && statistics == Statistics::pairs) {
      add_cuts(fresh);
      encoded = std::move(fresh);
    }
    counts = count_fields(encoded, schema);
  }

  // Statistics of cuts: of one column, with a category, and of two numeric columns.
  void add_cuts(EncodedTable& encoded) {
    schema.cuts = {{3, {24, 28}}, {4, {-500, 0, 500, 1000}}, {5, {6, 12, 18}}};
    const auto cut = [](int64_t index) { return KeyPart::of_cut(index); };
    add_statistics(schema, encoded, {{cut(0), {}, 0.5, true}, {0, cut(1), 0.5, true}, {cut(1), cut(2), 0.25, false}}, &table);
  }
};

// Every parameter says something, as after training; in double precision, ready to be asked.
inline void shake(Model& model, uint64_t seed) {
  torch::NoGradGuard no_grad;
  at::manual_seed(seed);
  for (auto& item : model.named_parameters()) {
    item.value().copy_(at::randn_like(item.value()) * (is_gate_name(item.key()) ? 1.0 : 0.3));
  }
  place(model, torch::kCPU, torch::kFloat64);
  model.settle();
  model.eval();
}

}  // namespace l0gm::testing_tools
