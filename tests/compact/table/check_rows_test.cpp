#include "compact/table/check_rows.h"

#include <gtest/gtest.h>

#include <numeric>

#include "training/tiny_run.h"

namespace l0gm {
namespace {

using namespace testing_tools;

TEST(CheckRows, BringEverythingAFileCan) {
  const TemporaryFolder folder;
  train(tiny_config(), folder.path() / "run");
  const TableRun run(folder.path() / "run", one_thread());
  const Schema& schema = run.table.schema;
  const TextTable table = make_check_rows(schema, 2000, 1), again = make_check_rows(schema, 2000, 1),
                  other = make_check_rows(schema, 2000, 2);
  EXPECT_EQ(table.cell(1999, 3), again.cell(1999, 3));
  int64_t different = 0;
  for (int64_t row = 0; row < 2000; ++row) different += table.cell(row, 3) != other.cell(row, 3) ? 1 : 0;
  EXPECT_GT(different, 1000);
  const RowEncoder encoder(schema);
  std::vector<int64_t> all(2000);
  std::iota(all.begin(), all.end(), int64_t{0});
  InputCounts counts = encoder.empty_counts();
  encode_rows(table, encoder, all, false, &counts);
  for (size_t c = 0; c < schema.columns.size(); ++c) {
    EXPECT_GT(counts.missing[c], 20) << c;
    EXPECT_GT(schema.columns[c].type == ColumnType::numeric ? counts.unreadable[c] : counts.unseen[c], 20) << c;
  }
}

}  // namespace
}  // namespace l0gm
