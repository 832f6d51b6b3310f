#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "base/random.h"
#include "base/text.h"
#include "data/table/encode/schema.h"

namespace l0gm {
namespace {

Schema example() {
  Schema schema;
  schema.label = "y";
  schema.classes = {"no", "yes"};
  schema.missing_marks = default_missing_marks;
  schema.columns.resize(3);
  schema.columns[0].name = "colour";
  schema.columns[0].missing_marks = {"unknown"};
  schema.columns[1].name = "size";
  schema.columns[1].type = ColumnType::numeric;
  schema.columns[2].name = "age";
  schema.columns[2].type = ColumnType::numeric;
  schema.columns[2].missing_marks = {" -999"};
  schema.fields.resize(4);
  schema.fields[0] = {"age", 2, FieldKind::plain, {}, {}, 40, 10};  // not in the order of the columns
  schema.fields[1] = {"colour", 0, FieldKind::categorical, {"red", "Nantes"}, {}, 0, 1};
  schema.fields[2] = {"size", 1, FieldKind::piecewise, {}, {0, 10, 30, 70}, 0, 1};
  schema.fields[3] = {"age:exact", 2, FieldKind::categorical, {"40", "41"}, {}, 0, 1};
  return schema;
}

struct Result {
  std::vector<int32_t> codes = std::vector<int32_t>(4, -1);
  std::vector<float> slopes = std::vector<float>(4, -99.0F);
  RowEncoder::Counts counts;
};

Result encode(std::string_view colour, std::string_view size, std::string_view age) {
  const RowEncoder encoder(example());
  Result result;
  result.counts = encoder.empty_counts();
  const std::string_view cells[] = {colour, size, age};
  encoder.encode(cells, result.codes.data(), result.slopes.data(), &result.counts);
  Result again;
  encoder.encode(cells, again.codes.data(), again.slopes.data());
  EXPECT_EQ(again.codes, result.codes);
  EXPECT_EQ(again.slopes, result.slopes);
  return result;
}

TEST(RowEncoder, OrdinaryRow) {
  const Result result = encode(" red ", "15", "45");
  EXPECT_EQ(result.codes, (std::vector<int32_t>{1, 2, 2, 1}));
  EXPECT_EQ(result.slopes, (std::vector<float>{0.5F, 0, 0.25F, 0}));
  EXPECT_EQ(result.counts.unseen, (std::vector<int64_t>{0, 0, 1}));
  EXPECT_EQ(result.counts.missing, (std::vector<int64_t>{0, 0, 0}));
  EXPECT_EQ(encode("Nantes", "0", "41").codes, (std::vector<int32_t>{1, 3, 1, 3}));  // begins as the marks Na… do
}

TEST(RowEncoder, MissingMarks) {
  for (const std::string& mark : default_missing_marks) {
    const Result result = encode(mark, " " + mark + " ", mark);
    EXPECT_EQ(result.codes, (std::vector<int32_t>{0, 0, 0, 0})) << mark;
    EXPECT_EQ(result.slopes, (std::vector<float>{0, 0, 0, 0})) << mark;
    EXPECT_EQ(result.counts.missing, (std::vector<int64_t>{1, 1, 1})) << mark;
    EXPECT_EQ(result.counts.unreadable, (std::vector<int64_t>{0, 0, 0})) << mark;
  }
  EXPECT_EQ(encode("unknown", "-999", "-999").codes, (std::vector<int32_t>{0, 0, 1, 0}));  // marks of their own column only
  EXPECT_EQ(encode("-999", "1", "1").codes[1], 1);
}

TEST(RowEncoder, UnseenUnreadableAndNotANumber) {
  const Result result = encode("green", "12 apples", "NAN");
  EXPECT_EQ(result.codes, (std::vector<int32_t>{0, 1, 0, 0}));
  EXPECT_EQ(result.counts.unseen, (std::vector<int64_t>{1, 0, 0}));
  EXPECT_EQ(result.counts.unreadable, (std::vector<int64_t>{0, 1, 0}));
  EXPECT_EQ(result.counts.missing, (std::vector<int64_t>{0, 0, 1}));
}

TEST(RowEncoder, EdgesOutliersAndInfinity) {
  const auto size = [](std::string_view text) {
    const Result result = encode("red", text, "40");
    return std::pair<int32_t, float>(result.codes[2], result.slopes[2]);
  };
  using Pair = std::pair<int32_t, float>;
  EXPECT_EQ(size("0"), Pair(1, 0.0F));
  EXPECT_EQ(size("10"), Pair(2, 0.0F));
  EXPECT_EQ(size("30"), Pair(3, 0.0F));
  EXPECT_EQ(size("70"), Pair(3, 1.0F));
  EXPECT_EQ(size("90"), Pair(3, 1.5F));
  EXPECT_EQ(size("-5"), Pair(1, -0.5F));
  EXPECT_EQ(size("-1e9"), Pair(1, -2.0F));
  EXPECT_EQ(size("1e9"), Pair(3, 3.0F));
  EXPECT_EQ(size("inf"), Pair(3, 3.0F));
  EXPECT_EQ(size("-inf"), Pair(1, -2.0F));
  EXPECT_EQ(encode("red", "1", "inf").slopes[0], 8.0F);
  EXPECT_EQ(encode("red", "1", "-inf").slopes[0], -8.0F);
}

TEST(RowEncoder, ExtremeEdgesGiveNoNotANumber) {
  const double most = std::numeric_limits<double>::max(), least = std::numeric_limits<double>::denorm_min();
  Schema schema = example();
  schema.fields[2].edges = {-most, 0, least, most};
  const RowEncoder encoder(schema);
  for (const char* text : {"-1.7976931348623157e308", "0", "5e-324", "1.7976931348623157e308", "inf", "-inf", "1e-320"}) {
    const std::string_view cells[] = {"red", text, text};
    int32_t codes[4];
    float slopes[4];
    encoder.encode(cells, codes, slopes);
    EXPECT_TRUE(std::isfinite(slopes[2])) << text;
    EXPECT_TRUE(codes[2] >= 1 && codes[2] <= 3) << text;
  }
  const std::string_view cells[] = {"red", "-8.988465674311579e307", "1"};
  int32_t codes[4];
  float slopes[4];
  encoder.encode(cells, codes, slopes);
  EXPECT_EQ(slopes[2], 0.5F);
}

TEST(RowEncoder, PiecewiseIsInvertibleInsideTheRange) {
  RandomStream random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<double> edges;
    for (uint64_t i = random.below(60); i > 0; --i) edges.push_back(random.normal() * std::pow(10, round % 7));
    edges.push_back(-11.0 * std::pow(10, round % 7));
    edges.push_back(11.0 * std::pow(10, round % 7));
    std::sort(edges.begin(), edges.end());
    Schema schema = example();
    schema.fields[2].edges = edges;
    const RowEncoder encoder(schema);
    for (int i = 0; i < 200; ++i) {
      const double value = edges.front() + (edges.back() - edges.front()) * random.uniform();
      const std::string text = shortest(value);
      const std::string_view cells[] = {"", text, ""};
      int32_t codes[4];
      float slopes[4];
      encoder.encode(cells, codes, slopes);
      ASSERT_TRUE(codes[2] >= 1 && codes[2] < schema.fields[2].rows());
      const double low = edges[static_cast<size_t>(codes[2] - 1)], high = edges[static_cast<size_t>(codes[2])];
      EXPECT_TRUE(low <= value && value <= high);
      EXPECT_NEAR(low + static_cast<double>(slopes[2]) * (high - low), value, 1e-6 * (high - low));
    }
  }
}

TEST(RowEncoder, CodesStayWithinTheirFieldWhateverTheCellsHold) {
  const RowEncoder encoder(example());
  const std::string_view alphabet[] = {"1", "-", "e", ".", " ", "inf", "nan", "red",
                                       "\xC3\xA4", "9", "0", "?", "NA", "\t", "\"", "x"};
  RandomStream random(9);
  for (int i = 0; i < 20000; ++i) {
    std::string texts[3];
    for (std::string& text : texts) {
      for (uint64_t k = random.below(6); k > 0; --k) text += alphabet[random.below(std::size(alphabet))];
    }
    const std::string_view cells[] = {texts[0], texts[1], texts[2]};
    int32_t codes[4];
    float slopes[4];
    encoder.encode(cells, codes, slopes);
    for (size_t f = 0; f < 4; ++f) {
      ASSERT_TRUE(codes[f] >= 0 && codes[f] < encoder.schema().fields[f].rows())
          << texts[0] << "|" << texts[1] << "|" << texts[2];
      ASSERT_TRUE(std::isfinite(slopes[f]));
      ASSERT_TRUE(codes[f] != 0 || slopes[f] == 0);
    }
  }
}

TEST(RowEncoder, Classes) {
  const RowEncoder encoder(example());
  EXPECT_EQ(encoder.class_of("no"), 0);
  EXPECT_EQ(encoder.class_of(" yes "), 1);
  EXPECT_EQ(encoder.class_of("maybe"), -1);
  EXPECT_EQ(encoder.class_of(""), -1);
}

TEST(MissingMarks, WithoutMarksNothingIsMissing) {
  EXPECT_FALSE(MissingMarks().contains(""));
  EXPECT_FALSE(MissingMarks().contains("?"));
  const std::vector<std::string> marks = {" n.a. "};
  EXPECT_TRUE(MissingMarks(marks, {}).contains("n.a."));
  EXPECT_FALSE(MissingMarks(marks, {}).contains("n"));
  EXPECT_FALSE(MissingMarks(marks, {}).contains(""));
}

}  // namespace
}  // namespace l0gm
