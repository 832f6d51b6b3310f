#include "compact/parity.h"

#include <gtest/gtest.h>

#include <numeric>

#include "compact/compact_run.h"
#include "compact/table/check_rows.h"
#include "runtime/compact_file.h"
#include "training/tiny_run.h"

namespace l0gm {
namespace {

using namespace testing_tools;

struct Trained {
  TemporaryFolder folder;
  std::filesystem::path run = folder.path() / "run";
  explicit Trained(const std::vector<std::string>& assignments = {}) { train(tiny_config(assignments), run); }
};

std::vector<int64_t> all(const TextTable& table) {
  std::vector<int64_t> rows(static_cast<size_t>(table.rows()));
  std::iota(rows.begin(), rows.end(), int64_t{0});
  return rows;
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

// A net that says something else is refused, and the message names the row and both probabilities.
TEST(Parity, AnAlteredNetIsRefused) {
  const Trained trained({"gate.target_active=0.25"});
  TrainedModel model(trained.run);
  FoldedModel folded = fold_table(*model.exact.model, model.exact.gate_state, model.exact.table.schema, {});
  const TextTable table = make_check_rows(model.exact.table.schema, 300, 3);
  const ParityRows rows{"generated", table, all(table)};
  Parity parity;
  check_algebra(model, folded, rows, parity);
  EXPECT_EQ(parity.rows, 300);
  EXPECT_LE(parity.algebra, algebra_limit);
  folded.net.base.values.back() += 1e-6;
  const std::string message = message_of([&] { check_algebra(model, folded, rows, parity); });
  for (const char* words : {"is not the trained one", "generated row", "P(", "f00=", "1e-09"})
    EXPECT_NE(message.find(words), std::string::npos) << message;
}

TEST(Parity, AFileThatSaysSomethingElseIsRefused) {
  const Trained trained({"gate.target_active=0.25"});
  TrainedModel model(trained.run);
  FoldedModel folded = fold_table(*model.exact.model, model.exact.gate_state, model.exact.table.schema, {});
  const TextTable table = make_check_rows(model.exact.table.schema, 300, 3);
  const ParityRows rows{"generated", table, all(table)};
  const auto file = trained.folder.path() / "m.l0gm";
  const auto check = [&] {
    Parity parity;
    write_compact(file, {folded.schema, WeightType::float32, {}, ',', nlohmann::json::object()}, folded.net);
    check_numerics(model, file, rows, parity);
    EXPECT_LE(parity.numerics, parity.numerics_limit());
    EXPECT_GT(parity.own_error, 0);
  };
  check();
  folded.net.base.values.back() += 1e-3;
  EXPECT_NE(message_of(check).find("float32 against float64"), std::string::npos);
}

// Real runs of every way of control, through the verb's own function.
TEST(CompactRun, ProvesAndWritesRealRuns) {
  for (const std::vector<std::string>& assignments :
       {std::vector<std::string>{"gate.unit=none"},
        {"gate.target_active=0.25", "model.name=xdeepfm", "table.statistics=columns"},
        {"gate.k=5", "gate.unit=group", "model.members=3"},
        {"gate.logits=instance", "gate.lambda=0.003", "model.name=deepfm"},
        {"gate.unit=fine", "gate.target_active=0.3", "gate.test_rule=median", "model.name=wide-deep",
         "train.precision=float64"}}) {
    const Trained trained(assignments);
    const auto out = trained.folder.path() / "model.l0gm";
    const nlohmann::json result = compact_run(trained.run, out, {});
    EXPECT_LE(result["parity_float64"].get<double>(), algebra_limit) << assignments[0];
    EXPECT_LE(result["parity_float32"].get<double>(), result["parity_float32_limit"].get<double>()) << assignments[0];
    const CompactFile file = read_compact(out);
    EXPECT_EQ(file.header.about["parity"]["rows"], result["rows_checked"]);
    EXPECT_TRUE(file.header.about["figures"].contains("test"));
    EXPECT_TRUE(std::filesystem::exists(trained.folder.path() / "model.md"));
    EXPECT_FALSE(std::filesystem::exists(out.string() + ".candidate"));
  }
}

TEST(CompactRun, FewerBitsGetTheirOwnCalibrator) {
  const Trained trained({"gate.target_active=0.25"});
  CompactOptions options;
  options.weights = WeightType::int8;
  const auto out = trained.folder.path() / "model.l0gm";
  const nlohmann::json result = compact_run(trained.run, out, options);
  const CompactFile file = read_compact(out);
  EXPECT_EQ(file.header.weights, WeightType::int8);
  EXPECT_GT(result["rounding"]["largest_difference"].get<double>(), 1e-6);
  const Calibrator before = Calibrator::from_json(result["rounding"]["calibrator_of_float32"]);
  EXPECT_EQ(file.header.calibrator.kind, before.kind);
  EXPECT_NE(file.header.calibrator.temperature, before.temperature);
}

TEST(CheckRows, BringEverythingAFileCan) {
  const Trained trained;
  const TrainedModel model(trained.run);
  const Schema& schema = model.single.table.schema;
  const TextTable table = make_check_rows(schema, 2000, 1), again = make_check_rows(schema, 2000, 1),
                  other = make_check_rows(schema, 2000, 2);
  EXPECT_EQ(table.cell(1999, 3), again.cell(1999, 3));
  int64_t different = 0;
  for (int64_t row = 0; row < 2000; ++row) different += table.cell(row, 3) != other.cell(row, 3) ? 1 : 0;
  EXPECT_GT(different, 1000);
  const RowEncoder encoder(schema);
  RowEncoder::Counts counts = encoder.empty_counts();
  encode_rows(table, encoder, all(table), false, &counts);
  for (size_t c = 0; c < schema.columns.size(); ++c) {
    EXPECT_GT(counts.missing[c], 20) << c;
    EXPECT_GT(schema.columns[c].type == ColumnType::numeric ? counts.unreadable[c] : counts.unseen[c], 20) << c;
  }
}

}  // namespace
}  // namespace l0gm
