#include "data/table/encode/schema.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

using Json = nlohmann::json;

Schema example() {
  Schema schema;
  schema.label = "y";
  schema.classes = {"no", "yes"};
  schema.missing_marks = default_missing_marks;
  schema.columns.resize(3);
  schema.columns[0].name = "colour";
  schema.columns[1] = {"size", ColumnType::numeric, -0.1, 1e300 / 3, 0.1 + 0.2, false, 7, {"-999", "unbekannt \xC3\xA4"}};
  schema.columns[2] = {"age", ColumnType::numeric, 1, 90, 17.123456789012345, true, 0, {}};
  schema.fields.resize(3);
  schema.fields[0] = {"colour", 0, FieldKind::categorical, {"red", "blau \"q\"", "\xE2\x82\xAC"}, {}, 0, 1};
  schema.fields[1] = {"size", 1, FieldKind::piecewise, {}, {-0.1, 1.0 / 3, std::nextafter(1.0 / 3, 1.0), 1e300 / 3}, 0, 1};
  schema.fields[2] = {"age", 2, FieldKind::plain, {}, {}, 40.1, 1.0 / 7};
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
  EXPECT_TRUE(contains(error_after([](Json& j) { j["columns"] = 1; }), "wanted an array"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["columns"][0] = nullptr; }), "column 0: found null"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["columns"][0]["name"] = "age"; }), "'age' twice"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["columns"][0]["type"] = "text"; }), "'type' is 'text'"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["columns"][0]["type"] = "ignore"; }), "ignored column"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["columns"][1]["low"] = nullptr; }), "'low' is null"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["columns"][2]["low"] = 91; }), "'low' is above 'high'"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["columns"][2]["integral"] = 1; }), "'integral' must be"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["columns"][0]["missing"] = -1; }), "'missing' is -1"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["columns"][0]["missing"] = 1e300; }), "wanted a whole number"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["columns"][0]["missing"] = UINT64_MAX; }), "wanted a whole number"));
}

TEST(Schema, DamagedFieldsAreNamed) {
  EXPECT_TRUE(contains(error_after([](Json& j) { j["fields"][0]["column"] = 3; }),
                       "field 0: it refers to column 3, there are 3"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["fields"][0]["column"] = -1; }), "'column' is -1"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["fields"][0]["kind"] = "hash"; }), "'kind' is 'hash'"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["fields"][0]["vocabulary"][1] = "red"; }), "'red' twice"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["fields"][1]["edges"][1] = -0.1; }), "'edges' do not increase"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["fields"][1]["edges"] = {1.0}; }), "two numbers or more"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["fields"][1]["edges"][0] = "x"; }), "'edges' must hold numbers"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["fields"][1]["edges"][3] = INFINITY; }), "not finite"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["fields"][2]["deviation"] = 0; }), "must be above 0"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["fields"][1]["column"] = 0; }), "not numeric"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["fields"].erase(2); }), "column 'age' has no field"));
  EXPECT_TRUE(contains(error_after([](Json& j) { j["fields"][2]["name"] = "size"; }), "'size' twice"));
}

}  // namespace
}  // namespace l0gm
