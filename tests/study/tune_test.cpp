#include "study/tune.h"

#include <gtest/gtest.h>

#include "l0gm/error.h"
#include "study/made_products.h"
#include "support/temporary_folder.h"
#include "training/modalities.h"

namespace l0gm {
namespace {

using testing_tools::make_product;
using testing_tools::noisy_model;

TEST(Halving, EveryRungCostsTheSame) {
  const std::vector<Rung> rungs = rungs_of(13, 3, 3, 18);
  ASSERT_EQ(rungs.size(), 3U);
  EXPECT_EQ(rungs[0].trials, 36);
  EXPECT_EQ(rungs[0].epochs, 2);
  EXPECT_EQ(rungs[1].trials, 12);
  EXPECT_EQ(rungs[2].trials, 4);
  EXPECT_EQ(rungs[2].epochs, 18);
  EXPECT_THROW(rungs_of(3, 3, 3, 18), UserError);
}

// Few epochs cannot be cut into ninths: there are fewer trials then.
TEST(Halving, NeverSpendsMoreThanTheBudget) {
  for (const int64_t epochs : {1, 2, 3, 5, 20, 100}) {
    for (const int64_t budget : {4, 5, 13, 40}) {
      int64_t spent = epochs;
      for (const Rung& rung : rungs_of(budget, 3, 3, epochs)) spent += rung.trials * rung.epochs;
      EXPECT_LE(spent, budget * epochs) << epochs << " " << budget;
    }
  }
}

class TuneTest : public ::testing::Test {
 protected:
  Config config(const std::string& gate) {
    const auto path = temporary_.write("c.toml", "[data]\nsource = \"planted-table\"\nrows = 600\n" + gate);
    return read_config(modalities(), path, {});
  }
  static bool has(const SearchSpace& space, const std::string& name) {
    return std::any_of(space.begin(), space.end(), [&](const SearchAxis& axis) { return axis.name == name; });
  }
  TemporaryFolder temporary_;
};

TEST_F(TuneTest, SpacesFollowTheConfiguration) {
  const SearchSpace price = paper_space(config("[gate]\nlambda = 1e-3\n")),
                    share = paper_space(config("[gate]\ntarget_active = 0.1\n")),
                    dense = wide_space(config("[gate]\nunit = \"none\"\n"));
  EXPECT_TRUE(has(price, "gate.lambda") && has(price, "schedule.warmup") && has(price, "coupling"));
  EXPECT_FALSE(has(share, "gate.lambda"));
  EXPECT_TRUE(has(share, "schedule.tau_end"));
  EXPECT_FALSE(has(dense, "schedule.warmup") || has(dense, "coupling") || has(dense, "gate.lambda"));
  // Every value is one that a configuration takes.
  for (const SearchSpace& space : {price, wide_space(config("[gate]\ntarget_active = 0.1\n"))}) {
    for (const SearchAxis& axis : space) {
      for (const std::vector<std::string>& value : axis.values) {
        const auto path = temporary_.write("v.toml", "[data]\nsource = \"planted-table\"\n");
        EXPECT_NO_THROW(read_config(modalities(), path, value)) << axis.name;
      }
    }
  }
}

// All trials are there already, as if they had been computed: the best by validation rows is chosen, unless it is too large.
TEST_F(TuneTest, ChoosesTheBestThatIsSmallEnough) {
  const auto path = temporary_.write("c.toml", "[data]\nsource = \"planted-table\"\nrows = 600\n[gate]\nlambda = 1e-3\n");
  const StudyFolder folder(temporary_.path() / "study");
  const RunCells runs(modalities(), path, {}, folder);
  TuneOptions options;
  options.by = SearchBy::grid;
  options.budget = 3;
  options.space = {axis_of("train.lr", {"1e-3", "2e-3", "3e-3"})};
  const double noise[] = {0.5, 0.1, 0.3}, active[] = {0.1, 0.9, 0.2};
  const std::vector<Trial> trials = grid_of(options.space, 3);
  for (size_t t = 0; t < 3; ++t)
    make_product(folder, runs.cell("x", trials[t].settings, 0).key, "train", noisy_model(noise[t], 3), active[t]);
  const auto best = [&] {
    const TuneResult result = Tuner(runs, options, folder).run({.count = 1, .threads = 1});
    EXPECT_EQ(result.methods.size(), 1U);
    EXPECT_EQ(result.methods[0].trainings, 3);
    return result.methods[0].best ? result.methods[0].trials[*result.methods[0].best].name : "none";
  };
  EXPECT_EQ(best(), "train.lr=2e-3");
  options.under = 0.5;
  EXPECT_EQ(best(), "train.lr=3e-3");
  options.under = 0.01;
  EXPECT_EQ(best(), "none");
}

TEST_F(TuneTest, NamesPeersThatAreMissing) {
  const auto path = temporary_.write("c.toml", "[data]\nsource = \"planted-table\"\nrows = 600\n");
  const StudyFolder folder(temporary_.path() / "study");
  const RunCells runs(modalities(), path, {}, folder);
  TuneOptions options;
  options.budget = 1;
  options.space = {axis_of("train.lr", {"1e-3", "2e-3"})};
  options.peers = {peer_named("lightgbm")};
  make_product(folder, runs.cell("x", {}, 0).key, "train", noisy_model(0.3, 3), 0.5);
  const TuneResult result = Tuner(runs, options, folder).run({.count = 1, .threads = 1});
  ASSERT_EQ(result.methods.size(), 2U);
  EXPECT_NE(result.methods[1].missing.find("not installed"), std::string::npos);
  EXPECT_NE(result.markdown(options).find("missing: not installed"), std::string::npos);
}

}  // namespace
}  // namespace l0gm
