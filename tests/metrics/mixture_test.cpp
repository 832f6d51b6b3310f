#include "metrics/mixture.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace l0gm {
namespace {

// Two classes; the truth has log odds `signal`, each model sees it with noise of its own.
struct TwoModels {
  Predictions first;
  std::vector<double> second;
  TwoModels(int64_t rows, double noise_of_first, double noise_of_second) {
    RandomStream random(7);
    first.classes = {"no", "yes"};
    const auto add = [](std::vector<double>& to, double log_odds) {
      const double yes = 1 / (1 + std::exp(-log_odds));
      to.insert(to.end(), {1 - yes, yes});
    };
    for (int64_t row = 0; row < rows; ++row) {
      const double signal = 1.5 * random.normal();
      add(first.probabilities, signal + noise_of_first * random.normal());
      add(second, signal + noise_of_second * random.normal());
      first.labels.push_back(random.uniform() < 1 / (1 + std::exp(-signal)) ? 1 : 0);
      first.rows.push_back(row);
    }
  }
  double loss(double share) const {
    std::vector<double> mixed = first.probabilities;
    mix_in(second, share, mixed);
    double sum = 0;
    for (size_t i = 0; i < first.labels.size(); ++i) sum -= std::log(mixed[2 * i + static_cast<size_t>(first.labels[i])]);
    return sum / static_cast<double>(first.labels.size());
  }
};

TEST(Mixture, ShareHasTheLeastLoss) {
  const TwoModels models(4000, 1.0, 1.0);
  const auto [share, gain] = best_mixture(models.first, models.second);
  EXPECT_NEAR(share, 0.5, 0.1);  // both are as good
  EXPECT_NEAR(gain, 4000 * (models.loss(0) - models.loss(share)), 1e-6);
  EXPECT_GT(gain, 0);
  for (const double other : {0.0, 0.2, 0.4, 0.6, 0.8, 1.0}) EXPECT_LE(models.loss(share), models.loss(other) + 1e-12) << other;
}

TEST(Mixture, TheBetterModelHasMore) {
  const TwoModels better(4000, 2.0, 0.2);
  EXPECT_GT(best_mixture(better.first, better.second).share, 0.8);
  const TwoModels worse(4000, 0.0, 3.0);
  EXPECT_EQ(best_mixture(worse.first, worse.second).share, 0);
}

TEST(Mixture, RowsCountByTheirWeights) {
  TwoModels models(2000, 1.0, 1.0);
  std::vector<double> weights(2000, 1);
  for (size_t i = 0; i < 1000; ++i) {  // of these the second model knows the label
    weights[i] = 1e-9;
    models.second[2 * i] = models.first.labels[i] == 0 ? 0.999 : 0.001;
    models.second[2 * i + 1] = 1 - models.second[2 * i];
  }
  EXPECT_GT(best_mixture(models.first, models.second).share, 0.8);
  EXPECT_NEAR(best_mixture(models.first, models.second, weights).share, 0.5, 0.15);
}

TEST(Mixture, NoLabelNoShare) {
  TwoModels models(10, 1.0, 1.0);
  models.first.labels.assign(10, -1);
  EXPECT_EQ(best_mixture(models.first, models.second).share, 0);
  EXPECT_THROW(best_mixture(models.first, {0.5}), std::logic_error);
}

}  // namespace
}  // namespace l0gm
