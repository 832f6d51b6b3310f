#include "compact/parity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "compact/fake_compaction.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using namespace testing_tools;

TEST(Parity, TheLargestDifferenceIsFoundWithItsPlace) {
  const Worst worst = largest_difference({0.5, 0.25, 0.75}, {0.5, 0.5, 0.625});
  EXPECT_EQ(worst.difference, 0.25);
  EXPECT_EQ(worst.place, 1U);
  EXPECT_EQ(largest_difference({0.5, 0.25}, {0.5, 0.25}).difference, 0);
  EXPECT_LT(largest_difference({}, {}).difference, 0) << "nothing was compared";
  const Worst broken = largest_difference({0.5, std::nan(""), 0.75, 1}, {0.5, 0.5, 0.75, 0});
  EXPECT_TRUE(std::isnan(broken.difference)) << "not a number is the largest difference of all";
  EXPECT_EQ(broken.place, 1U);
  EXPECT_TRUE(std::isnan(largest_difference({0.5, 0.5}, {0, std::nan("")}).difference));
}

TEST(Parity, TheLimitGrowsWithTheModelsOwnError) {
  Parity parity;
  EXPECT_EQ(parity.numerics_limit(), least_numerics_limit);
  parity.least_limit = 1e-4;
  EXPECT_EQ(parity.numerics_limit(), 1e-4) << "what this kind of model is always allowed";
  parity.own_error = 1e-4;
  EXPECT_EQ(parity.numerics_limit(), 4e-4);
  parity.algebra = 1e-12;
  parity.numerics = 3e-5;
  parity.rows = 17;
  EXPECT_EQ(parity.to_json(), (nlohmann::json{{"float64", 1e-12},
                                              {"float64_limit", algebra_limit},
                                              {"float32", 3e-5},
                                              {"float32_limit", 4e-4},
                                              {"trained_float32", 1e-4},
                                              {"rows", 17}}));
  parity.folded_numerics = 5e-4;
  EXPECT_EQ(parity.to_json()["float32_folded"], 5e-4);
}

TEST(Parity, ADifferenceBeyondTheLimitIsRefusedWithRowAndProbabilities) {
  FakeCompaction compaction;
  const std::vector<double> wanted = compaction.trained(Precision::float64);
  EXPECT_EQ(require_parity(compaction, wanted, wanted, algebra_limit, "test"), 0);
  compaction.folding_error = 0.125;
  EXPECT_EQ(require_parity(compaction, compaction.folded(), wanted, 0.125, "test"), 0.125) << "the limit itself is allowed";
  const auto refusal = [&](const std::vector<double>& found) {
    return message_of<std::runtime_error>([&] { require_parity(compaction, found, wanted, 0.12, "a test"); });
  };
  const std::string message = refusal(compaction.folded());
  for (const char* words :
       {"is not the trained one (a test)", "at made-up row 2 P(no) is 0.375 where the trained model says 0.25",
        "a difference of 0.125; allowed are 0.12", "Nothing was written."}) {
    EXPECT_NE(message.find(words), std::string::npos) << message;
  }
  EXPECT_TRUE(message.ends_with("Nothing was written.")) << "there are no cells to tell";
  std::vector<double> broken = wanted;
  broken[3] = std::nan("");
  EXPECT_NE(refusal(broken).find("at made-up row 1 P(yes) is nan"), std::string::npos) << refusal(broken);
  EXPECT_THROW(require_parity(compaction, {0.5, 0.5}, wanted, 1, "test"), std::logic_error) << "other rows";
}

}  // namespace
}  // namespace l0gm
