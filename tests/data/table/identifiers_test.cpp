#include "data/table/identifiers.h"

#include <gtest/gtest.h>

#include <vector>

namespace l0gm {
namespace {

std::vector<double> numbers(double first, double step, int count) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(first + step * i);
  return values;
}

TEST(Identifiers, NearlyAllDifferent) {
  EXPECT_TRUE(nearly_all_different(10, 10));
  EXPECT_FALSE(nearly_all_different(9, 9));
  EXPECT_FALSE(nearly_all_different(18, 19));
  EXPECT_TRUE(nearly_all_different(95, 100));
  EXPECT_FALSE(nearly_all_different(94, 100));
}

TEST(Identifiers, NumbersThatNameRows) {
  EXPECT_TRUE(are_identifiers("x", numbers(500, 1, 40)));           // numbered through
  EXPECT_TRUE(are_identifiers("x", numbers(10'000'000, 977, 40)));  // long
  EXPECT_TRUE(are_identifiers("customer_id", numbers(0, 97, 40)));  // by name
  EXPECT_TRUE(are_identifiers("CustomerId", numbers(0, 97, 40)));
  EXPECT_TRUE(are_identifiers("ID", numbers(0, 97, 40)));
}

TEST(Identifiers, NumbersThatMeasure) {
  EXPECT_FALSE(are_identifiers("income", numbers(900, 977, 40)));
  EXPECT_FALSE(are_identifiers("paid", numbers(900, 977, 40)));
  EXPECT_FALSE(are_identifiers("customer_id", numbers(0.5, 1, 40)));  // not whole
  EXPECT_FALSE(are_identifiers("customer_id", numbers(0, 1, 19)));    // too few to tell
  std::vector<double> repeated = numbers(500, 1, 40);
  for (size_t i = 0; i < 6; i += 2) repeated[i + 1] = repeated[i];
  EXPECT_FALSE(are_identifiers("x", repeated));
}

}  // namespace
}  // namespace l0gm
