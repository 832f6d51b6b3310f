#include "compact/parity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/text.h"
#include "data/table/encoded.h"
#include "l0gm/runtime.h"
#include "runtime/probabilities.h"

namespace l0gm {

namespace {

[[noreturn]] void refuse(const ParityRows& rows, const Schema& schema, const Worst& worst, double limit, const char* what,
                         double wanted, double found) {
  const size_t classes = schema.classes.size();
  const int64_t row = rows.rows[worst.place / classes];
  std::vector<std::string> cells;
  for (const Column& column : schema.columns) {
    cells.push_back(fmt::format("{}={}", column.name, rows.table.cell(row, rows.table.column(column.name))));
  }
  throw std::runtime_error(
      fmt::format("the compact model is not the trained one ({}): at {} row {} P({}) is {} where the trained model says {}, a "
                  "difference of {:.3g}; allowed are "
                  "{:.3g}. Nothing was written. The row: {}",
                  what, rows.name, row, schema.classes[worst.place % classes], found, wanted, worst.difference, limit,
                  list_some(cells, 40)));
}

}  // namespace

Worst largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  Worst worst;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    if (difference > worst.difference || std::isnan(difference)) worst = {difference, i};
    if (std::isnan(difference)) break;
  }
  return worst;
}

double Parity::numerics_limit() const { return std::max(least_numerics_limit, 2 * own_error); }

TrainedModel::TrainedModel(const std::filesystem::path& run)
    : single(load_table_run(run, prepare_machine("cpu", 0, false))),
      exact(load_table_run(run, prepare_machine("cpu", 0, false))) {
  place(*single.model, torch::kCPU, torch::kFloat32);
  place(*exact.model, torch::kCPU, torch::kFloat64);
}

std::vector<double> TrainedModel::probabilities(const ParityRows& rows, bool exactly) {
  LoadedTable& run = exactly ? exact : single;
  const EncodedTable encoded = encode_rows(rows.table, RowEncoder(run.table.schema), rows.rows, false);
  const TableTensors tensors(encoded, torch::kCPU, exactly ? torch::kFloat64 : torch::kFloat32);
  return predict_table(*run.model, run.gate_state, tensors, run.table.schema.classes).probabilities;
}

void check_algebra(TrainedModel& trained, const FoldedModel& folded, const ParityRows& rows, Parity& parity) {
  const std::vector<double> wanted = trained.probabilities(rows, true);
  const EncodedTable encoded = encode_rows(rows.table, RowEncoder(folded.schema), rows.rows, false);
  const auto classes = folded.schema.classes.size();
  std::vector<double> found(wanted.size()), logits(static_cast<size_t>(folded.net.logits()));
  for (int64_t row = 0; row < encoded.rows(); ++row) {
    reference_logits(folded.net, encoded.codes.data() + row * encoded.code_slots,
                     encoded.slopes.data() + row * encoded.slope_slots, logits.data());
    mean_probabilities(logits.data(), folded.net.members, folded.net.outputs, found.data() + static_cast<size_t>(row) * classes);
  }
  const Worst worst = largest_difference(found, wanted);
  if (!(worst.difference <= algebra_limit)) {
    refuse(rows, trained.exact.table.schema, worst, algebra_limit, "folding, both in float64", wanted[worst.place],
           found[worst.place]);
  }
  parity.algebra = std::max(parity.algebra, worst.difference);
  parity.rows += encoded.rows();
}

std::vector<double> served_probabilities(const std::filesystem::path& file, const ParityRows& rows) {
  const CompactModel model = CompactModel::load(file);
  const RowLayout layout = model.layout(rows.table.names());
  std::vector<std::string_view> cells;
  cells.reserve(rows.rows.size() * static_cast<size_t>(rows.table.columns()));
  for (const int64_t row : rows.rows) {
    for (int64_t c = 0; c < rows.table.columns(); ++c) cells.push_back(rows.table.cell(row, c));
  }
  std::vector<float> served(rows.rows.size() * model.classes().size());
  model.predict(cells, served, &layout);
  return {served.begin(), served.end()};
}

void check_numerics(TrainedModel& trained, const std::filesystem::path& file, const ParityRows& rows, Parity& parity) {
  const std::vector<double> wanted = trained.probabilities(rows, true), found = served_probabilities(file, rows);
  parity.own_error = std::max(parity.own_error, largest_difference(trained.probabilities(rows, false), wanted).difference);
  const Worst worst = largest_difference(found, wanted);
  if (!(worst.difference <= parity.numerics_limit())) {
    refuse(rows, trained.exact.table.schema, worst, parity.numerics_limit(), "the file in float32 against float64",
           wanted[worst.place], found[worst.place]);
  }
  parity.numerics = std::max(parity.numerics, worst.difference);
}

}  // namespace l0gm
