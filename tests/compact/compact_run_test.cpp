#include "compact/compact_run.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "compact/candidate.h"
#include "compact/card.h"
#include "compact/fake_compaction.h"
#include "compact/parity.h"
#include "l0gm/error.h"
#include "metrics/make_predictions.h"
#include "support/temporary_folder.h"

// The driver, whatever is compacted: what it asks, in which order it writes, what it says.
namespace l0gm {
namespace {

using namespace testing_tools;

class CompactDriver : public testing::Test {
 protected:
  CompactResult run(const CompactOptions& options = {}) { return compact(compaction_, out_, options); }
  std::string refusal() {
    return message_of<std::runtime_error>([&] { run(); });
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  TemporaryFolder folder_;
  std::filesystem::path out_ = folder_.path() / "m.l0gm";
  FakeCompaction compaction_;
};

TEST(CompactFigures, OfValidationRowsAreCrossFitted) {
  const Predictions p = testing_tools::sharpened(testing_tools::calibrated_model(200, 2, 1.5, 1), 2);
  const Calibrator fitted = fit_calibrator(p, CalibratorKind::isotonic);
  const nlohmann::json valid = figures_of(p, fitted, Split::valid), test = figures_of(p, fitted, Split::test);
  EXPECT_EQ(valid["calibrated_by"], "cross-fit");
  EXPECT_EQ(test["calibrated_by"], "stored");
  EXPECT_GT(valid["nll_scaled"].get<double>(), test["nll_scaled"].get<double>());
  EXPECT_EQ(valid["nll"], test["nll"]);
}

TEST_F(CompactDriver, ProvesWritesAndTells) {
  const CompactResult result = run();
  EXPECT_EQ(files(), (std::vector<std::string>{"m.l0gm", "m.md"})) << "candidates are gone";
  EXPECT_EQ(result.json["model"], out_.string());
  EXPECT_EQ(result.json["card"], (folder_.path() / "m.md").string());
  EXPECT_EQ(result.json["weights"], "float32");
  EXPECT_EQ(result.json["kind"], "fake");
  EXPECT_EQ(result.json["units"], 5);
  EXPECT_EQ(result.json["open_units"], 3);
  EXPECT_EQ(result.json["closed_columns"], nlohmann::json({"x"}));
  EXPECT_EQ(result.json["parity_float64"], 0);
  EXPECT_NEAR(result.json["parity_float32"].get<double>(), 1e-7, 1e-12);
  EXPECT_EQ(result.json["parity_float32_limit"], least_numerics_limit);
  EXPECT_EQ(result.json["rows_checked"], 4);
  EXPECT_EQ(result.json["bytes"], std::filesystem::file_size(out_));
  EXPECT_EQ(result.json["bytes_dense"], 28);
  EXPECT_EQ(result.json["figures"]["valid"]["rows"], 4);
  EXPECT_FALSE(result.json["figures"].contains("test")) << "the split is not there";
  EXPECT_FALSE(result.json.contains("rounding"));
  EXPECT_TRUE(
      result.text.starts_with("fake of 5 units\n  predicts what the run predicts: within 0.0e+00 in float64, 1.0e-07 served"))
      << result.text;
  EXPECT_NE(result.text.find("over 4 rows"), std::string::npos) << result.text;
  const nlohmann::json about = Container::read(out_).facts(2, {}).about;
  EXPECT_EQ(about["figures"], result.json["figures"]);
  EXPECT_EQ(about["parity"]["rows"], 4);
  EXPECT_EQ(about["parity"]["float32"], result.json["parity_float32"]);
  EXPECT_TRUE(read_file(folder_.path() / "m.md").starts_with("# m.l0gm\n"));
}

TEST_F(CompactDriver, NothingIsWrittenUnlessParityHolds) {
  compaction_.folding_error = 1e-6;
  EXPECT_NE(refusal().find("folding, both in float64"), std::string::npos);
  EXPECT_EQ(compaction_.writes, 0);
  compaction_.folding_error = 0;
  compaction_.file_error = 1e-5;
  EXPECT_NE(refusal().find("the file in float32 against float64"), std::string::npos);
  EXPECT_TRUE(files().empty());
  compaction_.own_error = 6e-6;  // the trained model itself is no better
  EXPECT_NEAR(run().json["parity_float32_limit"].get<double>(), 2.4e-5, 1e-12);
  compaction_.own_error = 1e-8;
  compaction_.allowed = 1e-4;  // this kind of model may be that far away
  EXPECT_EQ(run().json["parity_float32_limit"], 1e-4);
}

TEST_F(CompactDriver, AFoldedFileThatIsTooFarIsUnfolded) {
  compaction_.folded_form = true;
  compaction_.file_error = 2.17e-6;
  testing::internal::CaptureStderr();
  const nlohmann::json result = run().json;
  const std::string warning = testing::internal::GetCapturedStderr();
  EXPECT_NEAR(result["parity_float32"].get<double>(), 1e-7, 1e-12);
  EXPECT_NEAR(result["parity_float32_folded"].get<double>(), 2.17e-6, 1e-12);
  EXPECT_NE(warning.find("it is written unfolded"), std::string::npos) << warning;
  EXPECT_FALSE(compaction_.folded_form);
  const nlohmann::json about = Container::read(out_).facts(2, {}).about;
  const std::string on_card = card::parity(about, "rows");
  EXPECT_NE(on_card.find("Folded, the file would be 2.2e-06 away, so that it is written unfolded"), std::string::npos) << on_card;
}

TEST_F(CompactDriver, AModelThatNoFormIsCloseToIsRefusedWithAWayOut) {
  compaction_.folded_form = true;
  compaction_.file_error = 2.5e-5;
  compaction_.unfolded_error = 1.5e-5;
  compaction_.own_error = 1e-6;
  testing::internal::CaptureStderr();
  const std::string message = message_of<UserError>([&] { run(); });
  testing::internal::GetCapturedStderr();
  for (const char* words : {"a difference of 1.5e-05; allowed are 4e-06.",
                            "the larger of 2e-06 and four times what the trained model itself loses in float32, 1e-06.",
                            "This is the unfolded form; folded, the file was 2.5e-05 away.",
                            "`l0gm predict` reads the run's folder", "train.weight_decay", "Nothing was written."}) {
    EXPECT_NE(message.find(words), std::string::npos) << message;
  }
  EXPECT_TRUE(files().empty());
  compaction_.file_error = 1.5e-5;  // it has no other form from the start
  EXPECT_EQ(message_of<UserError>([&] { run(); }).find("unfolded"), std::string::npos);
}

TEST_F(CompactDriver, TheFileWrittenMustBeWhatWasJudged) {
  run();
  const int last = compaction_.writes;
  compaction_.writes = 0;
  compaction_.write_that_differs = last;
  EXPECT_NE(refusal().find("does not hold what was judged"), std::string::npos);
}

TEST_F(CompactDriver, FewerBitsAreMeasuredWhereTheKindCanRound) {
  CompactOptions options;
  options.weights = WeightType::int8;
  const std::string message = message_of<UserError>([&] { run(options); });
  EXPECT_NE(message.find("--weights int8"), std::string::npos) << message;
  EXPECT_TRUE(files().empty());
  compaction_.rounds = true;
  const CompactResult result = run(options);
  EXPECT_EQ(result.json["weights"], "int8");
  EXPECT_NEAR(result.json["parity_float32"].get<double>(), 1e-7, 1e-12) << "parity is proven before rounding";
  EXPECT_NEAR(result.json["rounding"]["largest_difference"].get<double>(), 0.01, 1e-9);
  EXPECT_NEAR(result.json["rounding"]["mean_difference"].get<double>(), 0.02 / 8, 1e-9);
  EXPECT_EQ(Container::read(out_).facts(2, {}).weights, "int8");
}

TEST_F(CompactDriver, ModelAndCardHaveDifferentNames) {
  CompactOptions options;
  options.card = folder_.path() / "." / "m.l0gm";
  EXPECT_THROW(run(options), UserError);
  EXPECT_EQ(compaction_.writes, 0);
  options.card = folder_.path() / "other.txt";
  run(options);
  EXPECT_EQ(files(), (std::vector<std::string>{"m.l0gm", "other.txt"}));
}

TEST_F(CompactDriver, ACardIsWrittenOverCardsOnly) {
  folder_.write("m.md", "# Notes of mine\n");
  const std::string message = message_of<UserError>([&] { run(); });
  EXPECT_NE(message.find("m.md is there and is no model card"), std::string::npos) << message;
  EXPECT_NE(message.find("--card"), std::string::npos) << message;
  EXPECT_EQ(compaction_.writes, 0);
  EXPECT_EQ(read_file(folder_.path() / "m.md"), "# Notes of mine\n");
  folder_.write("m.md", "# m.l0gm\n\nPredicts … Made with l0gm 0.1.0 (abc).\n");  // of an earlier version
  run();
  run();  // over its own
  EXPECT_TRUE(read_file(folder_.path() / "m.md").starts_with("# m.l0gm\n"));
}

TEST(CompactRun, ARunThatIsNotThereIsRefused) {
  const TemporaryFolder folder;
  EXPECT_THROW(compact_run(compact_kinds(), folder.path() / "run", folder.path() / "m.l0gm", {}), UserError);
  EXPECT_THROW(compact_run(compact_kinds(), folder.path(), folder.path() / "m.l0gm", {}), UserError);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace l0gm
