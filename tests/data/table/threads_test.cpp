#include "base/threads.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

#include "data/table/fit.h"
#include "data/table/statistics.h"
#include "data/table/statistics_tools.h"

// Fitting and encoding give the same bits for any number of threads.
namespace l0gm {
namespace {

using namespace statistics_tools;

constexpr size_t many_rows = 20'000;  // several times what a thread takes at once

template <class Work>
auto with_threads(int64_t threads, const Work& work) {
  struct Restored {
    ~Restored() { set_thread_limit(0); }
  } restored;
  set_thread_limit(threads);
  return work();
}

template <class T>
::testing::AssertionResult same_bytes(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return ::testing::AssertionFailure() << a.size() << " values and " << b.size();
  if (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "other bytes";
}

void expect_same(const EncodedTable& a, const EncodedTable& b) {
  EXPECT_TRUE(same_bytes(a.codes, b.codes));
  EXPECT_TRUE(same_bytes(a.slopes, b.slopes));
  EXPECT_TRUE(same_bytes(a.labels, b.labels));
  EXPECT_TRUE(same_bytes(a.row_numbers, b.row_numbers));
}

TextTable numbers_and_texts() {
  TextTable table({"number", "wave", "colour", "tags", "y"});
  RandomStream random(5);
  for (size_t row = 0; row < many_rows; ++row) {
    const std::string number = random.below(50) == 0 ? "?" : fmt::format("{:.3f}", random.normal());
    const std::string wave = fmt::format("{:.5f}", random.uniform()), colour = fmt::format("c{}", random.below(3000));
    const std::string tags = fmt::format("t{}|t{}", random.below(20), random.below(20));
    table.add_row({number, wave, colour, tags, random.below(3) == 0 ? "yes" : "no"});
  }
  return table;
}

TEST(TableThreads, RowsAndTheirCounts) {
  const TextTable table = numbers_and_texts();
  std::vector<int64_t> rows(many_rows);
  std::iota(rows.rbegin(), rows.rend(), int64_t{0});  // not in the table's order
  ColumnOptions wave, tags;
  wave.encoding = "periodic";
  tags.separator = "|";
  const std::vector<int64_t> some(rows.begin(), rows.begin() + 4000);
  const RowEncoder encoder(fit_schema(table, 4, some, {}, {{"wave", wave}, {"tags", tags}}, {}));
  struct Result {
    EncodedTable table;
    RowEncoder::Counts counts;
    std::vector<FieldCounts> fields;
  };
  const auto result_of = [&](int64_t threads) {
    return with_threads(threads, [&] {
      Result result{{}, encoder.empty_counts(), {}};
      result.table = encode_rows(table, encoder, rows, true, &result.counts);
      result.fields = count_fields(result.table, encoder.schema());
      return result;
    });
  };
  const Result one = result_of(1), three = result_of(3);
  expect_same(one.table, three.table);
  EXPECT_EQ(one.counts.missing, three.counts.missing);
  EXPECT_EQ(one.counts.unseen, three.counts.unseen);
  EXPECT_EQ(one.counts.unreadable, three.counts.unreadable);
  EXPECT_GT(one.counts.missing[0], 100);
  EXPECT_GT(one.counts.unseen[2], 100);
  ASSERT_EQ(one.fields.size(), three.fields.size());
  for (size_t f = 0; f < one.fields.size(); ++f) {
    EXPECT_TRUE(same_bytes(one.fields[f].count, three.fields[f].count)) << f;
    EXPECT_TRUE(same_bytes(one.fields[f].slope_sum, three.fields[f].slope_sum)) << f;
    EXPECT_TRUE(same_bytes(one.fields[f].slopes, three.fields[f].slopes)) << f;
  }
}

TEST(TableThreads, ARowThatCannotBeEncodedIsNamed) {
  TextTable table = numbers_and_texts();
  std::vector<int64_t> rows(many_rows);
  std::iota(rows.begin(), rows.end(), int64_t{0});
  const RowEncoder encoder(fit_schema(table, 4, rows, {}, {}, {}));
  table.add_row({"1", "1", "c1", "t1", "maybe"});
  rows.push_back(static_cast<int64_t>(many_rows));
  try {
    with_threads(3, [&] { return encode_rows(table, encoder, rows, true); });
    FAIL() << "no error";
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("data row 20001"), std::string::npos) << error.what();
  }
}

TEST(TableThreads, Statistics) {
  for (const size_t classes : {2U, 4U}) {
    RandomStream random(8);
    std::vector<std::vector<int32_t>> columns;
    for (const uint64_t codes : {4U, 7U, 300U, 2000U, 30U, 12U}) columns.push_back(random_codes(random, many_rows, codes));
    columns.push_back(columns[2]);  // maps one to one to an earlier column
    std::vector<int32_t> labels = random_codes(random, many_rows, classes);
    for (size_t row = 0; row < many_rows; row += 3) labels[row] = columns[3][row] % static_cast<int32_t>(classes);
    const auto result_of = [&](int64_t threads) {
      return with_threads(threads, [&] { return fitted(make(columns, labels, classes), options_for(Statistics::pairs, 6)); });
    };
    const Table one = result_of(1), three = result_of(3);
    expect_same(one.rows, three.rows);
    EXPECT_EQ(one.schema.statistics.size(), 12U);  // six columns, and the pairs of four
    EXPECT_EQ(one.schema.to_json(), three.schema.to_json());
    for (size_t f = 0; f < one.schema.fields.size(); ++f) {
      EXPECT_EQ(one.schema.fields[f].mean, three.schema.fields[f].mean);
      EXPECT_EQ(one.schema.fields[f].deviation, three.schema.fields[f].deviation);
    }
    Table again = make(columns, labels, classes);
    with_threads(3, [&] {
      fill_out_of_fold(one.schema, again.rows);
      return 0;
    });
    expect_same(one.rows, again.rows);
  }
}

}  // namespace
}  // namespace l0gm
