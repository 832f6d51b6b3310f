#include "data/table/labels.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "base/text.h"
#include "data/table/fit_tools.h"

namespace l0gm {
namespace {

using namespace fit_tools;

TEST(FitSchema, UnbalancedClasses) {
  TextTable table({"x", "y"});
  for (int i = 0; i <= 10000; ++i) table.add_row({std::to_string(i % 17), i == 4321 ? " rare" : "common "});
  const Schema schema = fit(table);
  EXPECT_EQ(schema.classes, (std::vector<std::string>{"common", "rare"}));
  EXPECT_EQ(schema.class_rows, (std::vector<int64_t>{10000, 1}));
  EXPECT_EQ(fit_schema(table, 1, {4321, 0, 5}, {}, {}, {}).class_rows, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(Schema::from_json(schema.to_json()).class_rows, schema.class_rows);
}

TEST(FitSchema, LabelsAreChecked) {
  TextTable table({"x", "y"});
  for (const char* label : {"10", "9", "10", " 9"}) table.add_row({std::to_string(table.rows()), label});
  EXPECT_EQ(fit(table).classes, (std::vector<std::string>{"9", "10"}));
  table.add_row({"5", "b"});
  EXPECT_EQ(fit(table).classes, (std::vector<std::string>{"10", "9", "b"}));
  const Schema schema = fit_schema(table, 1, {0, 1, 2, 3}, {}, {}, {});
  const auto check = [&](const std::vector<int64_t>& rows) {
    check_labels(table, 1, schema.classes, schema.missing_marks, rows, "test");
  };
  check({0, 3});
  EXPECT_TRUE(contains(error_of([&] { check({0, 4}); }), {"data row 5 (test)", "label 'y' is 'b'", "9, 10"}));
  EXPECT_TRUE(contains(error_of([&] { fit_schema(table, 1, {0, 2}, {}, {}, {}); }), {"single class", "'10'"}));
  EXPECT_TRUE(contains(error_of([&] { fit_schema(table, 1, {}, {}, {}, {}); }), {"no training rows"}));
  table.add_row({"6", " ? "});
  EXPECT_TRUE(contains(error_of([&] { fit(table); }), {"data row 6", "label 'y' is missing"}));
  EXPECT_TRUE(contains(error_of([&] { check({5}); }), {"data row 6", "label 'y' is missing"}));
}

TEST(FitSchema, ClassesOfFewRowsAreNamed) {
  TextTable table({"x", "y"});
  for (int i = 0; i < 60; ++i) table.add_row({std::to_string(i), i < 20 ? "many" : i < 30 ? "ten" : i < 39 ? "nine" : "none"});
  std::vector<int64_t> training(39), held_out;
  std::iota(training.begin(), training.end(), 0);
  EXPECT_EQ(small_classes(table, 1, {"many", "ten"}, training, {}, {}), "");
  for (int64_t row = 39; row < 60; ++row) held_out.push_back(row);
  const std::string told = small_classes(table, 1, {"many", "nine", "none", "ten"}, training, held_out, {});
  EXPECT_TRUE(contains(told, {"the label 'y'", "'nine' (9 training, 0 validation and 0 test rows)",
                              "'none' (0 training, 21 validation and 0 test rows)", "join it with another class"}))
      << told;
  EXPECT_EQ(told.find("ten'"), std::string::npos);
}

// Labels 0, step, 2 step, …, each in two rows.
TextTable labelled(int classes, double step) {
  TextTable table({"x", "y"});
  for (int i = 0; i < 2 * classes; ++i) table.add_row({std::to_string(i % 5), shortest(step * (i % classes))});
  return table;
}

TEST(FitSchema, AQuantityIsNoLabel) {
  EXPECT_TRUE(contains(error_of([] { fit(labelled(1327, 1)); }), {"the label 'y' has 1,327 different numbers", "0 to 1326",
                                                                  "data.label", "columns.y.type = \"categorical\""}));
  EXPECT_TRUE(contains(error_of([] { fit(labelled(21, 0.5)); }), {"21 different numbers"}));
  EXPECT_EQ(fit(labelled(100, 1)).classes.size(), 100U);
  EXPECT_EQ(fit(labelled(20, 0.5)).classes.size(), 20U);
  Given given;
  given.types["y"] = "categorical";
  EXPECT_EQ(fit(labelled(101, 1), given).classes.size(), 101U);
}

TEST(FitSchema, ManyValuesOfFewRowsAreNoClasses) {
  const auto dated = [](int days, int rows) {
    TextTable table({"x", "y"});
    for (int i = 0; i < rows; ++i) table.add_row({std::to_string(i % 5), "day " + std::to_string(i % days)});
    return table;
  };
  EXPECT_TRUE(contains(error_of([&] { fit(dated(200, 400)); }),
                       {"the label 'y' has 200 different values", "400 training rows", "data.label", "categorical"}));
  EXPECT_EQ(fit(dated(200, 600)).classes.size(), 200U);
  EXPECT_EQ(fit(dated(100, 200)).classes.size(), 100U);
  Given given;
  given.types["y"] = "categorical";
  EXPECT_EQ(fit(dated(200, 400), given).classes.size(), 200U);
}

}  // namespace
}  // namespace l0gm
