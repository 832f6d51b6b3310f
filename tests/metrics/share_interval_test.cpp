#include "metrics/share_interval.h"

#include <gtest/gtest.h>

namespace l0gm {
namespace {

// scipy.stats.binomtest(count, rows).proportion_ci(method="wilson")
TEST(ShareInterval, Wilson) {
  const Interval some = share_interval(0.3, 10);
  EXPECT_NEAR(some.low, 0.10779126740630104, 1e-12);
  EXPECT_NEAR(some.high, 0.6032218525388546, 1e-12);
  const Interval none = share_interval(0, 20);
  EXPECT_NEAR(none.low, 0, 1e-15);
  EXPECT_NEAR(none.high, 0.16112515805281938, 1e-12);
}

TEST(ShareInterval, SaysNothingWithoutRows) {
  EXPECT_EQ(share_interval(0.5, 0).low, 0);
  EXPECT_EQ(share_interval(0.5, 0).high, 1);
}

}  // namespace
}  // namespace l0gm
