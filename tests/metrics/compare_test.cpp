#include "metrics/compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/random.h"
#include "l0gm/error.h"
#include "make_predictions.h"
#include "metrics/scores.h"

namespace l0gm {
namespace {

using testing_tools::binary;
using testing_tools::calibrated_model;
using testing_tools::sharpened;

TEST(Compare, MeanIsTheDifferenceOfTheMeasures) {
  const Predictions first = sharpened(calibrated_model(700, 3, 1.5, 1), 2);
  const Predictions second = calibrated_model(700, 3, 1.5, 1);
  EXPECT_NEAR(compare(first, second, Measure::nll).mean, nll(first) - nll(second), 1e-12);
  EXPECT_NEAR(compare(first, second, Measure::brier).mean, brier(first) - brier(second), 1e-12);
  EXPECT_NEAR(compare(first, second, Measure::accuracy).mean, accuracy(first) - accuracy(second), 1e-12);
}

TEST(Compare, DetectsAClearDifferenceAndNoDifference) {
  const Predictions honest = calibrated_model(2000, 2, 1.5, 2);
  const PairedDifference worse = compare(sharpened(honest, 3), honest, Measure::nll);
  EXPECT_GT(worse.low, 0);
  EXPECT_LT(worse.low, worse.mean);
  EXPECT_GT(worse.high, worse.mean);
  const PairedDifference same = compare(honest, honest, Measure::nll);
  EXPECT_EQ(same.mean, 0);
  EXPECT_EQ(same.low, 0);
  EXPECT_EQ(same.high, 0);
  EXPECT_EQ(same.rows, 2000);
}

TEST(Compare, MatchesRowsByNumber) {
  const Predictions first = binary({0, 1, 1}, {0.2, 0.7, 0.4});
  Predictions second = binary({1, 0, 1}, {0.6, 0.1, 0.9});
  second.rows = {2, 0, 1};
  const std::vector<double> found = row_differences(first, second, Measure::brier).values;
  ASSERT_EQ(found.size(), 3U);
  EXPECT_NEAR(found[0], 0.04 - 0.01, 1e-15);
  EXPECT_NEAR(found[1], 0.09 - 0.01, 1e-15);
  EXPECT_NEAR(found[2], 0.36 - 0.16, 1e-15);
}

TEST(Compare, RefusesWhatIsNotPaired) {
  const Predictions first = binary({0, 1}, {0.2, 0.7});
  Predictions other = first;
  other.classes[0] = "x";
  EXPECT_THROW(compare(first, other, Measure::nll), UserError);
  EXPECT_THROW(compare(first, binary({0}, {0.2}), Measure::nll), UserError);
  other = first;
  other.rows = {0, 5};
  EXPECT_THROW(compare(first, other, Measure::nll), UserError);
  other = first;
  other.labels = {0, -1};
  EXPECT_THROW(compare(first, other, Measure::nll), UserError);
}

TEST(Compare, UnlabelledRowsAreLeftOut) {
  const Predictions first = binary({0, -1}, {0.2, 0.7}), second = binary({0, -1}, {0.3, 0.1});
  EXPECT_EQ(row_differences(first, second, Measure::nll).rows, std::vector<int64_t>{0});
  const Predictions unlabelled = binary({-1}, {0.2});
  const PairedDifference nothing = compare(unlabelled, unlabelled, Measure::nll);
  EXPECT_TRUE(std::isnan(nothing.mean) && std::isnan(nothing.low) && std::isnan(nothing.high));
}

RowDifferences numbered(std::vector<double> values) {
  RowDifferences out;
  for (size_t i = 0; i < values.size(); ++i) out.rows.push_back(static_cast<int64_t>(i));
  out.values = std::move(values);
  return out;
}

TEST(Compare, IntervalHasTheTheoreticalWidth) {
  for (const size_t rows : {2000U, 40'000U}) {  // resampled row by row, and from the limit
    RandomStream random(3);
    std::vector<double> values;
    for (size_t i = 0; i < rows; ++i) values.push_back(0.5 + random.normal());
    const RowDifferences run = numbered(values);
    const PairedDifference found = paired_bootstrap({&run, 1}, 4);
    EXPECT_NEAR((found.high - found.low) * std::sqrt(rows), 2 * 1.96, 0.25);
    EXPECT_NEAR((found.high + found.low) / 2, found.mean, 0.3 / std::sqrt(rows));
  }
}

// Differences between runs widen the interval: from rows alone the difference would look certain. Rows say nothing here, so it
// is Student's interval for the mean of three numbers.
TEST(Compare, SpreadOverRunsCounts) {
  const std::vector<RowDifferences> runs{numbered(std::vector<double>(500, 0.1)), numbered(std::vector<double>(500, -0.05)),
                                         numbered(std::vector<double>(500, 0.02))};
  const PairedDifference found = paired_bootstrap(runs, 5, 20'000);
  EXPECT_NEAR(found.mean, 0.07 / 3, 1e-12);
  const double deviation = std::sqrt((0.1 * 0.1 + 0.05 * 0.05 + 0.02 * 0.02 - 0.07 * 0.07 / 3) / 2 / 3);
  EXPECT_NEAR(found.low, found.mean - 4.303 * deviation, 0.3 * deviation);
  EXPECT_NEAR(found.high, found.mean + 4.303 * deviation, 0.3 * deviation);
  EXPECT_EQ(found.rows, 500);
  EXPECT_EQ(found.runs, 3);
}

TEST(Compare, RunsAreMatchedByRowNumber) {
  const std::vector<RowDifferences> ordered{{{4, 7, 9}, {1, 2, 6}}, {{4, 7, 9}, {2, 2, 8}}};
  const std::vector<RowDifferences> mixed{{{4, 7, 9}, {1, 2, 6}}, {{9, 4, 7}, {8, 2, 2}}};
  const PairedDifference a = paired_bootstrap(ordered, 1), b = paired_bootstrap(mixed, 1);
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.high, b.high);
  EXPECT_EQ(a.mean, 3.5);
}

TEST(Compare, RunsMayHaveOtherRows) {
  const std::vector<RowDifferences> some{{{4, 7}, {1, 2}}, {{4, 8, 9}, {2, 2, 5}}}, none{{{4, 7}, {1, 2}}, {{}, {}}};
  const PairedDifference found = paired_bootstrap(some, 1);
  EXPECT_DOUBLE_EQ(found.mean, (1.5 + 3) / 2);
  EXPECT_EQ(found.rows, 4);
  EXPECT_TRUE(std::isnan(paired_bootstrap(none, 1).mean));
  EXPECT_TRUE(std::isnan(paired_bootstrap({}, 1).mean));
}

// What is hard about a row is shared by all runs; a run has an effect of its own, and the rest is noise. With one run the truth
// is the difference of the two models as trained. `pool`: rows there are, of which each run is judged on 300; 300: all on the
// same.
double coverage(int runs, double row_effect, double run_effect, double noise, int samples, int pool = 300) {
  constexpr int rows = 300;
  int covered = 0;
  for (int k = 0; k < samples; ++k) {
    RandomStream random(mix_key(31, k, runs, static_cast<uint64_t>(1000 * run_effect)));
    std::vector<double> shared(static_cast<size_t>(pool));
    for (double& value : shared) value = row_effect * random.normal();
    std::vector<RowDifferences> drawn;
    double effect = 0;
    for (int r = 0; r < runs; ++r) {
      effect = run_effect * random.normal();
      RowDifferences run;
      for (const int64_t row : random.permutation(pool)) {
        if (run.rows.size() == static_cast<size_t>(rows)) break;
        run.rows.push_back(row);
        run.values.push_back(effect + shared[static_cast<size_t>(row)] + noise * random.normal());
      }
      drawn.push_back(std::move(run));
    }
    const double truth = runs == 1 ? effect : 0;
    const PairedDifference found = paired_bootstrap(drawn, k, 300);
    covered += found.low <= truth && truth <= found.high;
  }
  return static_cast<double>(covered) / samples;
}

// 300 samples: three standard errors are 3.8 points.
TEST(Compare, IntervalCoversWithSharedRows) {
  for (const int runs : {1, 3, 10}) {
    EXPECT_GE(coverage(runs, 1, 0, 0.3, 300), 0.91) << runs;
    EXPECT_GE(coverage(runs, 1, 0.1, 0.3, 300), 0.91) << runs;
  }
}

TEST(Compare, IntervalCoversWithOtherRowsForEachRun) {
  for (const int pool : {600, 6000}) {  // half of the rows in common, and next to none
    EXPECT_GE(coverage(3, 1, 0, 0.3, 300, pool), 0.91) << pool;
    EXPECT_GE(coverage(3, 1, 0.1, 0.3, 300, pool), 0.91) << pool;
  }
}

// Five models that are equally good in truth, three runs each on the same rows, beside the one that looks best on these rows: how
// often some interval says for certain that one is worse.
double false_alarms(int64_t comparisons, int samples) {
  constexpr int models = 5, runs = 3, rows = 200;
  int alarms = 0;
  for (int k = 0; k < samples; ++k) {
    RandomStream random(mix_key(57, k));
    std::vector<std::vector<RowDifferences>> losses(models);
    std::vector<double> means(models, 0);
    for (int m = 0; m < models; ++m) {
      for (int r = 0; r < runs; ++r) {
        RowDifferences run;
        const double effect = 0.05 * random.normal();
        for (int64_t row = 0; row < rows; ++row) {
          run.rows.push_back(row);
          run.values.push_back(effect + random.normal());
          means[static_cast<size_t>(m)] += run.values.back();
        }
        losses[static_cast<size_t>(m)].push_back(std::move(run));
      }
    }
    const size_t best = static_cast<size_t>(std::min_element(means.begin(), means.end()) - means.begin());
    bool alarm = false;
    for (size_t m = 0; m < models; ++m) {
      if (m == best) continue;
      std::vector<RowDifferences> behind = losses[m];
      for (size_t r = 0; r < runs; ++r) {
        for (size_t row = 0; row < rows; ++row) behind[r].values[row] -= losses[best][r].values[row];
      }
      alarm = alarm || paired_bootstrap(behind, static_cast<uint64_t>(k), 1000, joint_level(comparisons)).low > 0;
    }
    alarms += alarm;
  }
  return static_cast<double>(alarms) / samples;
}

TEST(Compare, AChoiceOfTheBestIsCoveredWhereAllPairsAreCounted) {
  EXPECT_LE(false_alarms(10, 200), 0.05 + 3 * std::sqrt(0.05 * 0.95 / 200));
  EXPECT_GE(false_alarms(1, 200), 0.12) << "it would not be with one interval's limits";
}

// Two models of the same rows, one calibrated and one with noise in its logits, `sharper` as large. What rows say of AUC and ECE
// has to give intervals as honest as those of the NLL. The truth is the difference that samples of this size have on average: for
// ECE, which sampling noise raises, another one than that of infinitely many rows.
struct Covered {
  double below = 0, within = 0, above = 0;
};
constexpr int64_t judged_rows = 600;

std::pair<Predictions, Predictions> two_models(double sharper, uint64_t seed) {
  Predictions good = calibrated_model(judged_rows, 2, 1.2, seed), worse = good;
  RandomStream noise(seed, 77);
  for (int64_t i = 0; i < judged_rows; ++i) {
    const double p = good.probabilities[2 * i + 1], logit = sharper * std::log(p / (1 - p)) + 0.7 * noise.normal();
    worse.probabilities[2 * i + 1] = 1 / (1 + std::exp(-logit));
    worse.probabilities[2 * i] = 1 - worse.probabilities[2 * i + 1];
  }
  return {good, worse};
}

Covered coverage_of_measure(Measure measure, double sharper, int samples) {
  double truth = 0;
  constexpr int truth_samples = 2000;
  for (uint64_t k = 0; k < truth_samples; ++k) {
    const auto [good, worse] = two_models(sharper, 1'000'000 + k);
    truth += (measure_of(worse, measure) - measure_of(good, measure)) / truth_samples;
  }
  Covered out;
  for (int k = 0; k < samples; ++k) {
    const auto [good, worse] = two_models(sharper, static_cast<uint64_t>(k));
    const RowDifferences differences = row_differences(worse, good, measure);
    const PairedDifference found = paired_bootstrap({&differences, 1}, static_cast<uint64_t>(k), 600);
    (truth < found.low ? out.above : truth > found.high ? out.below : out.within) += 1.0 / samples;
  }
  return out;
}

// 300 samples: three standard errors are 3.8 points.
TEST(Compare, IntervalsOfEveryMeasureCover) {
  for (const Measure measure : {Measure::accuracy, Measure::auc, Measure::nll, Measure::brier}) {
    EXPECT_NEAR(coverage_of_measure(measure, 1.6, 300).within, 0.95, 0.038) << name_of_enum(measure);
  }
  EXPECT_GE(coverage_of_measure(Measure::ece, 1.6, 300).within, 0.912);
}

TEST(Compare, DISABLED_CoverageOfMeasures) {
  for (const double sharper : {1.0, 1.3, 1.6, 2.5}) {
    for (const Measure measure : {Measure::accuracy, Measure::auc, Measure::nll, Measure::brier, Measure::ece}) {
      const Covered found = coverage_of_measure(measure, sharper, 1000);
      std::printf("| %.1f | %s | %.1f | %.1f | %.1f |\n", sharper, std::string(name_of_enum(measure)).c_str(), 100 * found.below,
                  100 * found.within, 100 * found.above);
      std::fflush(stdout);
    }
  }
}

// Runs of two models with seeds of their own: on the same rows, or each on rows of its own. Runs of a model differ by noise in
// their logits, `spread` large; those of the second model are `sharper` besides.
struct SeveralRuns {
  double sharper = 1, spread = 0.3;
  int runs = 3;
  bool same_rows = true;
};

std::vector<std::pair<Predictions, Predictions>> several_runs(const SeveralRuns& made, uint64_t seed) {
  std::vector<std::pair<Predictions, Predictions>> out;
  for (int r = 0; r < made.runs; ++r) {
    const uint64_t rows = made.same_rows ? 0 : static_cast<uint64_t>(r);
    const Predictions truth = calibrated_model(judged_rows, 2, 1.2, mix_key(seed, rows));
    const auto model = [&](double sharper, uint64_t which) {
      Predictions made_of = truth;
      RandomStream noise(mix_key(seed, static_cast<uint64_t>(r), which), 91);
      for (int64_t i = 0; i < judged_rows; ++i) {
        const double p = truth.probabilities[2 * i + 1], logit = sharper * std::log(p / (1 - p)) + made.spread * noise.normal();
        made_of.probabilities[2 * i + 1] = 1 / (1 + std::exp(-logit));
        made_of.probabilities[2 * i] = 1 - made_of.probabilities[2 * i + 1];
        made_of.rows[static_cast<size_t>(i)] = static_cast<int64_t>(rows) * judged_rows + i;
      }
      return made_of;
    };
    out.emplace_back(model(1, 0), model(made.sharper, 1));
  }
  return out;
}

Covered coverage_of_several(Measure measure, const SeveralRuns& made, int samples, int truth_samples) {
  double truth = 0;
  for (int k = 0; k < truth_samples; ++k) {
    for (const auto& [good, worse] : several_runs(made, 1'000'000 + static_cast<uint64_t>(k)))
      truth += (measure_of(worse, measure) - measure_of(good, measure)) / (truth_samples * made.runs);
  }
  Covered out;
  for (int k = 0; k < samples; ++k) {
    std::vector<RowDifferences> differences;
    for (const auto& [good, worse] : several_runs(made, static_cast<uint64_t>(k)))
      differences.push_back(row_differences(worse, good, measure));
    const PairedDifference found = paired_bootstrap(differences, static_cast<uint64_t>(k), 600);
    (truth < found.low ? out.above : truth > found.high ? out.below : out.within) += 1.0 / samples;
  }
  return out;
}

// 200 samples: three standard errors are 4.6 points. More of them: tests/reference/ece_over_seeds.py.
TEST(Compare, IntervalsOfEceCoverOverSeveralSeeds) {
  for (const bool same_rows : {true, false}) {
    for (const double sharper : {1.0, 1.6})
      EXPECT_GE(coverage_of_several(Measure::ece, {sharper, 0.3, 3, same_rows}, 200, 500).within, 0.904) << same_rows << sharper;
  }
}

// The table of docs: --gtest_also_run_disabled_tests --gtest_filter='Compare.*CoverageTable'
TEST(Compare, DISABLED_CoverageTable) {
  for (const int runs : {1, 2, 3, 5, 10}) {
    std::printf("| %d |", runs);
    for (const double run_effect : {0.0, 0.03, 0.06, 0.1, 0.3})
      std::printf(" %.1f |", 100 * coverage(runs, 1, run_effect, 0.3, 1000));
    std::printf(" %.1f | %.1f | %.1f | %.1f |\n", 100 * coverage(runs, 0, 0, 1, 1000), 100 * coverage(runs, 0.3, 0.06, 1, 1000),
                100 * coverage(runs, 1, 0.06, 0.3, 1000, 600), 100 * coverage(runs, 1, 0.06, 0.3, 1000, 6000));
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace l0gm
