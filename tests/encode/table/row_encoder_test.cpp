#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "base/random.h"
#include "base/text.h"
#include "encode/table/row_encoder.h"

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
  schema.fields[0] = {
      .name = "age", .column = 2, .kind = FieldKind::plain, .mean = 40, .deviation = 10};  // not in the columns' order
  schema.fields[1] = {.name = "colour", .vocabulary = {"red", "Nantes"}};
  schema.fields[2] = {.name = "size", .column = 1, .kind = FieldKind::piecewise, .edges = {0, 10, 30, 70}};
  schema.fields[3] = {.name = "age=", .column = 2, .kind = FieldKind::exact, .values = {40, 41}};
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
  EXPECT_EQ(result.counts.unseen,
            (std::vector<int64_t>{0, 0, 0}));  // a number that is not an exact value does not count as unseen
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

TEST(RowEncoder, UnseenUnreadableAndNaN) {
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

TEST(RowEncoder, ExtremeEdgesGiveNoNaN) {
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

TEST(RowEncoder, CodesStayWithinTheirFieldForAnyCells) {
  const RowEncoder encoder(example());
  const std::string_view alphabet[] = {"1",        "-", "e", ".", " ",  "inf", "nan", "red",
                                       "\xC3\xA4", "9", "0", "?", "NA", "\t",  "\"",  "x"};
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

// One column with one field.
RowEncoder encoder_of(ColumnType type, Field field) {
  Schema schema;
  schema.label = "y";
  schema.classes = {"no", "yes"};
  schema.class_rows = {1, 1};
  schema.missing_marks = default_missing_marks;
  schema.columns = {{.name = "x", .type = type}};
  field.name = "x";
  schema.fields = {std::move(field)};
  return RowEncoder(std::move(schema));
}

int32_t code_of(const RowEncoder& encoder, std::string_view cell) {
  int32_t code = -1;
  float slope = -99;
  encoder.encode(&cell, &code, &slope);
  EXPECT_EQ(slope, 0.0F);
  return code;
}

TEST(RowEncoder, ExactValuesAreNumbersNotTexts) {
  const RowEncoder encoder = encoder_of(ColumnType::numeric, {.kind = FieldKind::exact, .values = {1, 0, -2.5, 1e300}});
  for (const char* one : {"1", "1.0", "01", "+1", "1e0", " 1 "}) EXPECT_EQ(code_of(encoder, one), 2) << one;
  for (const char* zero : {"0", "-0", "-0.0", "0e9"}) EXPECT_EQ(code_of(encoder, zero), 3) << zero;
  EXPECT_EQ(code_of(encoder, "-25e-1"), 4);
  EXPECT_EQ(code_of(encoder, "1e300"), 5);
  for (const char* other : {"2", "1.0000000000000002", "inf", "-inf", "1e999"}) EXPECT_EQ(code_of(encoder, other), 1) << other;
  for (const char* missing : {"", "NaN", "NAN", "one"}) EXPECT_EQ(code_of(encoder, missing), 0) << missing;
}

TEST(RowEncoder, PeriodicIsScaledAsPlain) {
  const RowEncoder encoder = encoder_of(ColumnType::numeric, {.kind = FieldKind::periodic, .mean = 40, .deviation = 10});
  const auto encoded = [&](std::string_view cell) {
    std::pair<int32_t, float> result;
    encoder.encode(&cell, &result.first, &result.second);
    return result;
  };
  using Pair = std::pair<int32_t, float>;
  EXPECT_EQ(encoded("45"), Pair(1, 0.5F));
  EXPECT_EQ(encoded("-1e9"), Pair(1, -8.0F));
  EXPECT_EQ(encoded("inf"), Pair(1, 8.0F));
  EXPECT_EQ(encoded("?"), Pair(0, 0.0F));
}

TEST(RowEncoder, HashedTextsHaveTheCodesTheyAlwaysHad) {
  const RowEncoder encoder = encoder_of(ColumnType::categorical, {.kind = FieldKind::hashed, .buckets = 1000});
  EXPECT_EQ(code_of(encoder, "a"), 1 + 736);
  EXPECT_EQ(code_of(encoder, " user-4711 "), 1 + 317);
  EXPECT_EQ(code_of(encoder, "Z\xC3\xBCrich"), 1 + 485);
  EXPECT_EQ(code_of(encoder, "NA"), 0);
  RowEncoder::Counts counts = encoder.empty_counts();
  const std::string_view cell = "never seen";
  int32_t code;
  float slope;
  encoder.encode(&cell, &code, &slope, &counts);
  EXPECT_EQ(counts.unseen[0], 0);
}

TEST(RowEncoder, HashedIdentifiersSpreadEvenly) {
  for (const int64_t buckets : {1000, 1024}) {
    const RowEncoder encoder = encoder_of(ColumnType::categorical, {.kind = FieldKind::hashed, .buckets = buckets});
    std::vector<int64_t> counts(static_cast<size_t>(buckets) + 1, 0);
    for (int i = 0; i < 1000000; ++i) {
      const int32_t code = code_of(encoder, std::to_string(i));
      ASSERT_TRUE(code >= 1 && code <= buckets);
      ++counts[static_cast<size_t>(code)];
    }
    const double wanted = 1e6 / static_cast<double>(buckets);
    double chi_square = 0;
    for (size_t i = 1; i < counts.size(); ++i) {
      chi_square += std::pow(static_cast<double>(counts[i]) - wanted, 2) / wanted;
      EXPECT_NEAR(static_cast<double>(counts[i]), wanted, 6 * std::sqrt(wanted));
    }
    // Mean buckets - 1, variance twice that: five deviations.
    EXPECT_NEAR(chi_square, static_cast<double>(buckets - 1), 5 * std::sqrt(2.0 * static_cast<double>(buckets - 1)));
  }
}

struct Multi {
  std::vector<int32_t> codes;
  std::vector<float> slopes;
  int64_t unseen, missing;
};

Multi encode_multi(std::string_view cell, int64_t slots = 3, char separator = '|') {
  const RowEncoder encoder =
      encoder_of(ColumnType::multi,
                 {.kind = FieldKind::multi, .vocabulary = {"a", "b c", "d", "e"}, .slots = slots, .separator = separator});
  const auto size = static_cast<size_t>(slots);
  Multi result{std::vector<int32_t>(size, -1), std::vector<float>(size, -99), 0, 0};
  RowEncoder::Counts counts = encoder.empty_counts();
  encoder.encode(&cell, result.codes.data(), result.slopes.data(), &counts);
  result.unseen = counts.unseen[0];
  result.missing = counts.missing[0];
  return result;
}

TEST(RowEncoder, SeveralValuesInACell) {
  const float third = 1.0F / 3;
  EXPECT_EQ(encode_multi("d|a").codes, (std::vector<int32_t>{4, 2, 0}));
  EXPECT_EQ(encode_multi("d|a").slopes, (std::vector<float>{0.5F, 0.5F, 0}));
  EXPECT_EQ(encode_multi(" d | b c|a ").codes, (std::vector<int32_t>{4, 3, 2}));
  EXPECT_EQ(encode_multi(" d | b c|a ").slopes, (std::vector<float>{third, third, third}));
  EXPECT_EQ(encode_multi("|a||NA| ? |a|a|").codes, (std::vector<int32_t>{2, 0, 0}));
  EXPECT_EQ(encode_multi("|a||NA| ? |a|a|").slopes, (std::vector<float>{1, 0, 0}));
  EXPECT_EQ(encode_multi("a|d").unseen, 0);
  EXPECT_EQ(encode_multi("a;d", 3, ';').codes, (std::vector<int32_t>{2, 4, 0}));
  EXPECT_EQ(encode_multi("a  d", 3, ' ').codes, (std::vector<int32_t>{2, 4, 0}));
  EXPECT_EQ(encode_multi("a", 1).slopes, (std::vector<float>{1}));
}

TEST(RowEncoder, ACellWithoutAnyValueIsMissing) {
  for (const char* cell : {"", "?", "|", " | NA | ", "||||"}) {
    const Multi result = encode_multi(cell);
    EXPECT_EQ(result.codes, (std::vector<int32_t>{0, 0, 0})) << cell;
    EXPECT_EQ(result.slopes, (std::vector<float>{1, 0, 0})) << cell;
    EXPECT_EQ(result.missing, 1) << cell;
    EXPECT_EQ(result.unseen, 0) << cell;
  }
}

TEST(RowEncoder, UnseenValuesAndThoseBeyondTheSlots) {
  const Multi unknown = encode_multi("z|a|zz|z");  // two different ones, each with a slot
  EXPECT_EQ(unknown.codes, (std::vector<int32_t>{1, 2, 1}));
  EXPECT_EQ(unknown.unseen, 1);  // cells, not values
  const Multi full = encode_multi("a|d|e|a|d|b c|z");
  EXPECT_EQ(full.codes, (std::vector<int32_t>{2, 4, 5}));
  EXPECT_EQ(full.slopes[0], 1.0F / 3);
  EXPECT_EQ(full.unseen, 1);
  EXPECT_EQ(encode_multi("a|d|e|a|d").unseen, 0);  // repeated ones need no slot
  std::string long_cell = "a";
  for (int i = 0; i < 200000; ++i) long_cell += "|" + std::to_string(i % 3000);
  const Multi many = encode_multi(long_cell, 1024);
  EXPECT_EQ(std::count(many.codes.begin(), many.codes.end(), 1), 1023);
  EXPECT_EQ(many.missing, 0);
}

TEST(RowEncoder, SlotsFollowTheOrderOfFieldsAndStatisticsComeLast) {
  Schema schema = example();
  schema.class_rows = {30, 10};
  schema.columns.push_back({.name = "tags", .type = ColumnType::multi});
  schema.fields.insert(schema.fields.begin() + 1,
                       {.name = "tags", .column = 3, .kind = FieldKind::multi, .vocabulary = {"s", "t"}, .slots = 2});
  schema.fields.push_back({.name = "colour:rows", .kind = FieldKind::statistic, .statistic = 0});
  schema.statistics = {{2, -1, {2}, {7}, {3}}};
  RowEncoder original(schema);
  const RowEncoder copy = original;
  original = RowEncoder(example());  // a copy holds what it needs itself
  int32_t codes[6];
  float slopes[7];
  const std::string_view cells[] = {"red", "15", "45", "u|t"};
  copy.encode(cells, codes, slopes);
  EXPECT_EQ(std::vector<int32_t>(codes, codes + 6), (std::vector<int32_t>{1, 1, 3, 2, 2, 1}));
  EXPECT_EQ(std::vector<float>(slopes, slopes + 6), (std::vector<float>{0.5F, 0.5F, 0.5F, 0, 0.25F, 0}));
  EXPECT_NEAR(slopes[6], std::log1p(7.0), 1e-6);
  const std::string_view unseen[] = {"green", "15", "45", ""};
  copy.encode(unseen, codes, slopes);
  EXPECT_EQ(slopes[6], 0.0F);
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
