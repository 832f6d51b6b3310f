#include "evaluation/predict_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/text.h"
#include "data/table/csv.h"
#include "data/table/source.h"
#include "l0gm/error.h"

namespace l0gm {

namespace {

constexpr int64_t block = 8192;

void append_rows(std::string& out, const Predictions& predictions) {
  for (int64_t i = 0; i < predictions.size(); ++i) {
    const auto p = predictions.row(i);
    const auto top = static_cast<size_t>(std::max_element(p.begin(), p.end()) - p.begin());
    out += std::to_string(predictions.rows[static_cast<size_t>(i)]);
    out += ',';
    append_csv_cell(out, predictions.classes[top]);
    for (const double value : p) {
      out += ',';
      out += shortest(value);
    }
    out += '\n';
  }
}

nlohmann::json by_column(const Schema& schema, const std::vector<int64_t>& counts) {
  nlohmann::json result = nlohmann::json::object();
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) result[schema.columns[i].name] = counts[i];
  }
  return result;
}

}  // namespace

nlohmann::json predict_file(LoadedRun& run, const std::filesystem::path& input, const std::filesystem::path& output,
                            const PredictFileOptions& options, const Machine& machine) {
  const Schema& schema = run.table.schema;
  CsvOptions csv;
  csv.delimiter = options.delimiter != 0 ? options.delimiter : delimiter_of(run.config.data);
  CsvReader reader(input, csv);
  const std::vector<int64_t> columns = match_columns(reader.names(), schema);
  const RowEncoder encoder(schema);
  RowEncoder::Counts counts = encoder.empty_counts();
  AtomicFile file(output);
  std::string text = "row,prediction";
  for (const std::string& name : schema.classes) {
    text += ',';
    append_csv_cell(text, "p_" + name);
  }
  text += '\n';
  std::vector<std::string_view> cells, ordered(columns.size());
  EncodedTable rows;
  rows.code_slots = schema.code_slots();
  rows.slope_slots = schema.slope_slots();
  int64_t total = 0;
  const auto flush = [&] {
    if (rows.row_numbers.empty()) return;
    const TableTensors tensors(rows, machine.device, dtype_of(run.config.train.precision));
    Predictions predictions = predict_table(*run.model, run.gate_state, tensors, schema.classes);
    if (options.calibrated) predictions = run.calibrator.apply(std::move(predictions));
    append_rows(text, predictions);
    file.write(text);
    text.clear();
    rows.codes.clear();
    rows.slopes.clear();
    rows.row_numbers.clear();
  };
  while (reader.next(cells)) {
    for (size_t i = 0; i < columns.size(); ++i) ordered[i] = cells[static_cast<size_t>(columns[i])];
    rows.codes.resize(rows.codes.size() + static_cast<size_t>(rows.code_slots));
    rows.slopes.resize(rows.slopes.size() + static_cast<size_t>(rows.slope_slots));
    encoder.encode(ordered.data(), rows.codes.data() + rows.codes.size() - rows.code_slots,
                   rows.slopes.data() + rows.slopes.size() - rows.slope_slots, &counts);
    rows.row_numbers.push_back(total++);
    if (static_cast<int64_t>(rows.row_numbers.size()) == block) flush();
  }
  if (total == 0) throw UserError(fmt::format("{} has a header but no rows", input.string()));
  flush();
  file.commit();
  return {{"rows", total}, {"output", output.string()}, {"calibrated", options.calibrated}, {"unseen", by_column(schema, counts.unseen)},
          {"unreadable", by_column(schema, counts.unreadable)}, {"missing", by_column(schema, counts.missing)}};
}

}  // namespace l0gm
