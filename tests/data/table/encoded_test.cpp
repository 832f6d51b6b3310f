#include "data/table/encoded.h"

#include <gtest/gtest.h>

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

Schema small_schema() { return fit_schema(small_table(), 2, {0, 1, 2}, {}, {}, {}, {}); }

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
  EXPECT_EQ(encoded.fields, 2);
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
  EXPECT_EQ(counts[0].count, (std::vector<double>{1, 2, 2}));          // missing; 0 and 2; 4 and 8
  EXPECT_EQ(counts[0].slope_sum, (std::vector<double>{0, 0.5, 1.0}));
  EXPECT_EQ(counts[1].count, (std::vector<double>{1, 1, 2, 1}));       // missing, unseen, red, blue
  EXPECT_EQ(counts[1].slope_sum, (std::vector<double>{0, 0, 0, 0}));
}

}  // namespace
}  // namespace l0gm
