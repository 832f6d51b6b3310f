#include <gtest/gtest.h>

#include "base/csv.h"
#include "base/text.h"
#include "compact/compact_kinds.h"
#include "serving/predict_file.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

namespace fs = std::filesystem;

fs::path kept(const char* name) { return fs::path(L0GM_SOURCE_DIR) / "tests/compact/graph/files" / name; }

// Numbers within rounding of another processor, everything else the same.
void expect_same_csv(const fs::path& found, const fs::path& wanted) {
  const TextTable a = read_csv(found, {}), b = read_csv(wanted, {});
  ASSERT_EQ(a.names(), b.names());
  ASSERT_EQ(a.rows(), b.rows());
  for (int64_t row = 0; row < a.rows(); ++row) {
    for (int64_t column = 0; column < a.columns(); ++column) {
      if (a.names()[static_cast<size_t>(column)].starts_with("p_")) {
        EXPECT_NEAR(parse_double(a.cell(row, column)).value(), parse_double(b.cell(row, column)).value(), 1e-5);
      } else {
        EXPECT_EQ(a.cell(row, column), b.cell(row, column));
      }
    }
  }
}

// Files of format version 1 as an earlier program wrote them, and what it said of them.
TEST(KeptGraphFiles, ModelSaysWhatItSaidThen) {
  const TemporaryFolder folder;
  const PredictorOptions options{false, prepare_machine("cpu", 1, false), kept("graph.toml")};
  const auto predictor = open_predictor(compact_kinds(), kept("graph.l0gm"), options);
  predict_known(*predictor, folder.path() / "p.csv");
  expect_same_csv(folder.path() / "p.csv", kept("graph.csv"));
}

TEST(KeptGraphFiles, LookUpSaysWhatItSaidThen) {
  const TemporaryFolder folder;
  const auto predictor = open_predictor(compact_kinds(), kept("lookup.l0gm"), {false, prepare_machine("cpu", 1, false), {}});
  predict_file(*predictor, kept("nodes.csv"), folder.path() / "p.csv", {});
  expect_same_csv(folder.path() / "p.csv", kept("lookup.csv"));
}

}  // namespace
}  // namespace l0gm
