#include "encode/table/schema.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "encode/table/row_encoder.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

using Json = nlohmann::json;

Schema example() {
  Schema schema;
  schema.label = "y";
  schema.classes = {"no", "yes"};
  schema.class_rows = {10000, 1};
  schema.smoothing = 2.5;
  schema.missing_marks = default_missing_marks;
  schema.columns.resize(5);
  schema.columns[0].name = "colour";
  schema.columns[1] = {"size", ColumnType::numeric, -0.1, 1e300 / 3, 0.1 + 0.2, false, 7, {"-999", "unbekannt \xC3\xA4"}};
  schema.columns[2] = {"age", ColumnType::numeric, 1, 90, 17.123456789012345, true, 0, {}};
  schema.columns[3].name = "user";
  schema.columns[4] = {"tags", ColumnType::multi, 0, 0, 0, false, 2, {}};
  schema.fields.resize(9);
  schema.fields[0] = {.name = "colour", .vocabulary = {"red", "blau \"q\"", "\xE2\x82\xAC"}};
  schema.fields[1] = {.name = "size",
                      .column = 1,
                      .kind = FieldKind::piecewise,
                      .edges = {-0.1, 1.0 / 3, std::nextafter(1.0 / 3, 1.0), 1e300 / 3}};
  schema.fields[2] = {.name = "age", .column = 2, .kind = FieldKind::plain, .mean = 40.1, .deviation = 1.0 / 7};
  schema.fields[3] = {.name = "age=", .column = 2, .kind = FieldKind::exact, .values = {40, 0.1, -3, 1e300}};
  schema.fields[4] = {.name = "age~", .column = 2, .kind = FieldKind::periodic, .mean = -1.5, .deviation = 3};
  schema.fields[5] = {.name = "user", .column = 3, .kind = FieldKind::hashed, .buckets = 1000};
  schema.fields[6] = {
      .name = "tags", .column = 4, .kind = FieldKind::multi, .vocabulary = {"x", "y z"}, .slots = 3, .separator = ';'};
  schema.fields[7] = {
      .name = "colour:odds", .kind = FieldKind::statistic, .mean = 0.25, .deviation = 2, .statistic = 0, .of_class = 1};
  schema.fields[8] = {.name = "age*user:rows", .column = 2, .kind = FieldKind::statistic, .mean = 1, .statistic = 1};
  schema.statistics = {{0, -1, {0, 2, 4}, {5, 4000, 1}, {0, 1, 0}}, {3, 5, {7, 6005}, {3, 1}, {1, 1}}};
  return schema;
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

TEST(Schema, RowsOfFields) {
  const Schema schema = example();
  EXPECT_EQ(schema.fields[0].rows(), 5);
  EXPECT_EQ(schema.fields[1].rows(), 4);
  EXPECT_EQ(schema.fields[2].rows(), 2);
  EXPECT_EQ(schema.fields[3].rows(), 6);
  EXPECT_EQ(schema.fields[4].rows(), 2);
  EXPECT_EQ(schema.fields[5].rows(), 1001);
  EXPECT_EQ(schema.fields[6].rows(), 4);
  EXPECT_EQ(schema.fields[7].rows(), 0);
}

TEST(Schema, SlotsOfARow) {
  const Schema schema = example();
  EXPECT_EQ(schema.code_slots(), 9);  // seven coded fields, one of them with three slots
  EXPECT_EQ(schema.slope_slots(), 11);
  EXPECT_EQ(slots_of_fields(schema), (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 9, 10}));
}

TEST(Schema, RoundTripIsExact) {
  const Schema schema = example();
  const std::string text = schema.to_json().dump();
  const Schema back = Schema::from_json(Json::parse(text));
  EXPECT_EQ(back.to_json().dump(), text);
  EXPECT_EQ(back.label, "y");
  EXPECT_EQ(back.classes, schema.classes);
  EXPECT_EQ(back.missing_marks, schema.missing_marks);
  EXPECT_EQ(back.fields[0].vocabulary, schema.fields[0].vocabulary);
  EXPECT_EQ(back.fields[1].edges, schema.fields[1].edges);
  EXPECT_EQ(back.fields[2].mean, schema.fields[2].mean);
  EXPECT_EQ(back.fields[2].deviation, schema.fields[2].deviation);
  EXPECT_EQ(back.columns[1].deviation, schema.columns[1].deviation);
  EXPECT_EQ(back.columns[1].high, schema.columns[1].high);
  EXPECT_EQ(back.columns[1].missing, 7);
  EXPECT_EQ(back.columns[1].missing_marks, schema.columns[1].missing_marks);
  EXPECT_TRUE(back.columns[2].integral);
  EXPECT_EQ(back.class_rows, schema.class_rows);
  EXPECT_EQ(back.smoothing, 2.5);
}

TEST(Schema, RoundTripOfTheFurtherKinds) {
  const Schema schema = example(), back = Schema::from_json(Json::parse(schema.to_json().dump()));
  ASSERT_EQ(back.fields.size(), schema.fields.size());
  for (size_t f = 0; f < schema.fields.size(); ++f) {
    const Field &wanted = schema.fields[f], &found = back.fields[f];
    EXPECT_EQ(found.name, wanted.name);
    EXPECT_EQ(found.kind, wanted.kind);
    EXPECT_EQ(found.column, wanted.column);
    EXPECT_EQ(found.vocabulary, wanted.vocabulary);
    EXPECT_EQ(found.values, wanted.values);
    EXPECT_EQ(found.mean, wanted.mean);
    EXPECT_EQ(found.deviation, wanted.deviation);
    EXPECT_EQ(found.buckets, wanted.buckets);
    EXPECT_EQ(found.slots, wanted.slots);
    EXPECT_EQ(found.separator, wanted.separator);
    EXPECT_EQ(found.statistic, wanted.statistic);
    EXPECT_EQ(found.of_class, wanted.of_class);
  }
  ASSERT_EQ(back.statistics.size(), 2U);
  for (size_t s = 0; s < 2; ++s) {
    EXPECT_EQ(back.statistics[s].first, schema.statistics[s].first);
    EXPECT_EQ(back.statistics[s].second, schema.statistics[s].second);
    EXPECT_EQ(back.statistics[s].keys, schema.statistics[s].keys);
    EXPECT_EQ(back.statistics[s].counts, schema.statistics[s].counts);
    EXPECT_EQ(back.statistics[s].class_counts, schema.statistics[s].class_counts);
  }
}

TEST(Schema, RandomDoublesRoundTrip) {
  RandomStream random(1);
  Schema schema = example();
  std::vector<double>& edges = schema.fields[1].edges;
  edges = {-std::numeric_limits<double>::max(), -std::numeric_limits<double>::denorm_min(), 5e-324, 2.2250738585072014e-308};
  for (int i = 0; i < 1000; ++i) {
    edges.push_back(edges.back() + std::ldexp(random.uniform(), static_cast<int>(random.below(600))));
  }
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  EXPECT_EQ(Schema::from_json(Json::parse(schema.to_json().dump())).fields[1].edges, edges);
}

TEST(Schema, DamageIsNamed) {
  EXPECT_EQ(error_after([](Json&) {}), "no error");
  EXPECT_TRUE(contains(error_after([](Json& j) { j = Json::array(); }), "found array, wanted an object"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j.erase("label"); }), "'label' is absent"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["label"] = 3; }), "'label' is number, wanted a string"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["label"] = ""; }), "label: the name is empty"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["classes"] = {"one"}; }), "found 1, wanted two or more"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["classes"] = {"one", "one"}; }), "'one' twice"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["classes"] = {1, 2}; }), "wanted strings"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j.erase("class_rows"); }), "'class_rows' is absent"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["class_rows"] = {1, 2, 3}; }), "found 3, wanted one for each of 2 classes"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["class_rows"] = {1, 0}; }), "wanted a whole number from 1"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["class_rows"] = {INT64_MAX, INT64_MAX}; }), "wanted a whole number"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["class_rows"] = {int64_t{1} << 53, 1}; }), "more rows than a table can have"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["smoothing"] = 0; }), "smoothing: it must be above 0"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["smoothing"] = "x"; }), "'smoothing' is or holds string"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["columns"] = 1; }), "wanted an array"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["columns"][0] = nullptr; }), "column 0: found null"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["columns"][0]["name"] = "age"; }), "'age' twice"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["columns"][0]["type"] = "text"; }), "'type' is 'text'"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["columns"][0]["type"] = "ignore"; }), "ignored column"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["columns"][1]["low"] = nullptr; }), "'low' is or holds null"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["columns"][2]["low"] = 91; }), "'low' is above 'high'"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["columns"][2]["integral"] = 1; }), "'integral' must be"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["columns"][0]["missing"] = -1; }), "'missing' is or holds -1"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["columns"][0]["missing"] = 1e300; }), "wanted a whole number"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["columns"][0]["missing"] = UINT64_MAX; }), "wanted a whole number"));
}

TEST(Schema, DamagedFieldsAreNamed) {
  EXPECT_TRUE(
      contains(error_after([](Json& j) { j["fields"][0]["column"] = 5; }), "field 0: it refers to column 5, there are 5"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["fields"][0]["column"] = -1; }), "'column' is or holds -1"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["fields"][0]["kind"] = "hash"; }), "'kind' is 'hash'"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["fields"][0]["vocabulary"][1] = "red"; }), "'red' twice"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["fields"][1]["edges"][1] = -0.1; }), "'edges' do not increase"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["fields"][1]["edges"] = {1.0}; }), "two numbers or more"));
  EXPECT_TRUE(
      contains(error_after([](Json& j) { j["fields"][1]["edges"][0] = "x"; }), "'edges' is or holds string, wanted a number"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["fields"][1]["edges"][3] = INFINITY; }), "not finite"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["fields"][2]["deviation"] = 0; }), "must be above 0"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["fields"][1]["column"] = 0; }), "not numeric"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["fields"].erase(6); }), "column 'tags' has no field"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["fields"][2]["name"] = "size"; }), "'size' twice"));
}

TEST(Schema, DamagedFurtherKindsAreNamed) {
  const auto field = [](size_t index, const char* key, const Json& value) {
    return error_after([&](Json& j) { j["fields"][index][key] = value; });
  };
  EXPECT_TRUE(contains(field(3, "values", {1, 2, 1.0}), "'values' holds a number twice"));
  EXPECT_TRUE(contains(field(3, "values", {0.0, 5, -0.0}), "'values' holds a number twice"));
  EXPECT_TRUE(contains(field(3, "values", {INFINITY}), "'values' is not finite"));
  EXPECT_TRUE(contains(field(3, "values", {"1"}), "holds string, wanted a number"));
  EXPECT_TRUE(contains(field(3, "column", 0), "its kind is 'exact', its column is not numeric"));
  EXPECT_TRUE(contains(field(0, "column", 1), "its kind is 'categorical', its column is not categorical"));
  EXPECT_TRUE(contains(field(4, "deviation", -1), "must be above 0"));
  for (const Json& buckets : {Json(0), Json((1 << 28) + 1), Json(1e3), Json(nullptr)}) {
    EXPECT_TRUE(contains(field(5, "buckets", buckets), "wanted a whole number from 1 to 268435456"));
  }
  EXPECT_EQ(field(5, "buckets", 7000), "no error");
  EXPECT_TRUE(contains(field(5, "column", 4), "its kind is 'hashed', its column is not categorical"));
  for (const Json& slots : {Json(0), Json(1025), Json(-1)}) {
    EXPECT_TRUE(contains(field(6, "slots", slots), "wanted a whole number from 1 to 1024"));
  }
  for (const char* separator : {"", "||", "\"", "\n", "\r", "\xC3\xA4", "\x7F"}) {
    EXPECT_TRUE(contains(field(6, "separator", separator), "'separator' must be one ASCII character"));
  }
  EXPECT_EQ(field(6, "separator", " "), "no error");
  EXPECT_TRUE(contains(field(6, "vocabulary", {"x", "x"}), "'x' twice"));
  EXPECT_TRUE(contains(field(6, "column", 0), "its kind is 'multi', its column is not multi"));
}

TEST(Schema, DamagedStatisticsAreNamed) {
  const auto field = [](size_t index, const char* key, const Json& value) {
    return error_after([&](Json& j) { j["fields"][index][key] = value; });
  };
  EXPECT_TRUE(contains(field(7, "statistic", 2), "it refers to statistic 2, there are 2"));
  EXPECT_TRUE(contains(field(7, "statistic", -1), "wanted a whole number"));
  EXPECT_TRUE(contains(field(7, "statistic", 1), "'column' is not that of its statistic"));
  EXPECT_TRUE(contains(field(7, "of_class", 2), "'of_class' is 2, which is not counted for 2 classes"));
  EXPECT_TRUE(contains(field(7, "of_class", 0), "'of_class' is 0, which is not counted"));  // of two classes the second is
  EXPECT_TRUE(contains(field(7, "of_class", -1), "wanted a whole number"));
  EXPECT_TRUE(contains(error_after([](Json& j) { std::swap(j["fields"][6], j["fields"][7]); }), "comes after a statistic"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j.erase("statistics"); }), "'statistics' is absent"));

  const auto statistic = [](size_t index, const char* key, const Json& value) {
    return error_after([&](Json& j) { j["statistics"][index][key] = value; });
  };
  for (const int other : {1, 2, 4, 6, 7, 9}) {
    EXPECT_TRUE(contains(statistic(0, "first", other), "wanted a categorical, exact or hashed field"));
    EXPECT_TRUE(contains(statistic(1, "second", other), "wanted a categorical, exact or hashed field"));
  }
  EXPECT_TRUE(contains(statistic(1, "second", 3), "the same field"));
  EXPECT_TRUE(contains(statistic(0, "keys", {0, 2, 2}), "'keys' do not increase"));
  EXPECT_TRUE(contains(statistic(0, "keys", {0, 2, 5}), "wanted a whole number from 0 to 4"));
  EXPECT_TRUE(contains(statistic(1, "keys", {7, 6006}), "wanted a whole number from 0 to 6005"));
  EXPECT_TRUE(contains(statistic(0, "keys", {0, 2}), "found 2 keys, 3 counts and 3 counts of classes"));
  EXPECT_TRUE(contains(statistic(0, "counts", {5, 4000}), "found 3 keys, 2 counts"));
  EXPECT_TRUE(contains(statistic(0, "class_counts", {0, 1}), "2 counts of classes"));
  EXPECT_TRUE(contains(statistic(0, "counts", {5, 4000, 0}), "wanted a whole number from 1"));
  EXPECT_TRUE(contains(statistic(0, "counts", {5, INT64_MAX, 1}), "wanted a whole number from 1"));
  EXPECT_TRUE(contains(statistic(0, "class_counts", {6, 0, 0}), "more rows than its key"));
  EXPECT_TRUE(contains(statistic(0, "class_counts", {-1, 0, 0}), "wanted a whole number from 0"));
}

TEST(Schema, MoreThanTwoClassesAreAllCounted) {
  const auto three = [](Json& json) {
    json["classes"] = {"a", "b", "c"};
    json["class_rows"] = {4, 5, 6};
    json["statistics"][0]["class_counts"] = {5, 0, 0, 1, 1, 3998, 0, 1, 0};
    json["statistics"][1]["class_counts"] = {1, 1, 1, 1, 0, 0};
  };
  EXPECT_EQ(error_after([&](Json& j) {
              three(j);
              j["fields"][7]["of_class"] = 0;
            }),
            "no error");
  EXPECT_EQ(error_after([&](Json& j) {
              three(j);
              j["fields"][7]["of_class"] = 2;
            }),
            "no error");
  EXPECT_TRUE(contains(error_after([&](Json& j) {
                         three(j);
                         j["fields"][7]["of_class"] = 3;
                       }),
                       "not counted for 3 classes"));
  EXPECT_TRUE(contains(error_after([&](Json& j) {
                         three(j);
                         j["statistics"][1]["class_counts"] = {1, 1};
                       }),
                       "2 counts of classes"));
}

// With any one value replaced, the schema is refused, or rows can be encoded with it and every code is in its field.
TEST(Schema, WhatIsAcceptedCanBeEncoded) {
  const Json whole = example().to_json(), leaves = whole.flatten();
  const std::string_view cells[] = {"red", "0.2", "40", "u7", "x;new;y z;more;"};
  const double numbers[] = {4, 0.2, 40, 1000, 3};
  int accepted = 0, refused = 0;
  for (const auto& [path, unused] : leaves.items()) {
    for (const Json& value : {Json(), Json(-1), Json(0), Json(1), Json(3), Json(INT64_MAX), Json(UINT64_MAX), Json(1e308),
                              Json("x"), Json(""), Json(true), Json::array(), Json::object()}) {
      Json damaged = whole;
      damaged[Json::json_pointer(path)] = value;
      try {
        const RowEncoder encoder(Schema::from_json(damaged));
        const Schema& schema = encoder.schema();
        std::vector<int32_t> codes(static_cast<size_t>(schema.code_slots()), -1);
        std::vector<float> slopes(static_cast<size_t>(schema.slope_slots()), NAN);
        const auto expect_inside = [&] {
          size_t slot = 0;
          for (const Field& field : schema.fields) {
            for (int64_t i = 0; i < field.slots && field.kind != FieldKind::statistic; ++i, ++slot) {
              EXPECT_TRUE(codes[slot] >= 0 && codes[slot] < field.rows()) << path << " = " << value;
            }
          }
          for (const float slope : slopes) EXPECT_TRUE(std::isfinite(slope)) << path << " = " << value;
        };
        encoder.encode(cells, codes.data(), slopes.data());
        expect_inside();
        encoder.encode_numbers(numbers, codes.data(), slopes.data());
        expect_inside();
        ++accepted;
      } catch (const UserError&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace l0gm
