#include "metrics/ranking.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace l0gm {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(Ranking, RanksByHand) {
  EXPECT_EQ(rank_among(3, std::vector<double>{1, 2, 2.5}), 1);
  EXPECT_EQ(rank_among(2, std::vector<double>{1, 2, 2.5}), 2.5) << "one above, one that ties";
  EXPECT_EQ(rank_among(0, std::vector<double>{1, 2, 2.5}), 4);
  EXPECT_EQ(rank_among(5, {}), 1);
  EXPECT_EQ(rank_among(0, std::vector<double>(10, 0.0)), 6) << "a model with the same score for all is in the middle, not first";
}

TEST(Ranking, NaNIsTheWorstScore) {
  EXPECT_EQ(rank_among(nan, std::vector<double>{1, 2}), 3);
  EXPECT_EQ(rank_among(5, std::vector<double>{nan, 2}), 2);
}

TEST(Ranking, ScoresByHand) {
  const RankScores scores = rank_scores(std::vector<double>{1, 1.5, 10, 10.5, 50, 100, 100.5, 101});
  EXPECT_NEAR(scores.mrr, (1 + 1 / 1.5 + 0.1 + 1 / 10.5 + 0.02 + 0.01 + 1 / 100.5 + 1 / 101.0) / 8, 1e-15);
  EXPECT_EQ(scores.hits_1, 1.0 / 8);
  EXPECT_EQ(scores.hits_10, 3.0 / 8);
  EXPECT_EQ(scores.hits_50, 5.0 / 8);
  EXPECT_EQ(scores.hits_100, 6.0 / 8);
}

TEST(Ranking, EachLinkAgainstItsOwn) {
  // Against the negatives of the other link both would be second.
  const RankScores scores = rank_scores(std::vector<double>{1, 5}, std::vector<double>{0, 0.5, 4, 4.5});
  EXPECT_EQ(scores.mrr, 1);
  EXPECT_EQ(rank_scores(std::vector<double>{1, 5}, std::vector<double>{4, 0.5, 6, 4.5}).mrr, 0.5);
}

TEST(Ranking, NothingToRank) {
  EXPECT_TRUE(std::isnan(rank_scores(std::vector<double>{}).mrr));
  EXPECT_TRUE(std::isnan(rank_scores(std::vector<double>{}, std::vector<double>{}).hits_50));
}

TEST(Ranking, CountsMustFit) {
  EXPECT_THROW(rank_scores(std::vector<double>{1, 2}, std::vector<double>{1, 2, 3}), std::invalid_argument);
  EXPECT_THROW(rank_scores(std::vector<double>{}, std::vector<double>{1}), std::invalid_argument);
}

TEST(Ranking, AgreesWithTheReference) {
  const std::string path = std::string(L0GM_TEST_REFERENCE_DIR) + "/graph_reference.json";
  std::ifstream file(path);
  ASSERT_TRUE(file) << path;
  const nlohmann::json links = nlohmann::json::parse(file).at("links");
  const auto positives = links["positives"].get<std::vector<double>>();
  const auto rows = links["negatives"].get<std::vector<std::vector<double>>>();
  const auto places = links["ranks"].get<std::vector<double>>();
  ASSERT_EQ(positives.size(), places.size());
  std::vector<double> negatives;
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rank_among(positives[i], rows[i]), places[i]) << i;
    negatives.insert(negatives.end(), rows[i].begin(), rows[i].end());
  }
  const RankScores scores = rank_scores(positives, negatives);
  EXPECT_NEAR(scores.mrr, links["mrr"].get<double>(), 1e-12);
  EXPECT_NEAR(scores.hits_1, links["hits"]["1"].get<double>(), 1e-12);
  EXPECT_NEAR(scores.hits_10, links["hits"]["10"].get<double>(), 1e-12);
}

}  // namespace
}  // namespace l0gm
