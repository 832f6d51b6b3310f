#include "training/step_losses.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

namespace l0gm {
namespace {

TEST(StepLosses, AddUpFromWhereTheyWere) {
  StepLosses losses;
  EXPECT_FALSE(losses.begun());
  EXPECT_TRUE(losses.begin(2.5, torch::kCPU));
  EXPECT_FALSE(losses.begin(7, torch::kCPU)) << "one is under way";
  losses.add(at::scalar_tensor(0.25), at::scalar_tensor(3.0));
  losses.add(at::scalar_tensor(0.25), at::scalar_tensor(1.0));
  EXPECT_EQ(losses.loss(), 3);
  EXPECT_EQ(losses.norm(), 4);
  losses.end();
  EXPECT_TRUE(losses.begin(0, torch::kCPU));
  EXPECT_EQ(losses.loss(), 0);
  EXPECT_EQ(losses.norm(), 0);
}

TEST(StepLosses, ComeBackAfterATry) {
  StepLosses losses;
  losses.begin(1, torch::kCPU);
  losses.add(at::scalar_tensor(1.0), at::scalar_tensor(1.0));
  const StepLosses::Kept kept = losses.keep();
  losses.end();
  losses.begin(0, torch::kCPU);
  losses.add(at::scalar_tensor(9.0), at::scalar_tensor(9.0));
  losses.restore(kept);
  EXPECT_TRUE(losses.begun());
  EXPECT_EQ(losses.loss(), 2);
  losses.end();
  losses.restore(losses.keep());
  EXPECT_FALSE(losses.begun());
}

}  // namespace
}  // namespace l0gm
