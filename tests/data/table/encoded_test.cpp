#include "data/table/encoded.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>

#include "data/table/fit.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

TextTable small_table() {
  TextTable table({"number", "colour", "y"});
  table.add_row({"0", "red", "no"});
  table.add_row({"4", "blue", "yes"});
  table.add_row({"8", "red", "no"});
  table.add_row({"", "green", "yes"});
  table.add_row({"2", "?", "yes"});
  return table;
}

Schema small_schema() { return fit_schema(small_table(), 2, {0, 1, 2}, {}, {}, {}); }

std::string error_of_matching(const std::vector<std::string>& names) {
  try {
    match_columns(names, small_schema());
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(MatchColumns, OrderAndFurtherColumnsDoNotMatter) {
  EXPECT_EQ(match_columns({"colour", "other", "number"}, small_schema()), (std::vector<int64_t>{2, 0}));
}

TEST(MatchColumns, AnAbsentColumnIsNamed) {
  const std::string message = error_of_matching({"numbr", "colour"});
  EXPECT_NE(message.find("column 'number'"), std::string::npos) << message;
  EXPECT_NE(message.find("Did you mean 'numbr'?"), std::string::npos) << message;
}

TEST(EncodeRows, CodesSlopesLabelsAndRowNumbers) {
  const RowEncoder encoder(small_schema());
  RowEncoder::Counts counts = encoder.empty_counts();
  const EncodedTable encoded = encode_rows(small_table(), encoder, {4, 3, 1}, true, &counts);
  EXPECT_EQ(encoded.code_slots, 2);
  EXPECT_EQ(encoded.slope_slots, 2);
  EXPECT_EQ(encoded.rows(), 3);
  EXPECT_EQ(encoded.row_numbers, (std::vector<int64_t>{4, 3, 1}));
  EXPECT_EQ(encoded.labels, (std::vector<int32_t>{1, 1, 1}));
  EXPECT_EQ(encoded.codes, (std::vector<int32_t>{1, 0, 0, 1, 2, 3}));  // edges 0, 4, 8; vocabulary red, blue
  EXPECT_EQ(encoded.slopes, (std::vector<float>{0.5F, 0, 0, 0, 0, 0}));
  EXPECT_EQ(counts.missing, (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(counts.unseen, (std::vector<int64_t>{0, 1}));
}

TEST(EncodeRows, WithoutLabelsTheLabelColumnMayBeAbsent) {
  TextTable table({"colour", "number"});
  table.add_row({"red", "8"});
  const RowEncoder encoder(small_schema());
  const EncodedTable encoded = encode_rows(table, encoder, {0}, false);
  EXPECT_EQ(encoded.codes, (std::vector<int32_t>{2, 2}));
  EXPECT_EQ(encoded.slopes[0], 1.0F);
  EXPECT_TRUE(encoded.labels.empty());
  EXPECT_THROW(encode_rows(table, encoder, {0}, true), UserError);
}

TEST(EncodeRows, AClassThatTrainingLacksIsRefused) {
  TextTable table = small_table();
  table.add_row({"1", "red", "perhaps"});
  const RowEncoder encoder(small_schema());
  try {
    encode_rows(table, encoder, {5}, true);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("data row 6: the label 'y' is 'perhaps'"), std::string::npos) << error.what();
  }
}

TEST(CountFields, CountsCodesAndAddsSlopes) {
  const RowEncoder encoder(small_schema());
  const EncodedTable encoded = encode_rows(small_table(), encoder, {0, 1, 2, 3, 4}, true);
  const auto counts = count_fields(encoded, encoder.schema());
  ASSERT_EQ(counts.size(), 2U);
  EXPECT_EQ(counts[0].count, (std::vector<double>{1, 2, 2}));  // missing; 0 and 2; 4 and 8
  EXPECT_EQ(counts[0].slope_sum, (std::vector<double>{0, 0.5, 1.0}));
  EXPECT_EQ(counts[1].count, (std::vector<double>{1, 1, 2, 1}));  // missing, unseen, red, blue
  EXPECT_EQ(counts[1].slope_sum, (std::vector<double>{0, 0, 0, 0}));
  Schema other = encoder.schema();
  other.fields.pop_back();
  EXPECT_THROW(count_fields(encoded, other), std::logic_error);
}

TEST(CountFields, ValuesOfACellShareItAndStatisticsHaveNoCodes) {
  TextTable table({"tags", "n", "y"});
  for (const char* tags : {"a|b", "a", "", "c|a"})
    table.add_row({tags, std::to_string(table.rows()), table.rows() % 2 == 0 ? "p" : "q"});
  Schema schema = fit_schema(table, 2, {0, 1, 2, 3}, {}, {}, {{"tags", "multi"}, {"n", "categorical"}});
  schema.fields.push_back({.name = "n:rows", .column = 1, .kind = FieldKind::statistic, .statistic = 0});
  schema.statistics = {{1, -1, {2, 3, 4, 5}, {1, 1, 1, 1}, {0, 1, 0, 1}}};
  const RowEncoder encoder(schema);
  const EncodedTable encoded = encode_rows(table, encoder, {0, 1, 2, 3}, true);
  EXPECT_EQ(encoded.code_slots, 3);
  EXPECT_EQ(encoded.slope_slots, 4);
  EXPECT_EQ(encoded.codes, (std::vector<int32_t>{2, 3, 2, 2, 0, 3, 0, 0, 4, 4, 2, 5}));
  const float rows = encoded.slopes[3];
  EXPECT_NEAR(rows, std::log(2.0), 1e-6);
  EXPECT_EQ(encoded.slopes, (std::vector<float>{0.5F, 0.5F, 0, rows, 1, 0, 0, rows, 1, 0, 0, rows, 0.5F, 0.5F, 0, rows}));
  const auto counts = count_fields(encoded, schema);
  ASSERT_EQ(counts.size(), 3U);
  EXPECT_EQ(counts[0].count, (std::vector<double>{1, 0, 2, 0.5, 0.5}));  // missing, unseen, a, b, c: together the rows
  EXPECT_EQ(counts[0].slope_sum, std::vector<double>(5, 0.0));
  EXPECT_EQ(counts[1].count, (std::vector<double>{0, 0, 1, 1, 1, 1}));
  EXPECT_TRUE(counts[2].count.empty());
  EXPECT_TRUE(counts[2].slope_sum.empty());
}

TEST(EncodeRows, ExactValuesCanBeReadBack) {
  TextTable table({"n", "y"});
  std::vector<int64_t> rows;
  const char* spellings[] = {"{}", "{}.0", "0{}", "{}e0"};
  for (int64_t i = 0; i < 2000; ++i) {
    table.add_row({fmt::format(fmt::runtime(spellings[i % 4]), i * i % 101), i % 2 == 0 ? "p" : "q"});
    rows.push_back(i);
  }
  table.add_row({"1000", "p"});
  table.add_row({"?", "p"});
  const RowEncoder encoder(fit_schema(table, 1, rows, {}, {}, {}));
  const Field& exact = encoder.schema().fields.at(1);
  ASSERT_EQ(exact.kind, FieldKind::exact);
  const EncodedTable encoded = encode_rows(table, encoder, rows, false);
  for (size_t i = 0; i < rows.size(); ++i) {
    const int32_t code = encoded.codes[2 * i + 1];
    ASSERT_GE(code, 2);
    EXPECT_EQ(exact.values.at(static_cast<size_t>(code) - 2), static_cast<double>(i * i % 101));
  }
  RowEncoder::Counts counts = encoder.empty_counts();
  const EncodedTable later = encode_rows(table, encoder, {2000, 2001}, false, &counts);
  EXPECT_EQ(later.codes[1], 1);
  EXPECT_EQ(later.codes[3], 0);
  EXPECT_EQ(counts.unseen, (std::vector<int64_t>{0}));
  EXPECT_EQ(counts.missing, (std::vector<int64_t>{1}));
}

TEST(EncodeRows, AColumnWithoutTrainingValuesIsNotAskedForLater) {
  TextTable table({"gone", "n", "y"});
  table.add_row({"", "1.5", "p"});
  table.add_row({"NA", "2.5", "q"});
  table.add_row({"7", "2.5", "q"});
  const RowEncoder encoder(fit_schema(table, 2, {0, 1}, {}, {}, {}));
  ASSERT_EQ(encoder.schema().columns.size(), 1U);
  EXPECT_EQ(encode_rows(table, encoder, {2}, true).codes, (std::vector<int32_t>{1}));
}

TEST(EncodeRows, AThousandColumns) {
  std::vector<std::string> names, texts(1001);
  for (int c = 0; c < 1000; ++c) names.push_back("c" + std::to_string(c));
  names.push_back("y");
  TextTable table(names);
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < 300; ++row) {
    for (int64_t c = 0; c < 1000; ++c) {
      const int64_t value = (row * 7 + c) % 11;
      texts[static_cast<size_t>(c)] = c % 2 == 0 ? std::to_string(value) : "v" + std::to_string(value);
    }
    texts.back() = row % 2 == 0 ? "p" : "q";
    table.add_row({texts.begin(), texts.end()});
    rows.push_back(row);
  }
  const RowEncoder encoder(fit_schema(table, 1000, rows, {}, {}, {}));
  const EncodedTable encoded = encode_rows(table, encoder, rows, true);
  EXPECT_EQ(encoder.schema().columns.size(), 1000U);
  EXPECT_EQ(encoded.code_slots, 1500);  // every second column has exact values too
  const auto counts = count_fields(encoded, encoder.schema());
  for (size_t f = 0; f < counts.size(); ++f) {
    const Field& field = encoder.schema().fields[f];
    if (!field.is_lookup()) continue;
    EXPECT_EQ(counts[f].count.size(), 13U) << field.name;
    EXPECT_EQ(counts[f].count[0] + counts[f].count[1], 0) << field.name;
    EXPECT_TRUE(std::is_sorted(counts[f].count.begin() + 2, counts[f].count.end(), std::greater<>())) << field.name;
  }
}

}  // namespace
}  // namespace l0gm
