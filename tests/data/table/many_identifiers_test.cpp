#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "base/log_pause.h"
#include "base/random.h"
#include "data/table/encoded.h"
#include "data/table/fit.h"
#include "data/table/statistics.h"

// A column in which every row has a value of its own, a million of them.
namespace l0gm {
namespace {

constexpr int64_t rows = 1'000'000;

TextTable made_table() {
  RandomStream random(3);
  TextTable table({"id", "x", "y"});
  for (int64_t row = 0; row < rows; ++row) {
    const std::string id = fmt::format("user-{}", row * 7919), x = std::to_string(random.below(1000));
    table.add_row({id, x, random.below(1000) < 500 ? "no" : "yes"});
  }
  return table;
}

int64_t most_memory_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

TEST(ManyIdentifiers, AreLeftOutOrHashedInBoundedMemory) {
  const LogPause warnings;
  const TextTable table = made_table();
  std::vector<int64_t> train(static_cast<size_t>(rows));
  std::iota(train.begin(), train.end(), int64_t{0});
  const int64_t before = most_memory_mb();
  {
    const Schema schema = fit_schema(table, 2, train, {}, {}, {});
    ASSERT_EQ(schema.columns.size(), 1U);
    EXPECT_EQ(schema.columns[0].name, "x");
  }
  TableOptions options;
  options.min_count = 1;  // each is kept
  options.statistics = Statistics::automatic;
  Schema schema = fit_schema(table, 2, train, options, {}, {{"id", "categorical"}});
  ASSERT_EQ(schema.columns.size(), 2U);
  EXPECT_EQ(schema.fields[0].kind, FieldKind::hashed);
  EXPECT_EQ(schema.fields[0].rows(), options.max_categories + 1);
  EncodedTable encoded = encode_rows(table, RowEncoder(schema), train, true);
  fit_statistics(schema, encoded, options, &table);
  for (const Field& field : schema.fields) EXPECT_NE(field.kind, FieldKind::statistic) << field.name << ": the label is random";
  EXPECT_LT(schema.to_json().dump().size(), 1U << 20) << "what a run keeps of it";
  EXPECT_LT(most_memory_mb() - before, 1024);
}

}  // namespace
}  // namespace l0gm
