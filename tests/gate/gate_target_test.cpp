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

// Two layers that cost ten each besides their two heads of one: a small speed-up closes heads and no layer.
TEST(GateTarget, UnitsOfUnlikeCostsAreNotCounted) {
  GateOptions options;
  options.target_speedup = 1.05;
  GateSite layers = site_of(options, at::zeros({2}, torch::kFloat64), at::full({2}, 10.0, torch::kFloat64), {}, "layers"),
           heads = site_of(options, at::zeros({4}, torch::kFloat64), at::full({4}, 1.0, torch::kFloat64), {}, "heads");
  heads.outer = &layers;
  heads.outer_unit = at::tensor({0, 0, 1, 1}, torch::kInt64);
  layers.cost_besides = 0;
  EXPECT_NEAR(gate_target(options, {&layers, &heads}), 1 / 1.05, 1e-12);
}

TEST(GateTarget, MoreUnitsThanThereAreIsRefusedWithBothNumbers) {
  const GateOptions options = by_count(9);
  GateSite site = site_of(options, at::zeros({8}, torch::kFloat64));
  const auto message = [&] { return message_of<UserError>([&] { GateControl(options, {&site}); }); };
  EXPECT_NE(message().find("gate.k = 9, and there are 8 units. Ask for at most 8"), std::string::npos) << message();
  site.noun = "columns";
  EXPECT_NE(message().find("8 columns"), std::string::npos) << message();
}

TEST(GateTarget, FewerUnitsThanStayOpenAnywayAreRefusedWithTheLeast) {
  const auto opened = [](int64_t k) {
    const GateOptions options = by_count(k);
    GateSite layers = site_of(options, at::zeros({2}, torch::kFloat64), {}, {}, "layers"),
             heads = site_of(options, at::zeros({4}, torch::kFloat64), {}, {}, "heads");
    heads.outer = &layers;
    heads.outer_unit = at::tensor({0, 0, 1, 1}, torch::kInt64);
    return GateControl(options, {&layers, &heads}).harden(hardened).open_units;
  };
  const std::string refusal = message_of<UserError>([&] { opened(1); });
  EXPECT_NE(refusal.find("gate.k = 1 cannot be met: gates are at 2 places (layers, heads)"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("Ask for at least 2"), std::string::npos) << refusal;
  for (int64_t k = 2; k <= 6; ++k) EXPECT_EQ(opened(k), k) << "neither more nor less";
}

}  // namespace
}  // namespace l0gm
