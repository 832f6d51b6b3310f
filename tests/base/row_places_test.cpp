#include "base/row_places.h"

#include <gtest/gtest.h>

namespace l0gm {
namespace {

TEST(RowPlaces, NamesFileAndLine) {
  RowPlaces places;
  EXPECT_EQ(places.of(4), "data row 5");
  places.begin_file("a.csv");
  for (const int64_t line : {2, 3, 6, 7}) places.add(line == 2 ? 0 : line == 3 ? 1 : line == 6 ? 2 : 3, line);
  places.begin_file("b.csv");
  places.add(4, 8);  // the line that would follow in a.csv
  places.add(5, 9);
  EXPECT_EQ(places.of(1), "a.csv: line 3");
  EXPECT_EQ(places.of(2), "a.csv: line 6");
  EXPECT_EQ(places.of(3), "a.csv: line 7");
  EXPECT_EQ(places.of(5), "b.csv: line 9");
}

}  // namespace
}  // namespace l0gm
