#include "compact/table/run_predictor.h"

#include <algorithm>
#include <utility>

#include "data/table/source.h"
#include "training/table/table_task.h"

namespace l0gm {

RunPredictor::RunPredictor(const std::filesystem::path& run, const Machine& machine, std::optional<bool> calibrated)
    : run_(run, machine), machine_(machine), calibrated_(run_.calibrator.is_used(calibrated)), encoder_(run_.table.schema) {
  for (const Column& column : run_.table.schema.columns) columns_.push_back(column.name);
}

char RunPredictor::delimiter() const { return delimiter_of(run_.config.data); }

void RunPredictor::predict(Cells cells, std::span<float> probabilities, InputCounts& counts) const {
  const Schema& schema = run_.table.schema;
  EncodedTable table;
  table.code_slots = schema.code_slots();
  table.slope_slots = schema.slope_slots();
  table.codes.resize(static_cast<size_t>(cells.rows * table.code_slots));
  table.slopes.resize(static_cast<size_t>(cells.rows * table.slope_slots));
  for (int64_t row = 0; row < cells.rows; ++row) {
    encoder_.encode(cells.cells.data() + static_cast<size_t>(row) * columns_.size(), table.codes.data() + row * table.code_slots,
                    table.slopes.data() + row * table.slope_slots, &counts);
    table.row_numbers.push_back(row);
  }
  const TableTensors tensors(std::move(table), machine_.device, dtype_of(run_.config.train.precision));
  Predictions predictions = predict_table(*run_.model, run_.gate_state, tensors, schema);
  if (calibrated_) predictions = run_.calibrator.apply(std::move(predictions));
  std::transform(predictions.probabilities.begin(), predictions.probabilities.end(), probabilities.begin(),
                 [](double p) { return static_cast<float>(p); });
}

}  // namespace l0gm
