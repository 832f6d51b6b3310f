#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "encode/table/schema.h"
#include "l0gm/error.h"

// A schema whose statistics have their arrays stored outside its JSON.
namespace l0gm {
namespace {

using Json = nlohmann::json;

Schema example() {
  Schema schema;
  schema.label = "y";
  schema.classes = {"no", "yes"};
  schema.class_rows = {100, 10};
  schema.columns = {{.name = "colour"}, {.name = "user"}};
  schema.fields = {{.name = "colour", .vocabulary = {"red", "blue", "green"}},
                   {.name = "user", .column = 1, .kind = FieldKind::hashed, .buckets = 9},
                   {.name = "colour:odds", .kind = FieldKind::statistic, .statistic = 0, .of_class = 1},
                   {.name = "colour*user:rows", .kind = FieldKind::statistic, .statistic = 1}};
  schema.statistics = {{0, -1, {0, 2, 4}, {5, 40, 1}, {0, 1, 0}}, {0, 1, {7, 49}, {3, 1}, {1, 1}}};
  return schema;
}

std::vector<Statistic> arrays_of(const Schema& schema) {
  std::vector<Statistic> arrays;
  for (const Statistic& statistic : schema.statistics) {
    arrays.push_back({.keys = statistic.keys, .counts = statistic.counts, .class_counts = statistic.class_counts});
  }
  return arrays;
}

std::string error_after(const std::function<void(std::vector<Statistic>&)>& damage) {
  std::vector<Statistic> arrays = arrays_of(example());
  damage(arrays);
  try {
    Schema::from_json(example().to_json(false), &arrays);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

testing::AssertionResult contains(const std::string& text, std::string_view part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << part << "' is not in: " << text;
}

TEST(SchemaArrays, AreLeftOutAndTakenBack) {
  const Schema schema = example();
  const Json json = schema.to_json(false);
  for (const char* key : {"keys", "counts", "class_counts"}) EXPECT_FALSE(json["statistics"][0].contains(key)) << key;
  EXPECT_EQ(json["statistics"][1]["second"], 1);
  std::vector<Statistic> arrays = arrays_of(schema);
  const Schema back = Schema::from_json(json, &arrays);
  EXPECT_EQ(back.to_json(), schema.to_json());
  EXPECT_NE(json, schema.to_json());
  EXPECT_TRUE(arrays[0].keys.empty());  // moved, not copied
}

TEST(SchemaArrays, AreRequiredWhereTheJsonHasNone) {
  try {
    Schema::from_json(example().to_json(false));
    ADD_FAILURE() << "no error";
  } catch (const UserError& error) {
    EXPECT_TRUE(contains(error.what(), "statistic 0: 'keys' is absent"));
  }
  std::vector<Statistic> arrays = arrays_of(example());
  Json mixed = example().to_json(false);
  mixed["statistics"][0] = example().to_json()["statistics"][0];
  arrays[0] = {.keys = {1}, .counts = {1}, .class_counts = {1}};  // not asked for
  EXPECT_EQ(Schema::from_json(mixed, &arrays).to_json(), example().to_json());
}

TEST(SchemaArrays, PassTheSameChecks) {
  using Arrays = std::vector<Statistic>;
  EXPECT_EQ(error_after([](Arrays&) {}), "no error");
  EXPECT_TRUE(contains(error_after([](Arrays& a) { a.pop_back(); }), "statistics: found arrays of 1, wanted those of 2"));
  EXPECT_TRUE(contains(error_after([](Arrays& a) { a.emplace_back(); }), "found arrays of 3"));
  EXPECT_TRUE(contains(error_after([](Arrays& a) { a[0].keys = {0, 2, 2}; }), "statistic 0: 'keys' do not increase"));
  EXPECT_TRUE(
      contains(error_after([](Arrays& a) { a[0].keys = {0, 2, 5}; }), "'keys' is or holds 5, wanted a whole number from 0 to 4"));
  EXPECT_TRUE(contains(error_after([](Arrays& a) { a[0].keys = {-1, 2, 4}; }), "'keys' is or holds -1"));
  EXPECT_TRUE(contains(error_after([](Arrays& a) { a[1].keys = {7, 50}; }), "statistic 1: 'keys' is or holds 50, wanted"));
  EXPECT_TRUE(contains(error_after([](Arrays& a) { a[0].keys = {0, 2}; }), "found 2 keys, 3 counts and 3 counts of classes"));
  EXPECT_TRUE(
      contains(error_after([](Arrays& a) { a[0].counts = {5, 40, 0}; }), "'counts' is or holds 0, wanted a whole number from 1"));
  EXPECT_TRUE(contains(error_after([](Arrays& a) { a[0].counts = {5, INT64_MAX, 1}; }), "wanted a whole number from 1 to"));
  EXPECT_TRUE(contains(error_after([](Arrays& a) { a[0].class_counts = {-1, 0, 0}; }), "'class_counts' is or holds -1"));
  EXPECT_TRUE(contains(error_after([](Arrays& a) { a[0].class_counts = {6, 0, 0}; }), "more rows than its key"));
  EXPECT_TRUE(contains(error_after([](Arrays& a) { a[1].class_counts.clear(); }), "0 counts of classes"));
}

TEST(SchemaArrays, WithoutStatisticsThereAreNone) {
  Schema schema = example();
  schema.statistics.clear();
  schema.fields.resize(2);
  std::vector<Statistic> arrays;
  EXPECT_EQ(Schema::from_json(schema.to_json(false), &arrays).to_json(), schema.to_json());
}

}  // namespace
}  // namespace l0gm
