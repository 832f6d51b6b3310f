#include "data/table/statistic_ranking.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "base/random.h"
#include "data/table/fit.h"
#include "data/table/statistic_gain.h"
#include "data/table/statistics.h"
#include "data/table/statistics_tools.h"

// table.statistics = auto: which statistics are kept.
namespace l0gm {
namespace {

// A table of text, its schema and its encoded rows; the last column is the label.
struct Made {
  TextTable texts;
  Schema schema;
  EncodedTable rows;

  Made(std::vector<std::string> names, int64_t count, const std::function<std::vector<std::string>(RandomStream&, int64_t)>& row)
      : texts(std::move(names)) {
    RandomStream random(3);
    std::vector<int64_t> numbers;
    for (int64_t r = 0; r < count; ++r) {
      const std::vector<std::string> cells = row(random, r);
      texts.add_row({cells.begin(), cells.end()});
      numbers.push_back(r);
    }
    schema = fit_schema(texts, texts.columns() - 1, numbers, {}, {}, {});
    rows = encode_rows(texts, RowEncoder(schema), numbers, true);
  }
  void fit(TableOptions options = {}, bool with_pairs = true) { fit_statistics(schema, rows, options, &texts, with_pairs); }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const Field& field : schema.fields) {
      if (field.kind == FieldKind::statistic) found.push_back(field.name);
    }
    return found;
  }
  bool has(std::string_view part) const {
    const std::vector<std::string> all = names();
    return std::any_of(all.begin(), all.end(), [&](const std::string& name) { return name.find(part) != std::string::npos; });
  }
};

std::string number(RandomStream& random) { return fmt::format("{:.4f}", random.normal()); }

// The label depends on where a point lies on a board of squares, and a little on a category.
Made board(int64_t count) {
  return Made({"x", "y", "colour", "noise", "label"}, count, [](RandomStream& random, int64_t) {
    const double x = random.uniform() * 8, y = random.uniform() * 8;
    const auto colour = random.below(3);
    const bool dark = (static_cast<int>(x) + static_cast<int>(y)) % 2 == 1;
    const bool yes = random.uniform() < (dark ? 0.8 : 0.2) + (colour == 0 ? 0.3 : 0.0);
    return std::vector<std::string>{fmt::format("{:.4f}", x), fmt::format("{:.4f}", y), fmt::format("c{}", colour),
                                    number(random), yes ? "yes" : "no"};
  });
}

TEST(StatisticRanking, FindsPairsThatTellMoreThanTheirColumns) {
  Made made = board(4000);
  made.fit();
  ASSERT_FALSE(made.names().empty());
  EXPECT_EQ(made.names()[0].rfind("x/", 0), 0U) << made.names()[0];
  EXPECT_TRUE(made.has("x/12 x y/12: odds"));
  EXPECT_TRUE(made.has("x/48 x y/48: odds"));
  EXPECT_TRUE(made.has("colour: odds"));
  EXPECT_FALSE(made.has("noise"));
}

TEST(StatisticRanking, WithoutPairsColumnsOnly) {
  Made made = board(4000);
  made.fit({}, false);
  EXPECT_TRUE(made.has("colour: odds"));
  EXPECT_FALSE(made.has(" x "));
}

TEST(StatisticRanking, NoneWhereLabelsAreRandom) {
  Made made({"a", "b", "c", "d", "label"}, 3000, [](RandomStream& random, int64_t row) {
    return std::vector<std::string>{number(random), number(random), fmt::format("v{}", random.below(7)),
                                    fmt::format("id{}", row / 2), random.below(2) == 0 ? "yes" : "no"};
  });
  made.fit();
  EXPECT_EQ(made.names(), std::vector<std::string>{});
  EXPECT_TRUE(made.schema.cuts.empty());
  EXPECT_EQ(made.rows.slope_slots, made.rows.code_slots);
}

// Whatever is chosen: on random labels no statistic of a training row tells its label.
TEST(StatisticRanking, RandomLabelsDoNotLeakIntoTrainingRows) {
  constexpr int64_t count = 6000;
  Made made({"a", "b", "c", "label"}, count, [](RandomStream& random, int64_t row) {
    return std::vector<std::string>{number(random), number(random), fmt::format("id{}", row / 3),
                                    random.below(2) == 0 ? "yes" : "no"};
  });
  const KeyColumns columns(made.schema, made.rows, &made.texts);
  std::vector<ChosenStatistic> chosen;
  for (const int64_t ranges : {12, 48, 150}) {
    for (const int64_t column : {0, 1})
      made.schema.cuts.push_back({column, cut_edges(sorted_finite(columns.numbers(column)), ranges)});
    const int64_t last = std::ssize(made.schema.cuts) - 1;
    chosen.push_back({KeyPart::of_cut(last), {}});
    chosen.push_back({KeyPart::of_cut(last - 1), KeyPart::of_cut(last)});
    chosen.push_back({KeyPart::of_cut(last), 2});
  }
  add_statistics(made.schema, made.rows, chosen, &made.texts);
  const double error = std::sqrt((count + 1) / (12.0 * (count / 2.0) * (count / 2.0)));
  for (size_t f = 0; f < made.schema.fields.size(); ++f) {
    const Field& field = made.schema.fields[f];
    if (field.kind != FieldKind::statistic || field.of_class < 0) continue;
    std::vector<double> scores;
    const auto slot = static_cast<size_t>(slots_of_fields(made.schema)[f]), width = static_cast<size_t>(made.rows.slope_slots);
    for (size_t row = 0; row < made.rows.labels.size(); ++row)
      scores.push_back(static_cast<double>(made.rows.slopes[row * width + slot]));
    EXPECT_LT(statistics_tools::area(scores, made.rows.labels), 0.5 + 4 * error) << field.name;
  }
}

TEST(StatisticRanking, NumericColumnsAreCutAtSeveralResolutions) {
  Made made({"many", "few", "label"}, 5000, [](RandomStream& random, int64_t) {
    const double x = random.normal();
    const auto few = random.below(20);
    const bool yes = random.uniform() < 1 / (1 + std::exp(-2 * x - (few < 10 ? 1.0 : -1.0)));
    return std::vector<std::string>{fmt::format("{:.4f}", x), fmt::format("{}", few), yes ? "yes" : "no"};
  });
  made.fit({}, false);
  std::set<std::pair<int64_t, size_t>> found;
  for (const Cut& cut : made.schema.cuts) found.emplace(cut.column, cut.edges.size() + 1);
  EXPECT_EQ(found, (std::set<std::pair<int64_t, size_t>>{{0, 12}, {0, 48}, {0, 150}, {1, 12}, {1, 20}}));
  EXPECT_FALSE(made.has("many/12: rows"));  // equally many in each range: no input
  EXPECT_TRUE(made.has("few/12: odds"));
}

TEST(StatisticRanking, MostStatisticsFollowRowsClassesAndOption) {
  const auto statistics = [](int64_t rows, int64_t most) {
    Made made = board(rows);
    TableOptions options;
    options.max_statistics = most;
    made.fit(options);
    return std::ssize(made.schema.statistics);
  };
  EXPECT_GT(statistics(4000, 120), 2);
  EXPECT_EQ(statistics(4000, 2), 2);
  EXPECT_LE(statistics(160, 120), 4);  // an input for 20 rows, two inputs for a statistic
  EXPECT_EQ(statistics(30, 120), 0);
}

TEST(StatisticRanking, FewRowsHaveManyInputsOnRequest) {
  // Every column tells of the label, and so does every pair of them: what is kept is as many as the table bears.
  const auto inputs = [](int64_t rows, int64_t rows_per_input) {
    std::vector<std::string> names;
    for (int64_t c = 0; c < 12; ++c) names.push_back(fmt::format("c{}", c));
    names.emplace_back("label");
    Made made(names, rows, [](RandomStream& random, int64_t) {
      const int64_t of = random.below(6);
      std::vector<std::string> cells;
      for (int64_t c = 0; c < 12; ++c)
        cells.push_back(fmt::format("{:.4f}", static_cast<double>(of * (c + 3) % 7) + random.normal()));
      cells.push_back(fmt::format("k{}", of));
      return cells;
    });
    TableOptions options;
    options.rows_per_input = rows_per_input;
    made.fit(options);
    return std::ssize(made.names());
  };
  EXPECT_LE(inputs(600, 20), 600 / 20);
  const int64_t asked = inputs(600, 2);
  EXPECT_GT(asked, 600 / 4);
  EXPECT_LE(asked, 600 / 2);
  EXPECT_LE(inputs(6000, 20), 240);
  EXPECT_GT(inputs(6000, 5), 240);
}

TEST(StatisticRanking, ACopyOfAColumnAddsNothing) {
  const auto fit = [](bool copied) {
    std::vector<std::string> names = {"x", "y", "label"};
    if (copied) names = {"x", "copy", "y", "label"};
    Made made(names, 4000, [&](RandomStream& random, int64_t) {
      const double x = random.uniform() * 6, y = random.uniform() * 6;
      const bool dark = (static_cast<int>(x) + static_cast<int>(y)) % 2 == 1, yes = random.uniform() < (dark ? 0.9 : 0.1);
      std::vector<std::string> cells = {fmt::format("{:.4f}", x)};
      if (copied) cells.push_back(cells[0]);
      cells.push_back(fmt::format("{:.4f}", y));
      cells.emplace_back(yes ? "yes" : "no");
      return cells;
    });
    made.fit();
    return made.schema.statistics.size();
  };
  EXPECT_EQ(fit(true), fit(false));
}

TEST(StatisticRanking, SeveralClassesAndOneOfThreeRows) {
  Made made({"x", "y", "label"}, 3000, [](RandomStream& random, int64_t row) {
    const double x = random.uniform() * 3, y = random.uniform() * 3;
    const auto square = (static_cast<int>(x) + 2 * static_cast<int>(y)) % 3;
    const std::string label = row < 3 ? "rare" : fmt::format("k{}", random.uniform() < 0.7 ? square : random.below(3));
    return std::vector<std::string>{fmt::format("{:.3f}", x), fmt::format("{:.3f}", y), label};
  });
  made.fit();
  EXPECT_TRUE(made.has("odds of rare"));
  EXPECT_TRUE(made.has("odds of k1"));
  EXPECT_LE(std::ssize(made.schema.statistics), 240 / 5);
  for (const float slope : made.rows.slopes) ASSERT_TRUE(std::isfinite(slope));
}

TEST(StatisticRanking, FewerRowsThanFoldsAndConstantColumns) {
  for (const int64_t rows : {2, 5, 9, 60}) {
    Made made({"x", "y", "label"}, rows, [](RandomStream& random, int64_t row) {
      return std::vector<std::string>{number(random), row == 0 ? "b" : "a", row % 2 == 0 ? "yes" : "no"};
    });
    made.fit();
    for (const float slope : made.rows.slopes) ASSERT_TRUE(std::isfinite(slope));
  }
}

TEST(StatisticRanking, ManyColumnsAndIdentifiersAreBounded) {
  constexpr int64_t columns = 2000;
  std::vector<std::string> names;
  for (int64_t c = 0; c < columns; ++c) names.push_back(fmt::format("c{}", c));
  names.insert(names.end(), {"id", "label"});
  Made made(names, 400, [&](RandomStream& random, int64_t row) {
    std::vector<std::string> cells;
    for (int64_t c = 0; c < columns; ++c) cells.push_back(fmt::format("{}", random.below(30)));
    const bool yes = random.uniform() < (cells[700].size() == 1 ? 0.95 : 0.05);
    cells.push_back(fmt::format("id{}", row / 2));
    cells.emplace_back(yes ? "yes" : "no");
    return cells;
  });
  made.fit();
  EXPECT_TRUE(made.has("c700"));
  EXPECT_LE(std::ssize(made.names()), 400 / 20);
}

TEST(StatisticRanking, DoesNotDependOnTheOrderOfRows) {
  Made made = board(2000), shuffled = board(2000);
  const std::vector<int64_t> order = RandomStream(1).permutation(2000);
  shuffled.rows = encode_rows(shuffled.texts, RowEncoder(shuffled.schema), order, true);
  made.fit();
  shuffled.fit();
  EXPECT_EQ(shuffled.schema.to_json(), made.schema.to_json());
}

TEST(StatisticGain, IsTheOutOfFoldLogLossSaved) {
  EncodedTable rows;
  KeyColumn key{3, {}};
  RandomStream random(4);
  for (int64_t row = 0; row < 300; ++row) {
    rows.row_numbers.push_back(row);
    key.codes.push_back(static_cast<int32_t>(random.below(3)));
    rows.labels.push_back(random.uniform() < 0.2 + 0.3 * key.codes.back() ? 1 : 0);
  }
  const FoldedLabels labels(rows, 2);
  const Gain gain = gain_of(labels, group_rows(key, nullptr), 10);
  double sum = 0, squares = 0;
  for (size_t i = 0; i < 300; ++i) {
    double all = 0, of_class = 0, same = 0, same_class = 0;
    for (size_t j = 0; j < 300; ++j) {
      if (statistic_fold(static_cast<int64_t>(i)) == statistic_fold(static_cast<int64_t>(j))) continue;
      const double is = rows.labels[i] == rows.labels[j] ? 1 : 0;
      all += 1;
      of_class += is;
      if (key.codes[i] != key.codes[j]) continue;
      same += 1;
      same_class += is;
    }
    const double prior = of_class / all, saved = std::log((same_class + 10 * prior) / (same + 10) / prior);
    sum += saved;
    squares += saved * saved;
  }
  EXPECT_NEAR(gain.mean, sum / 300, 1e-12);
  EXPECT_NEAR(gain.error, std::sqrt(2 * (squares / 300 - gain.mean * gain.mean) / 300), 1e-12);
}

TEST(StatisticGain, NoiseReachesFurtherAmongMany) {
  EXPECT_TRUE((Gain{0.031, 0.01}.beyond_noise()));
  EXPECT_FALSE((Gain{0.029, 0.01}.beyond_noise()));
  EXPECT_FALSE((Gain{0.031, 0.01}.beyond_noise(10'000)));
  EXPECT_TRUE((Gain{0.044, 0.01}.beyond_noise(10'000)));
  EXPECT_FALSE((Gain{1e-12, 0}.beyond_noise()));  // rounding: a column of one value
}

}  // namespace
}  // namespace l0gm
