#include "data/table/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>

#include "data/table/statistics_tools.h"
#include "encode/table/statistics.h"

namespace l0gm {
namespace {

using namespace statistics_tools;

const Statistic& statistic_of(const Schema& schema, const Field& field) {
  return schema.statistics[static_cast<size_t>(field.statistic)];
}

bool same_key(const Table& t, const Statistic& statistic, size_t a, size_t b) {
  const auto width = static_cast<size_t>(t.rows.code_slots);
  const auto equal = [&](const KeyPart& part) {  // the field in front has two slots
    const auto slot = static_cast<size_t>(part.field + 1);
    return t.rows.codes[a * width + slot] == t.rows.codes[b * width + slot];
  };
  return equal(statistic.first) && (!statistic.of_pair() || equal(statistic.second));
}

double logit(double p) { return std::log(p / (1 - p)); }

// The definition in a plain loop over all rows that count for `row`, in the prior as well.
template <class Counts>
double brute_force(const Table& t, const Field& field, size_t row, double smoothing, Counts counts) {
  double n = 0, s = 0, of_class = 0, all = 0;
  for (size_t i = 0; i < t.rows.labels.size(); ++i) {
    if (!counts(i)) continue;
    all += 1;
    of_class += t.rows.labels[i] == field.of_class ? 1 : 0;
    if (!same_key(t, statistic_of(t.schema, field), row, i)) continue;
    n += 1;
    s += t.rows.labels[i] == field.of_class ? 1 : 0;
  }
  if (field.of_class < 0) return std::log(1 + n);
  const double prior = of_class / all;
  return logit((s + smoothing * prior) / (n + smoothing)) - logit(prior);
}

float slope(const Table& t, size_t row, size_t field) {
  return t.rows.slopes[row * static_cast<size_t>(t.rows.slope_slots) + field + 1];
}

void check_against_brute_force(const Table& t, double smoothing) {
  const size_t rows = t.rows.labels.size();
  for (size_t f = 0; f < t.schema.fields.size(); ++f) {
    const Field& field = t.schema.fields[f];
    if (field.kind != FieldKind::statistic) continue;
    std::vector<double> values;
    for (size_t row = 0; row < rows; ++row) {
      const int64_t fold = statistic_fold(t.rows.row_numbers[row]);
      values.push_back(
          brute_force(t, field, row, smoothing, [&](size_t i) { return statistic_fold(t.rows.row_numbers[i]) != fold; }));
      if (field.of_class < 0)
        values.back() = std::log1p(std::round(std::expm1(values.back()) * 10 / 9));  // scaled up to all folds
    }
    const bool odds = field.of_class >= 0;
    const double mean = odds ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(rows);
    double squares = 0;
    for (const double value : values) squares += (value - mean) * (value - mean);
    double deviation = std::sqrt(squares / static_cast<double>(rows));
    ASSERT_NEAR(field.mean, mean, 1e-10) << field.name;
    if (!odds) {
      deviation = std::max(0.2, deviation);
      ASSERT_NEAR(field.deviation, deviation, 1e-10) << field.name;
    } else if (t.schema.classes.size() == 2) {  // a power of two, of more classes that of all together
      ASSERT_NEAR(std::log2(field.deviation), std::clamp(std::log2(deviation), -2.0, 2.0), 0.5) << field.name;
    }
    if (odds) deviation = field.deviation;
    for (size_t row = 0; row < rows; ++row) {
      ASSERT_NEAR(slope(t, row, f), std::clamp((values[row] - mean) / deviation, -4.0, 4.0), 1e-5)
          << field.name << " row " << row;
    }
  }
}

TEST(Statistics, ValuesOfTrainingRowsLeaveOutTheirFold) {
  const Table t = fitted(example(400, 2, 1), options_for(Statistics::pairs, 100, 7));
  ASSERT_EQ(t.schema.statistics.size(), 6U);
  EXPECT_EQ(t.schema.smoothing, 7);
  check_against_brute_force(t, 7);
}

TEST(Statistics, MoreClassesEachAgainstTheRest) {
  const Table t = fitted(example(300, 3, 2), options_for(Statistics::pairs, 1));
  ASSERT_EQ(t.schema.statistics.size(), 4U);
  ASSERT_EQ(t.schema.fields.size(), 4U + 4 * 4);
  EXPECT_EQ(t.schema.fields[4].name, "a: odds of class0");
  EXPECT_EQ(t.schema.fields[6].name, "a: odds of class2");
  EXPECT_EQ(t.schema.fields[7].name, "a: rows");
  EXPECT_EQ(t.schema.statistics[0].class_counts.size(), 3 * t.schema.statistics[0].keys.size());
  check_against_brute_force(t, 10);
}

TEST(Statistics, RowsEncodedLaterUseAllTrainingRows) {
  for (const size_t classes : {2U, 3U}) {
    const Table t = fitted(example(300, classes, 3), options_for(Statistics::pairs));
    const StatisticEncoder encoder(t.schema);
    std::vector<float> slopes(static_cast<size_t>(t.rows.slope_slots));
    for (size_t row = 0; row < 300; ++row) {
      encoder.encode(t.rows.codes.data() + row * static_cast<size_t>(t.rows.code_slots), slopes.data());
      for (size_t f = 4; f < t.schema.fields.size(); ++f) {
        const Field& field = t.schema.fields[f];
        const double value = brute_force(t, field, row, 10, [](size_t) { return true; });
        ASSERT_NEAR(slopes[f + 1], std::clamp((value - field.mean) / field.deviation, -4.0, 4.0), 1e-5) << field.name;
      }
    }
  }
}

TEST(Statistics, UnseenCodesGetTheMean) {
  const Table t = fitted(example(300, 2, 4), options_for(Statistics::pairs));
  const std::vector<int32_t> codes = {0, 1, 6, 9, 1000};
  std::vector<float> slopes(static_cast<size_t>(t.rows.slope_slots));
  StatisticEncoder(t.schema).encode(codes.data(), slopes.data());
  for (size_t f = 4; f < t.schema.fields.size(); ++f) EXPECT_EQ(slopes[f + 1], 0.0F);
}

TEST(Statistics, RandomLabelsDoNotLeak) {
  constexpr size_t rows = 20000;
  RandomStream random(7);
  std::vector<int32_t> identifiers;  // of one, two or three rows
  for (int32_t id = 2; identifiers.size() < rows; ++id) identifiers.insert(identifiers.end(), 1 + random.below(3), id);
  identifiers.resize(rows);
  const Table t = fitted(make({identifiers}, random_codes(random, rows, 2)), options_for(Statistics::columns));
  const StatisticEncoder encoder(t.schema);
  std::vector<double> out_of_fold, naive;
  std::vector<float> slopes(static_cast<size_t>(t.rows.slope_slots));
  for (size_t row = 0; row < rows; ++row) {
    out_of_fold.push_back(slope(t, row, 2));
    encoder.encode(t.rows.codes.data() + row * static_cast<size_t>(t.rows.code_slots), slopes.data());
    naive.push_back(slopes[3]);
  }
  // The standard error of the area without any relation, times the root of 2, as two rows of a key use each other's label.
  const double error = std::sqrt((rows + 1) / (12.0 * (rows / 2.0) * (rows / 2.0))) * std::sqrt(2.0);
  EXPECT_NEAR(area(out_of_fold, t.rows.labels), 0.5, 4 * error);
  EXPECT_GT(area(naive, t.rows.labels), 0.8);
}

// The same choice of statistics, counted anew with one label flipped: the row's own inputs are the same bits, prior included.
TEST(Statistics, NoRowDependsOnItsOwnLabelWhenCountedAnew) {
  const Table plain = example(300, 2, 8);
  const std::vector<ChosenStatistic> chosen = {{1, {}, 0.5, true}, {3, {}, 1, true}, {1, 2, 0.25, true}, {2, 3, 2, true}};
  Table t = plain;
  add_statistics(t.schema, t.rows, chosen);
  const auto width = static_cast<size_t>(t.rows.slope_slots);
  size_t others_changed = 0;
  for (size_t row = 0; row < 300; ++row) {
    Table flipped = plain;
    flipped.rows.labels[row] = 1 - flipped.rows.labels[row];
    add_statistics(flipped.schema, flipped.rows, chosen);
    for (size_t s = 0; s < width; ++s)
      ASSERT_EQ(flipped.rows.slopes[row * width + s], t.rows.slopes[row * width + s]) << "row " << row;
    others_changed += flipped.rows.slopes != t.rows.slopes ? 1 : 0;
  }
  EXPECT_EQ(others_changed, 300U);
}

TEST(Statistics, NoRowDependsOnItsOwnLabel) {
  const Table t = fitted(example(300, 2, 8), options_for(Statistics::pairs));
  const auto width = static_cast<size_t>(t.rows.slope_slots);
  size_t others_changed = 0;
  for (size_t row = 0; row < 300; ++row) {
    EncodedTable flipped = t.rows;
    flipped.labels[row] = 1 - flipped.labels[row];
    fill_out_of_fold(t.schema, flipped);
    for (size_t s = 0; s < width; ++s)
      ASSERT_EQ(flipped.slopes[row * width + s], t.rows.slopes[row * width + s]) << "row " << row;
    others_changed += flipped.slopes != t.rows.slopes ? 1 : 0;
  }
  EXPECT_EQ(others_changed, 300U);  // it does affect rows of the same key in other folds
}

void expect_same(const Schema& a, const Schema& b) {
  ASSERT_EQ(a.fields.size(), b.fields.size());
  ASSERT_EQ(a.statistics.size(), b.statistics.size());
  for (size_t f = 0; f < a.fields.size(); ++f) {
    EXPECT_EQ(a.fields[f].name, b.fields[f].name);
    EXPECT_EQ(a.fields[f].mean, b.fields[f].mean);
    EXPECT_EQ(a.fields[f].deviation, b.fields[f].deviation);
  }
  for (size_t s = 0; s < a.statistics.size(); ++s) {
    EXPECT_EQ(a.statistics[s].keys, b.statistics[s].keys);
    EXPECT_EQ(a.statistics[s].counts, b.statistics[s].counts);
    EXPECT_EQ(a.statistics[s].class_counts, b.statistics[s].class_counts);
    EXPECT_TRUE(std::is_sorted(a.statistics[s].keys.begin(), a.statistics[s].keys.end()));
  }
}

TEST(Statistics, DoNotDependOnTheOrderOfRows) {
  const Table plain = example(3000, 3, 9);
  Table shuffled = plain;
  const std::vector<int64_t> order = RandomStream(1).permutation(3000);
  const auto width = static_cast<size_t>(plain.rows.code_slots);
  for (size_t i = 0; i < order.size(); ++i) {
    const auto from = static_cast<size_t>(order[i]);
    std::copy_n(plain.rows.codes.begin() + static_cast<int64_t>(from * width), width,
                shuffled.rows.codes.begin() + static_cast<int64_t>(i * width));
    shuffled.rows.labels[i] = plain.rows.labels[from];
    shuffled.rows.row_numbers[i] = plain.rows.row_numbers[from];
  }
  const Table a = fitted(plain, options_for(Statistics::pairs, 1)), b = fitted(shuffled, options_for(Statistics::pairs, 1));
  expect_same(a.schema, b.schema);
  for (size_t i = 0; i < order.size(); ++i) {
    for (size_t f = 4; f < a.schema.fields.size(); ++f) ASSERT_EQ(slope(b, i, f), slope(a, static_cast<size_t>(order[i]), f));
  }
}

TEST(Statistics, AreTheSameReadBackFromJson) {
  Table plain = example(500, 3, 22);
  plain.schema.label = "y";
  const Table t = fitted(plain, options_for(Statistics::pairs));
  const Schema read = Schema::from_json(nlohmann::json::parse(t.schema.to_json().dump()));
  expect_same(t.schema, read);
  EncodedTable rows = plain.rows;
  fill_out_of_fold(read, rows);
  EXPECT_EQ(rows.slopes, t.rows.slopes);
}

TEST(Statistics, ClassWithoutRowsIsRefused) {
  Table t = example(100, 2, 23);
  t.schema.classes.push_back("class2");
  EXPECT_THROW(fit_statistics(t.schema, t.rows, options_for(Statistics::columns)), std::logic_error);
}

TEST(Statistics, FillReproducesWhatFitWrote) {
  const Table plain = example(500, 2, 10), t = fitted(plain, options_for(Statistics::pairs));
  EncodedTable narrow = plain.rows, wide = t.rows;
  const StatisticEncoder encoder(t.schema);
  for (size_t row = 0; row < 500; ++row) {
    encoder.encode(wide.codes.data() + row * static_cast<size_t>(wide.code_slots),
                   wide.slopes.data() + row * static_cast<size_t>(wide.slope_slots));
  }
  EXPECT_NE(wide.slopes, t.rows.slopes);  // of all rows: not what training reads
  fill_out_of_fold(t.schema, wide);
  fill_out_of_fold(t.schema, narrow);
  EXPECT_EQ(wide.slopes, t.rows.slopes);
  EXPECT_EQ(narrow.slopes, t.rows.slopes);
  EXPECT_EQ(narrow.slope_slots, t.rows.slope_slots);
}

TEST(Statistics, FillRefusesOtherRows) {
  const Table t = fitted(example(500, 2, 10), options_for(Statistics::pairs));
  EncodedTable fewer = example(499, 2, 10).rows, others = example(500, 2, 11).rows;
  EXPECT_THROW(fill_out_of_fold(t.schema, fewer), std::logic_error);
  EXPECT_THROW(fill_out_of_fold(t.schema, others), std::logic_error);
}

TEST(Statistics, SlopesOfCodesStayAndLayoutGrows) {
  const Table plain = example(100, 2, 12), t = fitted(plain, options_for(Statistics::columns));
  ASSERT_EQ(t.rows.slope_slots, 5 + 6);
  ASSERT_EQ(t.schema.slope_slots(), t.rows.slope_slots);
  ASSERT_EQ(t.rows.slopes.size(), 1100U);
  for (size_t row = 0; row < 100; ++row) {
    for (size_t s = 0; s < 5; ++s) ASSERT_EQ(t.rows.slopes[row * 11 + s], plain.rows.slopes[row * 5 + s]);
  }
  EXPECT_EQ(t.rows.codes, plain.rows.codes);
  EXPECT_EQ(t.schema.class_rows, (std::vector<int64_t>{std::count(t.rows.labels.begin(), t.rows.labels.end(), 0),
                                                       std::count(t.rows.labels.begin(), t.rows.labels.end(), 1)}));
}

TEST(Statistics, ADeviationIsNeverTiny) {
  std::vector<int32_t> identifiers(50);
  std::iota(identifiers.begin(), identifiers.end(), 0);
  RandomStream random(18);
  const Table t = fitted(make({identifiers}, random_codes(random, 50, 2)), options_for(Statistics::columns));
  for (const size_t f : {2U, 3U}) {  // no other row of any key: no rows outside the fold
    EXPECT_EQ(t.schema.fields[f].deviation, f == 2 ? 0.25 : 0.2);
    EXPECT_EQ(t.schema.fields[f].mean, 0.0);
    for (size_t row = 0; row < 50; ++row) EXPECT_EQ(slope(t, row, f), 0.0F);
  }
}

// A column of few, equally frequent values: out-of-fold counts differ little, and those of all folds must be close to
// them.
TEST(Statistics, RowsEncodedLaterLookLikeTrainingRows) {
  RandomStream random(21);
  const Table t = fitted(make({random_codes(random, 4000, 4)}, random_codes(random, 4000, 2)), options_for(Statistics::columns));
  const StatisticEncoder encoder(t.schema);
  for (const size_t f : {2U, 3U}) {
    double training = 0, later = 0;
    for (size_t row = 0; row < 4000; ++row) {
      std::vector<float> slopes(static_cast<size_t>(t.rows.slope_slots), 0.0F);
      encoder.encode(t.rows.codes.data() + row * static_cast<size_t>(t.rows.code_slots), slopes.data());
      training += static_cast<double>(slope(t, row, f)) / 4000;
      later += static_cast<double>(slopes[f + 1]) / 4000;
    }
    EXPECT_NEAR(training, later, 0.05) << t.schema.fields[f].name;
  }
}

}  // namespace
}  // namespace l0gm
