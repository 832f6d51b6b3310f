#include "report/pareto_front.h"

#include <gtest/gtest.h>

#include <cmath>

namespace l0gm {
namespace {

using Places = std::vector<size_t>;

TEST(ParetoFront, OnlyWhatNobodyBeats) {
  EXPECT_EQ(pareto_front({{1, 0.95}, {0.3, 0.94}, {0.4, 0.93}, {0.1, 0.8}}, true), (Places{3, 1, 0}));
  EXPECT_EQ(pareto_front({{1, 0.2}, {0.3, 0.3}, {0.4, 0.35}}, false), (Places{1, 0})) << "lower is better";
}

TEST(ParetoFront, EqualPointsAreBothOnIt) { EXPECT_EQ(pareto_front({{0.5, 0.9}, {0.5, 0.9}, {0.5, 0.8}}, true), (Places{0, 1})); }

TEST(ParetoFront, UndefinedFiguresAreNot) {
  EXPECT_EQ(pareto_front({{0.1, std::nan("")}, {std::nan(""), 1}, {0.5, 0.5}}, true), (Places{2}));
  EXPECT_TRUE(pareto_front({}, true).empty());
}

}  // namespace
}  // namespace l0gm
