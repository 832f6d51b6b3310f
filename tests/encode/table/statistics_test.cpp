#include "encode/table/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <unordered_map>

#include "base/random.h"

namespace l0gm {
namespace {

Field lookup_field(const char* name, int64_t column, size_t values) {
  Field field;
  field.name = name;
  field.column = column;
  for (size_t i = 0; i < values; ++i) field.vocabulary.push_back(std::to_string(i));
  return field;
}

Field statistic_field(int64_t statistic, int64_t of_class, double mean, double deviation) {
  Field field;
  field.name = std::to_string(statistic) + "/" + std::to_string(of_class);
  field.kind = FieldKind::statistic;
  field.statistic = statistic;
  field.of_class = of_class;
  field.mean = mean;
  field.deviation = deviation;
  return field;
}

// Codes: three of `tags`, then `colour` (5 codes), then `shape` (4 codes).
Schema example() {
  Schema schema;
  schema.classes = {"no", "yes"};
  schema.class_rows = {60, 20};
  schema.smoothing = 8;
  schema.columns.resize(3);
  schema.fields = {lookup_field("tags", 0, 2), lookup_field("colour", 1, 3), lookup_field("shape", 2, 2)};
  schema.fields[0].kind = FieldKind::multi;
  schema.fields[0].slots = 3;
  schema.statistics = {{1, -1, {0, 3}, {10, 70}, {9, 11}}, {1, 2, {2, 13, 14}, {30, 40, 10}, {0, 20, 0}}};
  schema.fields.push_back(statistic_field(0, 1, 0.25, 0.5));
  schema.fields.push_back(statistic_field(0, -1, 3, 2));
  schema.fields.push_back(statistic_field(1, 1, -0.5, 2));
  schema.fields.push_back(statistic_field(1, -1, 2, 0.75));
  return schema;
}

double logit(double p) { return std::log(p / (1 - p)); }

double odds(double rows, double of_class, double smoothing, double prior) {
  return logit((of_class + smoothing * prior) / (rows + smoothing)) - logit(prior);
}

std::vector<float> encode(const StatisticEncoder& encoder, std::vector<int32_t> codes) {
  std::vector<float> slopes(9, 77.0F);
  encoder.encode(codes.data(), slopes.data());
  return slopes;
}

TEST(KeyIndex, AgreesWithAnOrdinaryMap) {
  RandomStream random(5);
  KeyIndex index;
  std::unordered_map<int64_t, int32_t> expected;
  for (int i = 0; i < 20000; ++i) {
    // keys of a pair in equal steps, some of them again and again, and a few very large ones
    const int64_t key = i % 3 == 0   ? i * int64_t{4181}
                        : i % 3 == 1 ? static_cast<int64_t>(random.below(500))
                                     : (int64_t{1} << 56) + i;
    const int32_t wanted = expected.emplace(key, static_cast<int32_t>(expected.size())).first->second;
    ASSERT_EQ(index.insert(key), wanted);
  }
  ASSERT_EQ(index.size(), static_cast<int32_t>(expected.size()));
  for (const auto& [key, wanted] : expected) ASSERT_EQ(index.find(key), wanted);
  EXPECT_EQ(index.find(-1), -1);
  EXPECT_EQ(index.find(501), -1);
  EXPECT_EQ(KeyIndex().find(0), -1);
}

TEST(StatisticKey, ReadsFieldsAndCuts) {
  Schema schema = example();
  schema.columns[0].type = ColumnType::numeric;
  schema.cuts = {{0, {1, 2}}, {0, {1, 2, 3}}};
  const std::vector<int64_t> slots = slots_of_fields(schema);
  const std::vector<int32_t> codes = {9, 9, 9, 3, 2}, cut_codes = {2, 4};
  const auto key_of = [&](const KeyPart& first, const KeyPart& second) {
    return StatisticKey(schema, {first, second, {}, {}, {}}, slots).of(codes.data(), cut_codes.data());
  };
  EXPECT_EQ(key_of(1, {}), 3);
  EXPECT_EQ(key_of(1, 2), 3 * 4 + 2);
  EXPECT_EQ(key_of(KeyPart::of_cut(1), {}), 4);
  EXPECT_EQ(key_of(KeyPart::of_cut(0), 2), 2 * 4 + 2);
  EXPECT_EQ(key_of(1, KeyPart::of_cut(1)), 3 * 5 + 4);
  EXPECT_FALSE(StatisticKey(schema, {1, 2, {}, {}, {}}, slots).has_cuts());
  EXPECT_TRUE(StatisticKey(schema, {1, KeyPart::of_cut(0), {}, {}, {}}, slots).has_cuts());
}

TEST(StatisticFormula, LogOddsAgainstThePriorAndLogOfRows) {
  const Schema schema = example();
  const ClassRows all(schema.class_rows);
  const StatisticFormula of_yes(schema, schema.fields[3], all), of_rows(schema, schema.fields[4], all);
  for (const auto& [rows, yes] : {std::pair{0, 0}, {1, 0}, {1, 1}, {10, 9}, {70, 11}, {100000, 100000}, {100000, 0}}) {
    EXPECT_NEAR(of_yes.value(rows, yes), odds(rows, yes, 8, 0.25), 1e-12) << rows << " " << yes;
    EXPECT_DOUBLE_EQ(of_rows.value(rows, yes), std::log(1.0 + rows));
  }
  EXPECT_EQ(of_yes.value(0, 0), 0.0);
  EXPECT_EQ(all.prior(0), 0.75);
}

TEST(StatisticFormula, IsFiniteWhereAFoldHasAllRowsOfAClass) {
  const Schema schema = example();
  const StatisticFormula none_left(schema, schema.fields[3], ClassRows({30, 0})),
      only(schema, schema.fields[3], ClassRows({0, 30}));
  EXPECT_NEAR(none_left.value(5, 0), std::log(8.0 / 13.0), 1e-12);
  EXPECT_NEAR(only.value(5, 5), std::log(13.0 / 8.0), 1e-12);
  EXPECT_EQ(StatisticFormula(schema, schema.fields[3], ClassRows({0, 0})).value(0, 0), 0.0);
}

TEST(Standardised, IsClipped) {
  const Field field = statistic_field(0, 1, 2, 0.5);
  EXPECT_EQ(standardised(field, 2.25), 0.5F);
  EXPECT_EQ(standardised(field, 5), 4.0F);
  EXPECT_EQ(standardised(field, -5), -4.0F);
}

TEST(StatisticEncoder, SeenKeysGetTheCountsOfTheirRows) {
  const std::vector<float> slopes = encode(StatisticEncoder(example()), {7, 8, 9, 3, 1});  // colour 3; pair 3 * 4 + 1 = 13
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(slopes[i], 77.0F) << "a slope of a code was written";
  EXPECT_FLOAT_EQ(slopes[5], static_cast<float>((odds(70, 11, 8, 0.25) - 0.25) / 0.5));
  EXPECT_FLOAT_EQ(slopes[6], static_cast<float>((std::log(71.0) - 3) / 2));
  EXPECT_FLOAT_EQ(slopes[7], static_cast<float>((odds(40, 20, 8, 0.25) + 0.5) / 2));
  EXPECT_FLOAT_EQ(slopes[8], static_cast<float>((std::log(41.0) - 2) / 0.75));
  EXPECT_FLOAT_EQ(encode(StatisticEncoder(example()), {0, 0, 0, 0, 2})[7], static_cast<float>((odds(30, 0, 8, 0.25) + 0.5) / 2));
}

TEST(StatisticEncoder, UnseenPairsOfSeenCodesGetThePrior) {
  const std::vector<float> slopes = encode(StatisticEncoder(example()), {0, 0, 0, 0, 1});
  EXPECT_EQ(slopes[7], 0.25F);
  EXPECT_EQ(slopes[8], static_cast<float>(-2 / 0.75));
}

TEST(StatisticEncoder, CodesThatTrainingNeverSawGetTheMean) {
  const std::vector<float> slopes = encode(StatisticEncoder(example()), {0, 0, 0, 4, 3});
  for (size_t i = 5; i < 9; ++i) EXPECT_EQ(slopes[i], 0.0F) << i;
  // each statistic for itself: a known colour beside an unknown shape
  const std::vector<float> known = encode(StatisticEncoder(example()), {0, 0, 0, 3, 0});
  EXPECT_EQ(known[5], encode(StatisticEncoder(example()), {0, 0, 0, 3, 1})[5]);
  EXPECT_EQ(known[7], 0.0F);
}

TEST(StatisticEncoder, CutsAreKeysLikeFields) {
  Schema schema = example();
  schema.columns[0].type = ColumnType::numeric;
  schema.cuts = {{0, {1, 2}}};  // codes 0 … 3
  schema.statistics[0].first = KeyPart::of_cut(0);
  schema.statistics[1].second = KeyPart::of_cut(0);  // keys 2, 13, 14 of 4 codes as before
  const StatisticEncoder encoder(schema);
  const std::vector<int32_t> codes = {0, 0, 0, 3, 0}, cut_codes = {3}, second = {1};
  std::vector<float> slopes(9, 77.0F);
  encoder.encode(codes.data(), slopes.data(), cut_codes.data());
  EXPECT_FLOAT_EQ(slopes[5], static_cast<float>((odds(70, 11, 8, 0.25) - 0.25) / 0.5));
  encoder.encode(codes.data(), slopes.data(), second.data());
  EXPECT_EQ(slopes[5], 0.0F);  // the code 1 was never seen
  EXPECT_FLOAT_EQ(slopes[7], static_cast<float>((odds(40, 20, 8, 0.25) + 0.5) / 2));
  slopes.assign(9, 77.0F);
  encoder.encode(codes.data(), slopes.data());  // without numbers: left alone
  EXPECT_EQ(slopes, std::vector<float>(9, 77.0F));
}

TEST(StatisticEncoder, DoesNotNeedTheSchemaLater) {
  auto schema = std::make_unique<Schema>(example());
  auto encoder = std::make_unique<StatisticEncoder>(*schema);
  const std::vector<float> expected = encode(*encoder, {0, 0, 0, 3, 1});
  for (Statistic& statistic : schema->statistics) statistic.keys = {99};
  for (Field& field : schema->fields) field.mean = 1000;
  schema.reset();
  const StatisticEncoder copy = *encoder;
  encoder.reset();
  EXPECT_EQ(encode(copy, {0, 0, 0, 3, 1}), expected);
}

TEST(StatisticEncoder, MoreClassesEachAgainstTheRest) {
  Schema schema;
  schema.classes = {"a", "b", "c"};
  schema.class_rows = {5, 3, 2};
  schema.columns.resize(1);
  schema.fields = {lookup_field("x", 0, 1)};
  schema.statistics = {{0, -1, {1, 2}, {4, 6}, {1, 2, 1, 4, 1, 1}}};
  for (const int64_t c : {0, 1, 2, -1}) schema.fields.push_back(statistic_field(0, c, 0, 1));
  const StatisticEncoder encoder(schema);
  const int32_t code = 2;
  std::vector<float> slopes(5);
  encoder.encode(&code, slopes.data());
  EXPECT_FLOAT_EQ(slopes[1], static_cast<float>(odds(6, 4, 10, 0.5)));
  EXPECT_FLOAT_EQ(slopes[2], static_cast<float>(odds(6, 1, 10, 0.3)));
  EXPECT_FLOAT_EQ(slopes[3], static_cast<float>(odds(6, 1, 10, 0.2)));
  EXPECT_FLOAT_EQ(slopes[4], static_cast<float>(std::log(7.0)));
}

TEST(StatisticEncoder, WithoutStatisticsWritesNothing) {
  Schema schema = example();
  schema.statistics.clear();
  schema.fields.resize(3);
  EXPECT_EQ(encode(StatisticEncoder(schema), {0, 0, 0, 3, 1}), std::vector<float>(9, 77.0F));
}

}  // namespace
}  // namespace l0gm
