#include "metrics/scores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "make_predictions.h"

namespace l0gm {
namespace {

using testing_tools::binary;
using testing_tools::calibrated_model;
using testing_tools::make_predictions;

TEST(Scores, TiesGoToTheLowerClass) {
  EXPECT_EQ(top_class(std::vector<double>{0.4, 0.4, 0.2}), 0);
  EXPECT_EQ(top_class(std::vector<double>{0.2, 0.4, 0.4}), 1);
  EXPECT_EQ(accuracy(binary({0, 1}, {0.5, 0.5})), 0.5);
}

TEST(Scores, KnownSmallValues) {
  const Predictions p = binary({1, 0, 1, 0}, {0.9, 0.2, 0.4, 0.4});
  EXPECT_EQ(accuracy(p), 0.75);
  EXPECT_DOUBLE_EQ(auc(p), 3.5 / 4);  // one tie
  EXPECT_DOUBLE_EQ(brier(p), (0.01 + 0.04 + 0.36 + 0.16) / 4);
  EXPECT_DOUBLE_EQ(nll(p), -(std::log(0.9) + std::log(0.8) + std::log(0.4) + std::log(0.6)) / 4);
  EXPECT_DOUBLE_EQ(macro_f1(p), (2.0 * 2 / 5 + 2.0 * 1 / 3) / 2);
  EXPECT_EQ(confusion_matrix(p), (std::vector<int64_t>{2, 0, 1, 1}));
}

TEST(Scores, ProbabilityZeroCostsAFiniteLogLoss) {
  EXPECT_DOUBLE_EQ(nll(binary({0}, {1.0})), -std::log(1e-15));
  EXPECT_EQ(nll(binary({1}, {1.0})), 0);
}

TEST(Scores, UnlabelledRowsAreLeftOut) {
  const Predictions all = calibrated_model(300, 4, 1.5, 3);
  Predictions with_gaps = all, without;
  without.classes = all.classes;
  for (int64_t i = 0; i < all.size(); ++i) {
    if (i % 3 == 0) {
      with_gaps.labels[i] = -1;
      continue;
    }
    without.rows.push_back(i);
    without.labels.push_back(all.labels[i]);
    without.probabilities.insert(without.probabilities.end(), all.row(i).begin(), all.row(i).end());
  }
  EXPECT_EQ(labelled_rows(with_gaps), 200);
  for (const auto measure : {accuracy, auc, macro_f1, nll, brier}) EXPECT_EQ(measure(with_gaps), measure(without));
  EXPECT_EQ(confusion_matrix(with_gaps), confusion_matrix(without));
}

TEST(Scores, NothingLabelledIsUndefined) {
  const Predictions p = binary({-1, -1}, {0.3, 0.4});
  for (const auto measure : {accuracy, auc, macro_f1, nll, brier}) EXPECT_TRUE(std::isnan(measure(p)));
  const Predictions empty{.classes = {"a", "b"}, .rows = {}, .labels = {}, .probabilities = {}};
  for (const auto measure : {accuracy, auc, macro_f1, nll, brier}) EXPECT_TRUE(std::isnan(measure(empty)));
}

TEST(Scores, AucOfOneClassIsUndefined) {
  EXPECT_TRUE(std::isnan(auc(binary({1, 1}, {0.3, 0.4}))));
  EXPECT_TRUE(std::isnan(auc(binary({0, 0}, {0.3, 0.4}))));
  EXPECT_TRUE(std::isnan(auc(make_predictions({2, 2}, {{0.1, 0.1, 0.8}, {0.3, 0.3, 0.4}}))));
}

// Enough rows for the radix sort, with ties, 0, -0, 1 and denormals, against counting all pairs.
TEST(Scores, AucOfManyRowsEqualsCountingPairs) {
  Predictions p = calibrated_model(5000, 2, 2, 4);
  RandomStream random(5);
  const double special[] = {0.0, -0.0, 1.0, 5e-324, 1e-300, 0.5, 0.3};
  for (int64_t i = 0; i < p.size(); i += 2) {
    const double positive = special[random.below(7)];
    p.probabilities[2 * i + 1] = positive;
    p.probabilities[2 * i] = 1 - positive;
  }
  double wins = 0, pairs = 0;
  for (int64_t i = 0; i < p.size(); ++i) {
    for (int64_t j = 0; j < p.size(); ++j) {
      if (p.labels[i] != 1 || p.labels[j] != 0) continue;
      const double a = p.row(i)[1], b = p.row(j)[1];
      wins += a > b ? 1 : a == b ? 0.5 : 0;
      ++pairs;
    }
  }
  EXPECT_NEAR(auc(p), wins / pairs, 1e-13);
}

TEST(Scores, MeasuresIgnoreTheOrderOfRows) {
  const Predictions p = calibrated_model(6000, 3, 1, 6);
  Predictions shuffled{.classes = p.classes, .rows = {}, .labels = {}, .probabilities = {}};
  for (const int64_t i : RandomStream(7).permutation(p.size())) {
    shuffled.rows.push_back(p.rows[i]);
    shuffled.labels.push_back(p.labels[i]);
    shuffled.probabilities.insert(shuffled.probabilities.end(), p.row(i).begin(), p.row(i).end());
  }
  for (const auto measure : {accuracy, auc, macro_f1, nll, brier}) EXPECT_NEAR(measure(p), measure(shuffled), 1e-12);
}

TEST(Scores, RowMetricOfAnUnknownLabelIsUndefined) {
  const std::vector<double> row{0.3, 0.7};
  for (const RowMetric metric : {RowMetric::accuracy, RowMetric::nll, RowMetric::brier}) {
    EXPECT_TRUE(std::isnan(row_metric(row, -1, metric)));
  }
}

}  // namespace
}  // namespace l0gm
