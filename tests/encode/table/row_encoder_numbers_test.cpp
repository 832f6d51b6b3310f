#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>

#include "base/random.h"
#include "base/text.h"
#include "encode/table/row_encoder.h"

// RowEncoder from numbers and codes, and from cells in another order than the columns.
namespace l0gm {
namespace {

Schema example() {
  Schema schema;
  schema.label = "y";
  schema.classes = {"no", "yes"};
  schema.class_rows = {30, 10};
  schema.missing_marks = default_missing_marks;
  schema.columns = {{.name = "colour"},
                    {.name = "age", .type = ColumnType::numeric},
                    {.name = "user"},
                    {.name = "tags", .type = ColumnType::multi},
                    {.name = "size", .type = ColumnType::numeric}};
  schema.fields = {{.name = "colour", .vocabulary = {"red", "blue", "green"}},
                   {.name = "age", .column = 1, .kind = FieldKind::piecewise, .edges = {0, 20, 40, 90}},
                   {.name = "age=", .column = 1, .kind = FieldKind::exact, .values = {30, 0, 50, 31}},
                   {.name = "user", .column = 2, .kind = FieldKind::hashed, .buckets = 50},
                   {.name = "tags", .column = 3, .kind = FieldKind::multi, .vocabulary = {"s", "t u"}, .slots = 2},
                   {.name = "size", .column = 4, .kind = FieldKind::plain, .mean = 3, .deviation = 2},
                   {.name = "colour:rows", .kind = FieldKind::statistic, .statistic = 0}};
  schema.statistics = {{0, -1, {2, 3}, {7, 2}, {3, 0}}};
  return schema;
}

struct Result {
  std::vector<int32_t> codes = std::vector<int32_t>(7, -1);
  std::vector<float> slopes = std::vector<float>(8, -99.0F);
  RowEncoder::Counts counts;
};

template <class Cell, class Encode>
Result result_of(const RowEncoder& encoder, const std::vector<Cell>& cells, const Encode& encode) {
  Result result, uncounted;
  result.counts = encoder.empty_counts();
  (encoder.*encode)(cells.data(), result.codes.data(), result.slopes.data(), &result.counts, nullptr);
  (encoder.*encode)(cells.data(), uncounted.codes.data(), uncounted.slopes.data(), nullptr, nullptr);
  EXPECT_EQ(uncounted.codes, result.codes);
  EXPECT_EQ(uncounted.slopes, result.slopes);
  return result;
}
Result from_texts(const RowEncoder& encoder, const std::vector<std::string_view>& cells) {
  return result_of(encoder, cells, &RowEncoder::encode);
}
Result from_numbers(const RowEncoder& encoder, const std::vector<double>& numbers) {
  return result_of(encoder, numbers, &RowEncoder::encode_numbers);
}

void expect_same(const Result& found, const Result& wanted, const std::string& what) {
  EXPECT_EQ(found.codes, wanted.codes) << what;
  EXPECT_EQ(found.slopes, wanted.slopes) << what;
  EXPECT_EQ(found.counts.unseen, wanted.counts.unseen) << what;
  EXPECT_EQ(found.counts.missing, wanted.counts.missing) << what;
  EXPECT_EQ(found.counts.unreadable, wanted.counts.unreadable) << what;
}

TEST(RowEncoderNumbers, AgreeWithTexts) {
  const RowEncoder encoder(example());
  const std::vector<std::vector<std::string>> choices = {{"red", "blue", "green", "black", "?", ""},
                                                         {"30", "0", "-0", "50", "31", "17.5", "-3", "1e9", "nan", "?"},
                                                         {"u1", "u2", "somebody", "NA"},
                                                         {"s", "t u", "new", "", "?"},
                                                         {"3", "4.5", "inf", "-1e300", "NULL"}};
  RandomStream random(2);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::string_view> cells;
    std::vector<double> numbers;
    std::string what;
    for (size_t c = 0; c < choices.size(); ++c) {
      const std::string& cell = choices[c][random.below(choices[c].size())];
      cells.push_back(cell);
      what += cell + "|";
      const bool numeric = encoder.schema().columns[c].type == ColumnType::numeric;
      numbers.push_back(numeric ? parse_double(cell).value_or(NAN) : static_cast<double>(encoder.code_of(c, cell)));
      if (!numeric && numbers.back() == 0 && round % 2 == 0) numbers.back() = NAN;  // both mean missing
    }
    const Result wanted = from_texts(encoder, cells);
    expect_same(from_numbers(encoder, numbers), wanted, what);
  }
}

TEST(RowEncoderNumbers, NumbersThatAreNotCodesAreUnseenOrUnreadable) {
  const RowEncoder encoder(example());
  const Result known = from_numbers(encoder, {2, 30, 7, 3, 4});
  EXPECT_EQ(known.codes, (std::vector<int32_t>{2, 2, 2, 7, 3, 0, 1}));
  EXPECT_EQ(std::vector<float>(known.slopes.begin(), known.slopes.end() - 1), (std::vector<float>{0, 0.5F, 0, 0, 1, 0, 0.5F}));
  EXPECT_NEAR(known.slopes.back(), std::log1p(7.0), 1e-6);
  for (const double other : {-1.0, 2.5, 5.0, 51.0, 1e300, double{INFINITY}, -double{INFINITY}}) {
    const double user = other == 5 ? 51 : other;
    const Result result = from_numbers(encoder, {other, 30, user, other, 4});
    EXPECT_EQ(result.codes, (std::vector<int32_t>{1, 2, 2, 0, 1, 0, 1})) << other;
    EXPECT_EQ(result.slopes, (std::vector<float>{0, 0.5F, 0, 0, 1, 0, 0.5F, 0})) << other;
    EXPECT_EQ(result.counts.unseen, (std::vector<int64_t>{1, 0, 0, 1, 0})) << other;
    EXPECT_EQ(result.counts.unreadable, (std::vector<int64_t>{0, 0, 1, 0, 0})) << other;
    EXPECT_EQ(result.counts.missing, (std::vector<int64_t>{0, 0, 0, 0, 0})) << other;
  }
}

TEST(RowEncoderNumbers, NotANumberIsMissingEverywhere) {
  const RowEncoder encoder(example());
  const Result result = from_numbers(encoder, {NAN, NAN, NAN, NAN, NAN});
  EXPECT_EQ(result.codes, (std::vector<int32_t>{0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(result.slopes, (std::vector<float>{0, 0, 0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(result.counts.missing, (std::vector<int64_t>{1, 1, 1, 1, 1}));
  EXPECT_EQ(result.counts.unseen, (std::vector<int64_t>{0, 0, 0, 0, 0}));
}

TEST(RowEncoderNumbers, CodesOfTexts) {
  const RowEncoder encoder(example());
  EXPECT_EQ(encoder.code_of(0, " blue "), 3);
  EXPECT_EQ(encoder.code_of(0, "black"), 1);
  EXPECT_EQ(encoder.code_of(0, "NA"), 0);
  const int32_t user = encoder.code_of(2, "u1");
  EXPECT_TRUE(user >= 1 && user <= 50);
  EXPECT_EQ(encoder.code_of(2, "?"), 0);
  EXPECT_EQ(encoder.code_of(3, "t u"), 3);
  EXPECT_EQ(encoder.code_of(3, "| s ||s"), 2);  // a single value, if repeated
  EXPECT_EQ(encoder.code_of(3, "s|t u"), 1);
  EXPECT_EQ(encoder.code_of(3, " | NA"), 0);
  EXPECT_THROW(encoder.code_of(1, "30"), std::logic_error);
  EXPECT_THROW(encoder.code_of(5, "x"), std::logic_error);
}

TEST(RowEncoder, CellsInAnotherOrder) {
  const RowEncoder encoder(example());
  const std::vector<std::string_view> texts = {"blue", "31", "u2", "s|new", "?"},
                                      moved_texts = {"?", "further", "s|new", "31", "u2", "blue"};
  const std::vector<double> numbers = {3, 31, 9, 2, NAN}, moved_numbers = {NAN, 4, 2, 31, 9, 3};
  const int32_t positions[] = {5, 3, 4, 2, 0};
  Result moved;
  moved.counts = encoder.empty_counts();
  encoder.encode(moved_texts.data(), moved.codes.data(), moved.slopes.data(), &moved.counts, positions);
  expect_same(moved, from_texts(encoder, texts), "texts");
  moved.counts = encoder.empty_counts();
  encoder.encode_numbers(moved_numbers.data(), moved.codes.data(), moved.slopes.data(), &moved.counts, positions);
  expect_same(moved, from_numbers(encoder, numbers), "numbers");
}

// A mark that is a number means missing in a file, so the same number in a row of numbers must mean missing, too.
TEST(RowEncoderNumbers, ANumberThatAMarkSpellsIsMissing) {
  Schema schema = example();
  schema.columns[1].missing_marks = {"-999"};
  const RowEncoder encoder(schema);
  const Result marked = from_numbers(encoder, {2, -999, 1, 2, -999});
  expect_same(marked, from_numbers(encoder, {2, NAN, 1, 2, -999}), "age");
  EXPECT_EQ(marked.counts.missing, (std::vector<int64_t>{0, 1, 0, 0, 0}));  // the mark is of one column only
}

// One spelling of a mark's number is enough, and an absent cell (no data) needs no mark.
TEST(RowEncoderNumbers, MissingIsTheSameInTextsAndNumbers) {
  Schema schema = example();
  schema.missing_marks = {};
  schema.columns[1].missing_marks = {"-999"};
  const RowEncoder encoder(schema);
  const std::string_view none;
  expect_same(from_texts(encoder, {none, "-999.0", none, none, none}), from_numbers(encoder, {NAN, -999, NAN, NAN, NAN}), "none");
  EXPECT_EQ(from_texts(encoder, {none, "-999.0", none, none, none}).counts.missing, (std::vector<int64_t>{1, 1, 1, 1, 1}));
  EXPECT_EQ(from_texts(encoder, {"", "1", "", "s", "1"}).codes[0], 1);  // an empty text that is not a mark is a value
}

}  // namespace
}  // namespace l0gm
