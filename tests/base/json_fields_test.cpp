#include "base/json_fields.h"

#include <gtest/gtest.h>

namespace l0gm {
namespace {

using nlohmann::json;

struct Point {
  using HasFields = void;
  double x = 0;
  std::optional<double> y;
  template <class Visitor>
  void visit(Visitor& v) {
    v("x", x);
    v("y", y);
  }
};

struct Extra {
  int64_t units = 0;
  std::string rule;
  template <class Visitor>
  void visit(Visitor& v) {
    v("units", units);
    v("rule", rule);
  }
};

struct Everything {
  using HasFields = void;
  int64_t count = 0;
  double share = 0;
  bool right = false;
  std::string text;
  std::optional<std::string> note;
  Nullable<std::vector<double>> interval;
  std::vector<double> figures;
  std::vector<std::vector<int64_t>> table;
  Point point;
  std::optional<Point> second;
  std::vector<Point> path;
  std::map<std::string, Point> named;
  json free;
  std::optional<Extra> extra;
  template <class Visitor>
  void visit(Visitor& v) {
    v("count", count);
    v("share", share);
    v("right", right);
    v("text", text);
    v("note", note);
    v("interval", interval);
    v("figures", figures);
    v("table", table);
    v("point", point);
    v("second", second);
    v("path", path);
    v("named", named);
    v("free", free);
    v.flat(extra, "units");
  }
};

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

const json full = json::parse(R"({
  "count": 9007199254740993, "share": 0.1, "right": true, "text": "é \"x\"", "note": "",
  "interval": [0.25, 0.5], "figures": [1.0, null], "table": [[1, 2], []],
  "point": {"x": -1.5, "y": 2.0}, "second": {"x": 3.0}, "path": [{"x": 1.0}, {"x": 2.0, "y": null}],
  "named": {"a b": {"x": 4.0}}, "free": {"any": [1, "thing"]}, "units": 7, "rule": "median"})");

TEST(JsonFields, EveryKindGoesThereAndBack) {
  const auto read = fields_from_json<Everything>(full);
  EXPECT_EQ(read.count, 9007199254740993);
  EXPECT_EQ(read.share, 0.1);
  EXPECT_TRUE(read.right);
  EXPECT_EQ(read.text, "é \"x\"");
  EXPECT_EQ(read.note, "");
  EXPECT_EQ(read.interval.value, (std::vector<double>{0.25, 0.5}));
  EXPECT_EQ(read.figures.at(0), 1);
  EXPECT_TRUE(std::isnan(read.figures.at(1)));
  EXPECT_EQ(read.table, (std::vector<std::vector<int64_t>>{{1, 2}, {}}));
  EXPECT_EQ(read.point.y, 2);
  ASSERT_TRUE(read.second.has_value());
  EXPECT_EQ(read.second->x, 3);
  EXPECT_FALSE(read.second->y.has_value());
  ASSERT_EQ(read.path.size(), 2u);
  ASSERT_TRUE(read.path[1].y.has_value()) << "it is there, and undefined";
  EXPECT_TRUE(std::isnan(*read.path[1].y));
  EXPECT_EQ(read.named.at("a b").x, 4);
  ASSERT_TRUE(read.extra.has_value());
  EXPECT_EQ(read.extra->units, 7);
  EXPECT_EQ(fields_to_json(read), full);
  EXPECT_EQ(fields_to_json(fields_from_json<Everything>(json::parse(full.dump()))), full) << "and through a file";
}

TEST(JsonFields, WhatIsNotFiniteIsNull) {
  for (const double value : {nothing, std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
    Everything everything;
    everything.share = value;
    everything.figures = {value, 1};
    const json written = fields_to_json(everything);
    EXPECT_TRUE(written["share"].is_null());
    EXPECT_EQ(written["figures"], json::parse("[null, 1.0]"));
    EXPECT_TRUE(std::isnan(fields_from_json<Everything>(written).share));
  }
}

TEST(JsonFields, AnEmptyOptionalIsLeftOutAndAnEmptyNullableIsNull) {
  const json written = fields_to_json(Everything{});
  for (const char* key : {"note", "second", "units", "rule"}) EXPECT_FALSE(written.contains(key)) << key;
  ASSERT_TRUE(written.contains("interval"));
  EXPECT_TRUE(written["interval"].is_null());
  EXPECT_EQ(written["named"], json::object());
  EXPECT_EQ(written["path"], json::array());
  const auto read = fields_from_json<Everything>(written);
  EXPECT_FALSE(read.note || read.second || read.extra || read.interval.value);
}

TEST(JsonFields, AlreadyFilledMembersAreReplaced) {
  auto value = fields_from_json<Everything>(full);
  json_fields_detail::read(fields_to_json(Everything{}), value);
  EXPECT_EQ(fields_to_json(value), fields_to_json(Everything{}));
}

TEST(JsonFields, OtherKindsAreRefused) {
  for (const char* key : {"count", "share", "text", "interval", "figures", "table", "point", "second", "path", "named", "rule"}) {
    json damaged = full;
    damaged[key] = true;
    EXPECT_THROW(fields_from_json<Everything>(damaged), json::exception) << key;
  }
  for (const char* key : {"count", "share", "right", "text", "interval", "figures", "point", "path", "named", "free", "rule"}) {
    json damaged = full;
    damaged.erase(key);
    EXPECT_THROW(fields_from_json<Everything>(damaged), json::exception) << key;
  }
  for (const char* text : {"null", "3", "[]", "\"text\"", "{}"})
    EXPECT_THROW(fields_from_json<Everything>(json::parse(text)), json::exception) << text;
}

}  // namespace
}  // namespace l0gm
