#include <gtest/gtest.h>

#include <cmath>

#include "metrics/predictions.h"
#include "support/temporary_folder.h"
#include "training/modalities.h"
#include "training/run.h"

namespace l0gm {
namespace {

namespace fs = std::filesystem;

// Runs that earlier programs wrote (format 2): a table, nodes of a graph and links without modality in run.json; a table whose
// members are heads, written before there was another kind.
class KeptRuns : public testing::TestWithParam<const char*> {
 protected:
  // A copy: opening a run must not be able to change what is kept.
  KeptRuns() {
    fs::copy(fs::path(L0GM_SOURCE_DIR) / "tests/training/files/run_format2" / GetParam(), folder_.path() / "run",
             fs::copy_options::recursive);
  }
  fs::path run() const { return folder_.path() / "run"; }
  TemporaryFolder folder_;
};

TEST_P(KeptRuns, SayWhatTheySaidThen) {
  EXPECT_EQ(RunFolder::open(run()).modality(), std::string(GetParam()) == "members" ? "table" : "");
  const auto opened = open_run(modalities(), run(), prepare_machine("cpu", 1, false));
  for (const Split split : {Split::valid, Split::test}) {
    const Predictions then = read_predictions(opened->folder.predictions(split)), now = opened->predict(split);
    ASSERT_EQ(now.rows, then.rows);
    EXPECT_EQ(now.labels, then.labels);
    ASSERT_EQ(now.probabilities.size(), then.probabilities.size());
    for (size_t i = 0; i < now.probabilities.size(); ++i) EXPECT_NEAR(now.probabilities[i], then.probabilities[i], 1e-6) << i;
  }
}

TEST_P(KeptRuns, HaveTheirGatesAndRecord) {
  const auto opened = open_run(modalities(), run(), prepare_machine("cpu", 1, false));
  const GateReport gates = opened->gates(Split::valid);
  EXPECT_NEAR(gates.active_fraction, std::string(GetParam()) == "table" ? 0.25 : 0.5, 1e-9);
  EXPECT_EQ(opened->config.model.ensemble, std::string(GetParam()) == "members" ? EnsembleKind::heads : EnsembleKind::batch);
  EXPECT_GE(opened->record().class_names().size(), 2U);
  EXPECT_FALSE(opened->record().training_rows.empty());
}

INSTANTIATE_TEST_SUITE_P(Formats, KeptRuns, testing::Values("table", "graph", "links", "members"));

}  // namespace
}  // namespace l0gm
