#include "encode/table/text_column.h"

#include <gtest/gtest.h>

#include <cmath>

namespace l0gm {
namespace {

RowEncoder::Counts zeros() { return {{0, 0}, {0, 0}, {0, 0}}; }

TEST(CodeFromNumber, WholeNumbersOfTheFieldAreCodes) {
  RowEncoder::Counts counts = zeros();
  EXPECT_EQ(code_from_number(1, 5, false, 1, &counts), 1);
  EXPECT_EQ(code_from_number(4, 5, false, 1, &counts), 4);
  EXPECT_EQ(code_from_number(268435456, 268435457, true, 1, &counts), 268435456);
  for (const double other : {5.0, -1.0, 1.5, 0.5, 3.9999999999999996, 1e300, -1e300, double{INFINITY}, -double{INFINITY}}) {
    EXPECT_EQ(code_from_number(other, 5, false, 1, &counts), 1) << other;
    EXPECT_EQ(code_from_number(other, 5, true, 1, nullptr), 0) << other;
  }
  EXPECT_EQ(counts.missing[1] + counts.unreadable[1], 0);
}

TEST(CodeFromNumber, MissingAndUnreadableAreCounted) {
  RowEncoder::Counts counts = zeros();
  for (const double missing : {0.0, -0.0, double{NAN}}) {
    EXPECT_EQ(code_from_number(missing, 5, false, 1, &counts), 0);
    EXPECT_EQ(code_from_number(missing, 5, true, 1, &counts), 0);
  }
  EXPECT_EQ(counts.missing, (std::vector<int64_t>{0, 6}));
  EXPECT_EQ(code_from_number(2.5, 5, true, 1, &counts), 0);
  EXPECT_EQ(counts.unreadable, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(counts.missing, (std::vector<int64_t>{0, 6}));
}

// One column with three fields: a vocabulary, hashes, another vocabulary.
struct ThreeFields {
  std::vector<Field> fields = {{.name = "a", .vocabulary = {"x", "y"}},
                               {.name = "b", .kind = FieldKind::hashed, .buckets = 1000},
                               {.name = "c", .vocabulary = {"y", "z"}}};
  MissingMarks marks{default_missing_marks, {}};
  RowEncoder::Counts counts = zeros();

  std::vector<int32_t> encode(const TextCell& cell, size_t first = 0) {
    MultiCodeColumn column(0);
    for (size_t i = 0; i < 3; ++i) column.add(fields[(first + i) % 3], static_cast<int64_t>((first + i) % 3));
    std::vector<int32_t> codes(3, -7);
    std::vector<float> slopes(3, -7);
    column.encode(cell, marks, codes.data(), slopes.data(), &counts);
    EXPECT_EQ(slopes, (std::vector<float>{0, 0, 0}));
    return codes;
  }
  TextCell from_number(double number, size_t first = 0) {
    MultiCodeColumn column(0);
    column.add(fields[first], 0);
    return column.from_number(number, &counts);
  }
};

TEST(MultiCodeColumn, EveryFieldReadsTheText) {
  ThreeFields three;
  EXPECT_EQ(three.encode({.text = "y"}), (std::vector<int32_t>{3, bucket_code("y", 1000), 2}));
  EXPECT_EQ(three.counts.unseen[0], 0);
  EXPECT_EQ(three.encode({.text = "z"}), (std::vector<int32_t>{1, bucket_code("z", 1000), 3}));
  EXPECT_EQ(three.counts.unseen[0], 1);
  EXPECT_EQ(three.encode({.text = {}, .missing = true}), (std::vector<int32_t>{0, 0, 0}));
}

TEST(MultiCodeColumn, ACodeOfTheVocabularyEncodesLikeItsText) {
  ThreeFields three;
  EXPECT_EQ(three.encode(three.from_number(3)), three.encode({.text = "y"}));
  EXPECT_EQ(three.encode(three.from_number(0)), (std::vector<int32_t>{0, 0, 0}));
  EXPECT_EQ(three.counts.missing[0], 1);
  EXPECT_EQ(three.encode(three.from_number(1)), (std::vector<int32_t>{1, 0, 1}));  // of an unknown text there is no hash
  EXPECT_EQ(three.encode(three.from_number(4)), (std::vector<int32_t>{1, 0, 1}));
}

TEST(MultiCodeColumn, ABucketIsUnknownToOtherFields) {
  ThreeFields three;
  EXPECT_EQ(three.encode(three.from_number(77, 1), 1), (std::vector<int32_t>{1, 77, 1}));
  EXPECT_EQ(three.encode(three.from_number(1, 1), 1), (std::vector<int32_t>{1, 1, 1}));
  EXPECT_EQ(three.encode(three.from_number(1001, 1), 1), (std::vector<int32_t>{0, 0, 0}));
  EXPECT_EQ(three.counts.unreadable[0], 1);
}

}  // namespace
}  // namespace l0gm
