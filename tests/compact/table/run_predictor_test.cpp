#include "compact/table/run_predictor.h"

#include <gtest/gtest.h>

#include "compact/compact_kinds.h"
#include "compact/table/check_rows.h"
#include "training/tiny_run.h"

namespace l0gm {
namespace {

using namespace testing_tools;

TEST(RunPredictor, SaysWhatTheRunSaysRawAndCalibrated) {
  const TemporaryFolder folder;
  train(tiny_config({"gate.target_active=0.25"}), folder.path() / "run");
  const TableRun run(folder.path() / "run", one_thread());
  const TextTable table = make_check_rows(run.table.schema, 40, 1);
  std::vector<int64_t> rows;
  std::vector<std::string_view> cells;
  for (int64_t row = 0; row < table.rows(); ++row) {
    rows.push_back(row);
    for (int64_t c = 0; c < table.columns(); ++c) cells.push_back(table.cell(row, c));
  }
  InputCounts counts = RowEncoder(run.table.schema).empty_counts();
  const EncodedTable encoded = encode_rows(table, RowEncoder(run.table.schema), rows, false, &counts);
  const Predictions raw =
      predict_table(*run.model, run.gate_state, TableTensors(encoded, torch::kCPU, torch::kFloat32), run.table.schema);
  const Predictions scaled = run.calibrator.apply(raw);
  ASSERT_NE(raw.probabilities, scaled.probabilities);
  for (const bool calibrated : {false, true}) {
    const std::unique_ptr<Predictor> predictor =
        open_predictor(compact_kinds(), folder.path() / "run", {calibrated, one_thread(), {}});
    ASSERT_NE(dynamic_cast<const RunPredictor*>(predictor.get()), nullptr);
    EXPECT_EQ(predictor->delimiter(), ',');
    EXPECT_FALSE(predictor->concurrent());
    EXPECT_EQ(predictor->columns(), table.names());
    EXPECT_EQ(predictor->classes(), run.table.schema.classes);
    InputCounts found = predictor->empty_counts();
    std::vector<float> p(raw.probabilities.size());
    predictor->predict({cells, table.rows()}, p, found);
    EXPECT_EQ(found.missing, counts.missing);
    EXPECT_EQ(found.unseen, counts.unseen);
    for (size_t i = 0; i < p.size(); ++i) EXPECT_NEAR(p[i], (calibrated ? scaled : raw).probabilities[i], 1e-6);
  }
}

}  // namespace
}  // namespace l0gm
