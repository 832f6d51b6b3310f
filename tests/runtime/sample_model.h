#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "encode/table/row_encoder.h"
#include "metrics/calibrator.h"
#include "runtime/compact_file.h"
#include "runtime/manifest_net.h"
#include "runtime/mix_trees.h"
#include "runtime/probabilities.h"
#include "runtime/reference_logits.h"

// A small table model with a column of every kind, for the tests of the file, the model and the C interface.
namespace l0gm::testing_tools {

struct SampleOptions {
  int classes = 2;
  int64_t members = 1, hidden = 5;
  std::vector<int64_t> layers = {};
  bool pairs = false, weighted = false, cin = false, gate = false, shared = false, trees = false, tree_statistics = false;
  WeightType weights = WeightType::float32;
  uint64_t seed = 1;
};

// Every part that a net can have; SampleOptions{} is the plainest net.
inline SampleOptions full_sample() {
  return {.classes = 3,
          .members = 2,
          .hidden = 4,
          .layers = {3},
          .pairs = true,
          .weighted = true,
          .cin = true,
          .gate = true,
          .seed = 2};
}

// The same as a batch ensemble.
inline SampleOptions shared_sample() {
  SampleOptions options = full_sample();
  options.shared = true;
  options.gate = false;
  return options;
}

inline Schema sample_schema(int classes) {
  Schema schema;
  schema.label = "wears a hat";
  for (int c = 0; c < classes; ++c) {
    schema.classes.push_back(std::string(1, static_cast<char>('k' + c)));
    schema.class_rows.push_back(10 + c);
  }
  schema.missing_marks = {"", "?"};
  const auto column = [&schema](const char* name, ColumnType type) {
    Column added;
    added.name = name;
    added.type = type;
    if (type == ColumnType::numeric) added.low = -1, added.high = 90, added.deviation = 3;
    schema.columns.push_back(added);
  };
  column("age", ColumnType::numeric);
  column("angle", ColumnType::numeric);
  column("colour", ColumnType::categorical);
  column("city", ColumnType::categorical);
  column("tags", ColumnType::multi);
  column("weight", ColumnType::numeric);
  const auto field = [&schema](const char* name, int64_t of, FieldKind kind) -> Field& {
    Field& added = schema.fields.emplace_back();
    added.name = name;
    added.column = of;
    added.kind = kind;
    return added;
  };
  field("age", 0, FieldKind::piecewise).edges = {0, 25, 50, 100};
  field("age=", 0, FieldKind::exact).values = {30, 20, 40.5};
  field("angle", 1, FieldKind::periodic).deviation = 2;
  field("colour", 2, FieldKind::categorical).vocabulary = {"red", "green", "sky blue"};
  field("city", 3, FieldKind::hashed).buckets = 5;
  Field& tags = field("tags", 4, FieldKind::multi);
  tags.vocabulary = {"a", "b", "c"};
  tags.slots = 3;
  field("weight", 5, FieldKind::plain).mean = 70;
  const auto statistic_field = [&field](const char* name, int64_t of, int64_t statistic, int64_t of_class) {
    Field& added = field(name, of, FieldKind::statistic);
    added.statistic = statistic;
    added.of_class = of_class;
  };
  statistic_field("colour odds", 2, 0, 1);
  statistic_field("colour rows", 2, 0, -1);
  statistic_field("colour and age odds", 2, 1, 1);
  const auto statistic = [&schema](int64_t second, std::vector<int64_t> keys) {
    Statistic& added = schema.statistics.emplace_back();
    added.first = 3;
    added.second = second;
    added.keys = std::move(keys);
    for (size_t k = 0; k < added.keys.size(); ++k) {
      added.counts.push_back(static_cast<int64_t>(3 + k));
      for (int64_t c = 0; c < schema.tracked_classes(); ++c) added.class_counts.push_back((static_cast<int64_t>(k) + c) % 3);
    }
  };
  statistic(-1, {0, 2, 3, 4});
  statistic(1, {2 * 5 + 2, 2 * 5 + 3, 3 * 5 + 2, 4 * 5 + 4});
  return schema;
}

inline void add_grid_and_gate(TableNet<Matrix>& net, const SampleOptions& options) {
  if (options.pairs || options.cin) {
    net.grid_fields = 3;
    net.grid_coordinates = 2;
    for (size_t u = 0; u < 6; ++u) net.units[u].place = static_cast<int64_t>(5 - u);
    net.pairs = {.present = options.pairs,
                 .weighted = options.weighted,
                 .by_coordinate = options.weighted,
                 .weights = {},
                 .coordinates = {}};
    net.cin.present = options.cin;
    if (options.cin) net.cin.maps = {2};
    net.cin.weights.resize(net.cin.maps.size());
    net.cin.pooled.resize(net.cin.maps.size());
  }
  if (!options.gate) return;
  net.gate.present = true;
  net.gate.gates = 3;
  net.gate.rank = 2;
  net.gate.step = false;
  net.gate.scale = 0.5;
  net.gate.gate_begin = {0};
  for (size_t u = 0; u < net.units.size(); ++u) {  // none, one or two gates of a unit
    for (size_t g = 0; g < u % 3; ++g) net.gate.gate_of_unit.push_back(static_cast<int64_t>((u + g) % 3));
    net.gate.gate_begin.push_back(static_cast<int64_t>(net.gate.gate_of_unit.size()));
  }
}

inline TableNet<Matrix> sample_net(const Schema& schema, const SampleOptions& options) {
  TableNet<Matrix> net;
  net.members = options.members;
  net.outputs = options.classes == 2 ? 1 : options.classes;
  net.hidden = options.hidden;
  net.columns = columns_of(schema);
  for (const size_t c : {0U, 1U, 3U, 5U}) net.columns[c].folded = true;
  for (const size_t c : {2U, 3U, 4U}) net.columns[c].units = 2;
  net.columns[1].waves = 4;
  net.unit_tables.resize(3);
  net.frequencies.resize(1);
  net.statistic_slots = statistic_slots_of(schema);
  net.shared = options.shared;
  net.arrange();
  int64_t before = options.hidden;
  for (const int64_t out : options.layers) {
    net.layers.emplace_back().in = before;
    net.layers.back().out = out;
    before = out;
  }
  add_grid_and_gate(net, options);
  RandomStream random(options.seed);
  net.visit([&random](const std::string&, Matrix& matrix, int64_t rows, int64_t columns, ArrayKind) {
    matrix = Matrix(rows, columns);
    for (double& value : matrix.values) value = 0.5 * random.normal();
  });
  return net;
}

// Five trees of depth two over a cut of the age and over the colours, or over two statistics.
inline void add_trees(Schema& schema, bool statistics) {
  schema.cuts.push_back({0, {25, 40, 60}});
  TreeScores& trees = schema.trees;
  trees.inputs = {{KeyPart::of_cut(0), {}}, {KeyPart(3), {}}};
  if (statistics) trees.inputs = {{KeyPart(7), {-1, -0.5F, 0.25F, 2}}, {KeyPart(9), {-0.25F, 0, 0.5F, 1}}};
  trees.depth = 2;
  trees.outputs = schema.tracked_classes();
  trees.share = 0.375;
  RandomStream random(9);
  for (int64_t o = 0; o < trees.outputs; ++o) trees.start.push_back(static_cast<float>(0.25 * random.normal()));
  for (int32_t t = 0; t < 5; ++t) {
    trees.splits.insert(trees.splits.end(), {0, t % 4, 1, t - 1});
    for (int64_t i = 0; i < trees.leaf_values(); ++i) trees.leaves.push_back(static_cast<float>(random.normal()));
  }
}

inline CompactHeader sample_header(const SampleOptions& options) {
  CompactHeader header;
  header.schema = sample_schema(options.classes);
  if (options.trees || options.tree_statistics) add_trees(header.schema, options.tree_statistics);
  header.weights = options.weights;
  header.calibrator.kind = CalibratorKind::temperature;
  header.calibrator.temperature = 1.5;
  header.delimiter = ';';
  header.about = {{"made_for", "tests"}};
  return header;
}

// Known, between known, missing, unseen, unreadable, several and extreme cells.
inline const std::vector<std::vector<std::string>>& sample_rows() {
  static const std::vector<std::vector<std::string>> rows = {
      {"30", "0.5", "red", "Paris", "a", "71.5"},          {"20.0", "-1", "green", "Rome", "a|b", "70"},
      {"33", "3", "sky blue", "?", "c|a|b", "60"},         {"?", "", "?", "", "", "?"},
      {"-5", "1e9", "violet", "Oslo", "x|y|a|b", "1e308"}, {"1000", "-inf", " red ", "a b", "a|a|zz", "-1e308"},
      {"old", "steep", "RED", "Paris ", "|", "heavy"},     {"nan", "0", "green", "Wien", "b|?", "inf"}};
  return rows;
}

inline std::vector<std::string_view> flat(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::string_view> cells;
  for (const auto& row : rows) cells.insert(cells.end(), row.begin(), row.end());
  return cells;
}

// The probabilities of rows by a file's net, computed with the encoder and the double precision reference only.
inline std::vector<double> reference_probabilities(const CompactFile& file, const std::vector<std::vector<std::string>>& rows,
                                                   bool calibrated) {
  const RowEncoder encoder(file.header.schema);
  const TableNet<Matrix> net = unpack(file.net);
  const size_t classes = file.header.schema.classes.size();
  std::vector<int32_t> codes(static_cast<size_t>(file.header.schema.code_slots()));
  std::vector<float> slopes(static_cast<size_t>(file.header.schema.slope_slots()));
  std::vector<double> logits(static_cast<size_t>(net.logits())), result(rows.size() * classes);
  for (size_t r = 0; r < rows.size(); ++r) {
    encoder.encode(flat({rows[r]}).data(), codes.data(), slopes.data());
    reference_logits(net, codes.data(), slopes.data(), logits.data());
    double* const row = result.data() + r * classes;
    mean_probabilities(logits.data(), net.members, net.outputs, row);
    mix_trees(file.header.schema.trees, slopes.data() + slopes.size(), row);
    if (calibrated) file.header.calibrator.apply_to_row({row, classes});
  }
  return result;
}

}  // namespace l0gm::testing_tools
