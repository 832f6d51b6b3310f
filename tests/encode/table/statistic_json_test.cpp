#include "encode/table/statistic_json.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "encode/table/bins.h"
#include "encode/table/row_encoder.h"
#include "encode/table/statistics.h"
#include "l0gm/error.h"

// Statistics whose keys are cuts of numeric columns, stored and served.
namespace l0gm {
namespace {

using Json = nlohmann::json;

// Columns colour and age; statistics of age in three ranges, of colour with age in two, of age at both resolutions.
Schema example() {
  Schema schema;
  schema.label = "y";
  schema.classes = {"no", "yes"};
  schema.class_rows = {60, 20};
  schema.missing_marks = {"?"};
  schema.columns = {{.name = "colour"}, {.name = "age", .type = ColumnType::numeric, .low = 0, .high = 90}};
  schema.fields = {{.name = "colour", .vocabulary = {"red", "blue"}},
                   {.name = "age", .column = 1, .kind = FieldKind::plain, .mean = 40, .deviation = 10}};
  schema.cuts = {{1, {30, 50}}, {1, {40}}};
  const auto cut = [](int64_t index) { return KeyPart::of_cut(index); };
  schema.statistics = {{cut(0), {}, {0, 1, 3}, {5, 40, 35}, {1, 2, 17}},
                       {0, cut(1), {2 * 3 + 1, 2 * 3 + 2, 3 * 3 + 2}, {20, 30, 30}, {1, 2, 17}},
                       {cut(0), cut(1), {1 * 3 + 1, 3 * 3 + 2}, {40, 40}, {3, 17}}};
  for (int64_t s = 0; s < 3; ++s) {
    Field field;
    field.name = "odds" + std::to_string(s);
    field.column = s == 1 ? 0 : 1;
    field.kind = FieldKind::statistic;
    field.statistic = s;
    field.of_class = 1;
    schema.fields.push_back(field);
  }
  return schema;
}

TEST(StatisticJson, CutsComeBack) {
  const Schema schema = example(), back = Schema::from_json(Json::parse(schema.to_json().dump()));
  EXPECT_EQ(back.to_json(), schema.to_json());
  ASSERT_EQ(back.cuts.size(), 2U);
  EXPECT_EQ(back.cuts[0].edges, (std::vector<double>{30, 50}));
  EXPECT_EQ(back.cuts[0].rows(), 4);
  EXPECT_EQ(back.statistics[1].first, KeyPart(0));
  EXPECT_EQ(back.statistics[1].second, KeyPart::of_cut(1));
  EXPECT_FALSE(back.statistics[0].of_pair());
  EXPECT_EQ(back.rows_of(back.statistics[1].second), 3);
  EXPECT_EQ(back.column_of(back.statistics[1].second), 1);
}

TEST(StatisticJson, WithoutCutsTheJsonIsAsBefore) {
  Schema schema = example();
  schema.cuts.clear();
  schema.statistics.clear();
  schema.fields.resize(2);
  EXPECT_FALSE(schema.to_json().contains("cuts"));
  EXPECT_TRUE(Schema::from_json(schema.to_json()).cuts.empty());
}

std::string error_after(const std::function<void(Json&)>& damage) {
  Json json = example().to_json();
  damage(json);
  try {
    Schema::from_json(json);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

testing::AssertionResult contains(const std::string& text, std::string_view part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << part << "' is not in: " << text;
}

TEST(StatisticJson, DamagedCutsAreRefused) {
  EXPECT_TRUE(contains(error_after([](Json& j) { j["cuts"][0]["column"] = 2; }), "refers to column 2, there are 2"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["cuts"][0]["column"] = 0; }), "its column is not numeric"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["cuts"][0]["edges"] = {30, 30}; }), "'edges' do not increase"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["cuts"][0].erase("edges"); }), "'edges' is absent"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["statistics"][0]["first_cut"] = 2; }), "refers to cut 2, there are 2"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["statistics"][0]["first"] = 0; }), "both 'first' and 'first_cut'"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["statistics"][2]["second_cut"] = 0; }), "are the same"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["statistics"][0]["keys"] = {0, 1, 4}; }), "from 0 to 3"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["fields"][2]["column"] = 0; }), "'column' is not that of its statistic"));
  EXPECT_TRUE(contains(error_after([](Json& j) {
                         while (std::ssize(j["cuts"]) <= most_cuts) j["cuts"].push_back(j["cuts"][0]);
                       }),
                       "at most 4096"));
}

TEST(CutCode, CountsTheEdgesUpToTheValue) {
  const std::vector<double> edges = {30, 50};
  EXPECT_EQ(cut_code(edges, 29.9), 1);
  EXPECT_EQ(cut_code(edges, 30), 2);
  EXPECT_EQ(cut_code(edges, 50), 3);
  EXPECT_EQ(cut_code(edges, std::numeric_limits<double>::infinity()), 3);
  EXPECT_EQ(cut_code(edges, std::numeric_limits<double>::quiet_NaN()), 0);
  EXPECT_EQ(cut_code({}, 7), 1);
}

TEST(RowEncoder, ServesStatisticsOfCuts) {
  const Schema schema = example();
  const RowEncoder encoder(schema);
  ASSERT_EQ(schema.code_slots(), 2);
  ASSERT_EQ(schema.slope_slots(), 5);
  const auto slopes = [&](std::string_view colour, std::string_view age) {
    std::vector<int32_t> codes(2);
    std::vector<float> found(5);
    const std::string_view cells[] = {colour, age};
    encoder.encode(cells, codes.data(), found.data());
    std::vector<float> again(5);
    const double numbers[] = {static_cast<double>(encoder.code_of(0, colour)), encoder.number_of(1, age)};
    encoder.encode_numbers(numbers, codes.data(), again.data());
    EXPECT_EQ(again, found);
    return found;
  };
  const StatisticFormula formula(schema, schema.fields[2], ClassRows(schema.class_rows));
  const auto value = [&](int64_t rows, int64_t yes) { return static_cast<float>(formula.value(rows, yes)); };
  std::vector<float> found = slopes("red", "20");  // codes 2; 1 of three ranges, 1 of two
  EXPECT_FLOAT_EQ(found[2], value(40, 2));
  EXPECT_FLOAT_EQ(found[3], value(20, 1));
  EXPECT_FLOAT_EQ(found[4], value(40, 3));
  found = slopes("blue", " 55 ");
  EXPECT_FLOAT_EQ(found[2], value(35, 17));
  EXPECT_FLOAT_EQ(found[3], value(30, 17));
  EXPECT_FLOAT_EQ(found[4], value(40, 17));
  found = slopes("red", "?");
  EXPECT_FLOAT_EQ(found[2], value(5, 1));  // missing was in training rows
  EXPECT_EQ(found[3], 0.0F);               // not with this cut
  found = slopes("red", "35");             // a range that no training row is in
  EXPECT_EQ(found[2], 0.0F);
  EXPECT_FLOAT_EQ(found[3], value(20, 1));
}

}  // namespace
}  // namespace l0gm
