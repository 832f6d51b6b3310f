#include "study/crossval.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "l0gm/error.h"
#include "metrics/scores.h"
#include "study/made_products.h"
#include "support/temporary_folder.h"
#include "training/modalities.h"

namespace l0gm {
namespace {

using testing_tools::make_product;
using testing_tools::noisy_model;

class CrossvalTest : public ::testing::Test {
 protected:
  // Folds 0 … made - 1 as if they had been computed: column a is open always, b in every other, c once.
  std::vector<StudyCell> make_folds(int64_t made) {
    const std::vector<StudyCell> cells = crossval_cells(runs_, options_);
    for (int64_t i = 0; i < made; ++i) {
      std::vector<std::string> open = {"a"};
      if (i % 2 == 0) open.push_back("b");
      if (i == 1) open.push_back("c");
      const std::string& key = cells[static_cast<size_t>(i)].key;
      make_product(folder_, key, "train", noisy_model(9, 77), 0.9);
      make_product(folder_, key, "test", noisy_model(0.5, static_cast<uint64_t>(i)), 0.2, open, Split::test);
    }
    return cells;
  }
  TemporaryFolder temporary_;
  std::filesystem::path config_ =
      temporary_.write("tiny.toml", "[data]\nsource = \"planted-table\"\nrows = 600\n[gate]\ntarget_active = 0.3\n");
  StudyFolder folder_{temporary_.path() / "study"};
  RunCells runs_{modalities(), config_, {}, folder_};
  CrossvalOptions options_{.folds = 4, .repeats = 2};
};

TEST_F(CrossvalTest, CellsAreFoldsOfEveryDeal) {
  const std::vector<StudyCell> cells = crossval_cells(runs_, options_);
  ASSERT_EQ(cells.size(), 8U);
  EXPECT_EQ(cells[5].label, "fold 1 of deal 1");
  EXPECT_NE(cells[1].key, cells[5].key);
  ASSERT_EQ(cells[0].steps.size(), 2U);
  EXPECT_EQ(cells[0].steps[1].name, "test");
  const std::vector<std::string>& words = cells[5].steps[0].words;
  EXPECT_NE(std::find(words.begin(), words.end(), "train.seed=5"), words.end()) << "every fold has a seed of its own";
}

TEST_F(CrossvalTest, FiguresAreOfTheHeldOutRows) {
  make_folds(8);
  const CrossvalResult result = crossval_result(runs_, options_, folder_);
  std::vector<double> losses;
  for (uint64_t i = 0; i < 8; ++i) losses.push_back(nll(noisy_model(0.5, i)));
  ASSERT_EQ(result.values.at("nll").size(), 8U);
  for (size_t i = 0; i < 8; ++i) EXPECT_DOUBLE_EQ(result.values.at("nll")[i], losses[i]);
  const double trained = 0.75 * (1 - runs_.config({}, 0).data.split.valid);  // validation rows are none of them
  const MeanInterval wanted = cross_validation_interval(losses, 0.25, trained);
  EXPECT_DOUBLE_EQ(result.figures.at("nll").low, wanted.low);
  EXPECT_DOUBLE_EQ(result.figures.at("nll").high, wanted.high);
  EXPECT_TRUE(result.figures.contains("open_units"));
  EXPECT_FALSE(result.figures.contains("rows"));
}

TEST_F(CrossvalTest, ColumnsAreCounted) {
  make_folds(8);
  const CrossvalResult result = crossval_result(runs_, options_, folder_);
  EXPECT_EQ(result.inputs.times, (std::map<std::string, int64_t>{{"a", 8}, {"b", 4}, {"c", 1}}));
  const std::string page = result.markdown();
  EXPECT_NE(page.find("a 8, b 4, c 1"), std::string::npos) << page;
  EXPECT_EQ(result.to_json(options_).at("inputs").at("open_in_runs").at("b"), 4);
}

TEST_F(CrossvalTest, WantsTwoFoldsAtLeast) {
  make_folds(1);
  EXPECT_THROW(crossval_result(runs_, options_, folder_), UserError);
  make_folds(3);
  EXPECT_EQ(crossval_result(runs_, options_, folder_).evaluations.size(), 3U);
}

}  // namespace
}  // namespace l0gm
