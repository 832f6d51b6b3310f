#include "base/text_table.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace l0gm {
namespace {

TEST(TextTable, KeepsCellsInOrder) {
  TextTable table({"a", "b", "c"});
  EXPECT_EQ(table.rows(), 0);
  table.add_row({"", "x", ""});
  table.add_row({"long cell with, everything\n", "", "z"});
  EXPECT_EQ(table.rows(), 2);
  EXPECT_EQ(table.columns(), 3);
  EXPECT_EQ(table.cell(0, 0), "");
  EXPECT_EQ(table.cell(0, 1), "x");
  EXPECT_EQ(table.cell(1, 0), "long cell with, everything\n");
  EXPECT_EQ(table.cell(1, 1), "");
  EXPECT_EQ(table.cell(1, 2), "z");
}

TEST(TextTable, FindsColumnsByName) {
  const TextTable table({"a", "b"});
  EXPECT_EQ(table.column("b"), 1);
  EXPECT_EQ(table.column("B"), -1);
  EXPECT_EQ(TextTable().rows(), 0);
}

TEST(TextTable, RefusesRowsOfAnotherWidth) {
  TextTable table({"a", "b"});
  EXPECT_THROW(table.add_row({"1"}), std::logic_error);
  EXPECT_EQ(table.rows(), 0);
}

}  // namespace
}  // namespace l0gm
