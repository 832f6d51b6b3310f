#include "data/table/other_dates.h"

#include <gtest/gtest.h>

#include <vector>

namespace l0gm {
namespace {

TEST(OtherDates, AllCellsMustBeDates) {
  const auto dates = [](const std::vector<std::string_view>& cells) { return are_other_dates(cells); };
  EXPECT_TRUE(dates({"31.01.2024", "1.2.24", "01.12.2024 13:45"}));
  EXPECT_TRUE(dates({"01/31/2024", "1/2/24", "01/31/2024, 1:45 PM"}));
  EXPECT_TRUE(dates({"31-01-2024"}));
  EXPECT_FALSE(dates({}));
  EXPECT_FALSE(dates({"31.01.2024", "unknown"}));
  for (const char* other : {"2024-01-31", "1.2.3", "1.2.2024x", "31.01/2024", "1.234.567", "10.0.0.1", "12/2024", "1.2",
                            "31.01.20245", ""}) {
    EXPECT_FALSE(dates({other})) << other;
  }
}

}  // namespace
}  // namespace l0gm
