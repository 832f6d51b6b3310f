#include "gate/gate_target.h"

#include "gate/toy_control.h"
#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using namespace testing_tools;

TEST(GateTarget, IsAShareOfTheCost) {
  const GateSite site = site_of({}, at::zeros({8}, torch::kFloat64), at::full({8}, 2.0, torch::kFloat64));
  EXPECT_DOUBLE_EQ(cost_of_all_units({&site, &site}), 32);
  EXPECT_DOUBLE_EQ(gate_target(by_target(0.3), {&site}), 0.3);
  EXPECT_DOUBLE_EQ(gate_target(by_count(6), {&site}), 0.75);
  EXPECT_DOUBLE_EQ(gate_target(by_count(6), {&site, &site}), 0.375);
  EXPECT_DOUBLE_EQ(gate_target(by_lambda(1), {&site}), 1) << "a price names no target";
  EXPECT_DOUBLE_EQ(gate_target(by_count(9), {}), 1) << "a dense model";
}

TEST(GateTarget, MoreUnitsThanThereAreIsRefusedWithBothNumbers) {
  const GateOptions options = by_count(9);
  GateSite site = site_of(options, at::zeros({8}, torch::kFloat64));
  const auto message = [&] { return message_of<UserError>([&] { GateControl(options, {&site}); }); };
  EXPECT_NE(message().find("gate.k = 9, and there are 8 units. Ask for at most 8"), std::string::npos) << message();
  site.noun = "columns";
  EXPECT_NE(message().find("8 columns"), std::string::npos) << message();
}

}  // namespace
}  // namespace l0gm
