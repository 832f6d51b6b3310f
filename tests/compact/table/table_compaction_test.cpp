#include "compact/table/table_compaction.h"

#include <gtest/gtest.h>

#include <numeric>

#include "compact/compact_run.h"
#include "compact/parity.h"
#include "compact/table/check_rows.h"
#include "runtime/compact_file.h"
#include "runtime/probabilities.h"
#include "runtime/reference_logits.h"
#include "training/tiny_run.h"

namespace l0gm {
namespace {

using namespace testing_tools;

struct Trained {
  TemporaryFolder folder;
  std::filesystem::path run = folder.path() / "run";
  explicit Trained(const std::vector<std::string>& assignments = {}) { train(tiny_config(assignments), run); }
};

// A trained run, its compaction with 300 generated rows, and its folded net once more, to be altered.
struct Altered {
  Trained trained{{"gate.target_active=0.25"}};
  TableCompaction compaction{trained.run, options()};
  TableRun run{trained.run, one_thread()};
  std::vector<double> wanted = compaction.trained(Precision::float64);
  FoldedModel folded;
  Altered() {
    place(*run.model, torch::kCPU, torch::kFloat64);
    folded = fold_table(*run.model, run.gate_state, run.table.schema, {});
  }
  static CompactOptions options() {
    CompactOptions some;
    some.generated_rows = 300;
    return some;
  }
  // What the net says of validation and generated rows, in float64.
  std::vector<double> probabilities() {
    const TextTable generated = make_check_rows(run.table.schema, 300, 0);
    std::vector<int64_t> all(300);
    std::iota(all.begin(), all.end(), int64_t{0});
    std::vector<double> result;
    append(run.dataset().table, run.dataset().valid, result);
    append(generated, all, result);
    return result;
  }
  void append(const TextTable& table, const std::vector<int64_t>& rows, std::vector<double>& to) const {
    const EncodedTable encoded = encode_rows(table, RowEncoder(folded.schema), rows, false);
    std::vector<double> logits(static_cast<size_t>(folded.net.logits())), p(folded.schema.classes.size());
    for (int64_t row = 0; row < encoded.rows(); ++row) {
      reference_logits(folded.net, encoded.codes.data() + row * encoded.code_slots,
                       encoded.slopes.data() + row * encoded.slope_slots, logits.data());
      mean_probabilities(logits.data(), folded.net.members, folded.net.outputs, p.data());
      to.insert(to.end(), p.begin(), p.end());
    }
  }
};

// A net that says something else is refused, and the message names the row and both probabilities.
TEST(TableCompaction, AnAlteredNetIsRefused) {
  Altered made;
  EXPECT_EQ(made.compaction.checked().rows, std::ssize(made.run.dataset().valid) + 300);
  EXPECT_LE(require_parity(made.compaction, made.compaction.folded(), made.wanted, algebra_limit, "test"), algebra_limit);
  EXPECT_LE(require_parity(made.compaction, made.probabilities(), made.wanted, algebra_limit, "test"), algebra_limit);
  made.folded.net.base.values.back() += 1e-6;
  const std::string message = message_of<std::runtime_error>(
      [&] { require_parity(made.compaction, made.probabilities(), made.wanted, algebra_limit, "test"); });
  for (const char* words : {"is not the trained one", " row ", "P(", "The row: f00=", "1e-09"})
    EXPECT_NE(message.find(words), std::string::npos) << message;
}

TEST(TableCompaction, RowsAreNamedByTheirTable) {
  Altered made;
  const auto first = std::ssize(made.run.dataset().valid);
  const Compaction::Checked& checked = made.compaction.checked();
  EXPECT_EQ(checked.where(0), "validation row " + std::to_string(made.run.dataset().valid[0]));
  EXPECT_EQ(checked.where(first - 1), "validation row " + std::to_string(made.run.dataset().valid.back()));
  EXPECT_EQ(checked.where(first), "generated row 0");
  EXPECT_EQ(checked.where(first + 299), "generated row 299");
  EXPECT_TRUE(checked.what(first).starts_with("f00=")) << checked.what(first);
}

TEST(TableCompaction, AFileThatSaysSomethingElseIsRefused) {
  Altered made;
  Parity parity;
  parity.own_error = largest_difference(made.compaction.trained(Precision::float32), made.wanted).difference;
  EXPECT_GT(parity.own_error, 0);
  const auto file = made.trained.folder.path() / "m.l0gm";
  const auto check = [&] {
    write_compact(file, {made.folded.schema, WeightType::float32, {}, ',', nlohmann::json::object()}, made.folded.net);
    return require_parity(made.compaction, made.compaction.served(file), made.wanted, parity.numerics_limit(),
                          "float32 against float64");
  };
  EXPECT_LE(check(), parity.numerics_limit());
  made.folded.net.base.values.back() += 1e-3;
  EXPECT_NE(message_of<std::runtime_error>(check).find("float32 against float64"), std::string::npos);
}

TEST(TableCompaction, LookUpsAreForGraphs) {
  const Trained trained;
  CompactOptions options;
  options.lookup = "all";
  const std::string message = message_of<UserError>([&] { TableCompaction(trained.run, options); });
  EXPECT_NE(message.find("--nodes"), std::string::npos) << message;
}

// Real runs of every way of control, through the verb's own function.
TEST(TableCompaction, ProvesAndWritesRealRuns) {
  for (const std::vector<std::string>& assignments :
       {std::vector<std::string>{"gate.unit=none"},
        {"gate.target_active=0.25", "model.name=xdeepfm", "table.statistics=columns"},
        {"gate.k=5", "gate.unit=group", "model.members=3"},
        {"gate.target_active=0.25", "model.members=3", "model.ensemble=heads"},
        {"gate.target_active=0.25", "model.members=20", "model.name=xdeepfm", "table.statistics=pairs"},
        {"gate.logits=instance", "gate.lambda=0.003", "model.name=deepfm"},
        {"gate.unit=fine", "gate.target_active=0.3", "gate.test_rule=median", "model.name=wide-deep",
         "train.precision=float64"}}) {
    const Trained trained(assignments);
    const auto out = trained.folder.path() / "model.l0gm";
    const nlohmann::json result = compact_run(compact_kinds(), trained.run, out, {}).json;
    EXPECT_LE(result["parity_float64"].get<double>(), algebra_limit) << assignments[0];
    EXPECT_LE(result["parity_float32"].get<double>(), result["parity_float32_limit"].get<double>()) << assignments[0];
    const CompactFile file = read_compact(out);
    EXPECT_EQ(file.header.about["parity"]["rows"], result["rows_checked"]);
    EXPECT_TRUE(file.header.about["figures"].contains("test"));
    EXPECT_TRUE(std::filesystem::exists(trained.folder.path() / "model.md"));
    EXPECT_FALSE(std::filesystem::exists(out.string() + ".candidate"));
  }
}

TEST(TableCompaction, FewerBitsGetTheirOwnCalibrator) {
  const Trained trained({"gate.target_active=0.25"});
  CompactOptions options;
  options.weights = WeightType::int8;
  const auto out = trained.folder.path() / "model.l0gm";
  const nlohmann::json result = compact_run(compact_kinds(), trained.run, out, options).json;
  const CompactFile file = read_compact(out);
  EXPECT_EQ(file.header.weights, WeightType::int8);
  EXPECT_GT(result["rounding"]["largest_difference"].get<double>(), 1e-6);
  const Calibrator before = Calibrator::from_json(result["rounding"]["calibrator_of_float32"]);
  EXPECT_EQ(file.header.calibrator.kind, before.kind);
  EXPECT_NE(file.header.calibrator.temperature, before.temperature);
}

}  // namespace
}  // namespace l0gm
