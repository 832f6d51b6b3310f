#include "study/line.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "metrics/scores.h"
#include "study/made_products.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using testing_tools::make_product;
using testing_tools::noisy_model;

class LineTest : public ::testing::Test {
 protected:
  Line made(const std::string& name, double noise, double active, int seeds = 3) {
    std::vector<std::string> keys;
    for (int seed = 0; seed < seeds; ++seed) {
      keys.push_back(name + std::to_string(seed));
      make_product(folder_, keys.back(), "train", noisy_model(noise + 0.001 * seed, 5), active + 0.01 * seed);
    }
    return read_line(name, keys, folder_, "train");
  }
  TemporaryFolder temporary_;
  StudyFolder folder_{temporary_.path()};
};

TEST_F(LineTest, FiguresAreThoseOfTheEvaluations) {
  const Line line = made("gate", 0.5, 0.2);
  ASSERT_TRUE(line.complete());
  const std::vector<double> losses = line.figures(Measure::nll);
  ASSERT_EQ(losses.size(), 3U);
  EXPECT_DOUBLE_EQ(losses[1], nll(noisy_model(0.501, 5)));
  EXPECT_DOUBLE_EQ(line.mean(Measure::nll).mean, (losses[0] + losses[1] + losses[2]) / 3);
  EXPECT_EQ(line.worst(Measure::nll), *std::max_element(losses.begin(), losses.end()));
  const std::vector<double> right = line.figures(Measure::accuracy);
  EXPECT_EQ(line.worst(Measure::accuracy), *std::min_element(right.begin(), right.end()));
  EXPECT_NEAR(line.active_fraction(), 0.21, 1e-12);
  EXPECT_EQ(line.most_projected(), 1);
  EXPECT_EQ(gate_text(line)[1], "40-44 of 200");
  EXPECT_EQ(line.to_json().at("open_units"), nlohmann::json({40, 42, 44}));
}

TEST_F(LineTest, WhatIsMissingIsLeftOut) {
  made("gate", 0.5, 0.2, 2);
  const Line line = read_line("gate", {"gate0", "gate1", "gate2"}, folder_, "train");
  EXPECT_FALSE(line.complete());
  EXPECT_EQ(line.evaluations.size(), 2U);
}

TEST_F(LineTest, IsComparedRowByRow) {
  const Line good = made("good", 0.1, 1), bad = made("bad", 1.5, 0.1);
  const auto difference = compare_lines(bad, good, folder_, Split::valid, Measure::nll);
  ASSERT_TRUE(difference);
  EXPECT_NEAR(difference->mean, bad.mean(Measure::nll).mean - good.mean(Measure::nll).mean, 1e-12);
  EXPECT_GT(difference->low, 0);
  EXPECT_EQ(difference->runs, 3);
  EXPECT_FALSE(compare_lines(bad, good, folder_, Split::test, Measure::nll));
}

// Over copies of the rows: the mean over conditions of what each row adds.
TEST_F(LineTest, IsComparedOverConditions) {
  const Line good = made("good", 0.1, 1, 1), bad = made("bad", 1.5, 0.1, 1);
  const auto keep = [&](const Line& line, const char* condition, double noise) {
    write_predictions(folder_.run(line.keys[0]) / "predictions" / fmt::format("test-{}.csv", condition), noisy_model(noise, 5));
  };
  keep(good, "a", 0.2);
  keep(good, "b", 0.4);
  keep(bad, "a", 1.0);
  EXPECT_FALSE(compare_lines(bad, good, folder_, Split::test, Measure::nll, {"a", "b"}));
  keep(bad, "b", 2.0);
  const auto found = compare_lines(bad, good, folder_, Split::test, Measure::nll, {"a", "b"});
  ASSERT_TRUE(found);
  const auto loss = [](double noise) { return nll(noisy_model(noise, 5)); };
  EXPECT_NEAR(found->mean, (loss(1.0) + loss(2.0) - loss(0.2) - loss(0.4)) / 2, 1e-12);
}

// Cells that came from elsewhere without what they predicted: what was found there once is known.
TEST_F(LineTest, ADifferenceIsKeptWithoutPredictions) {
  const Line good = made("good", 0.1, 1), bad = made("bad", 1.5, 0.1);
  const auto found = compare_lines(bad, good, folder_, Split::valid, Measure::nll);
  ASSERT_TRUE(found);
  for (const Line* line : {&good, &bad}) {
    for (const std::string& key : line->keys) std::filesystem::remove_all(folder_.run(key));
  }
  const auto kept = compare_lines(bad, good, folder_, Split::valid, Measure::nll);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->mean, found->mean);
  EXPECT_EQ(kept->low, found->low);
  EXPECT_EQ(kept->high, found->high);
  EXPECT_EQ(kept->runs, 3);
  // Another question has another answer.
  EXPECT_FALSE(compare_lines(good, bad, folder_, Split::valid, Measure::nll));
  EXPECT_FALSE(compare_lines(bad, good, folder_, Split::valid, Measure::ece));
  EXPECT_FALSE(compare_lines(bad, good, folder_, Split::valid, Measure::nll, {}, 5));
}

TEST_F(LineTest, AnotherStepMayStandInForOne) {
  made("gate", 0.5, 0.2);
  const std::vector<std::string> keys = {"gate0", "gate1", "gate2"};
  EXPECT_FALSE(read_line("gate", keys, folder_, "test").complete());
  EXPECT_TRUE(read_line("gate", keys, folder_, "test", "train").complete());
}

}  // namespace
}  // namespace l0gm
