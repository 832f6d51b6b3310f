#include "l0gm/resolve_control.h"

#include "gate/toy_control.h"
#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using namespace testing_tools;

TEST(ResolveControl, FollowsFromWhatIsNamed) {
  EXPECT_EQ(by_lambda(0.1).control, ControlKind::lambda);
  EXPECT_EQ(by_target(0.1).control, ControlKind::target);
  EXPECT_EQ(by_count(3).control, ControlKind::top_k);
  GateOptions nothing;
  resolve_control(nothing, false);
  EXPECT_EQ(nothing.control, ControlKind::lambda);
  EXPECT_EQ(nothing.lambda, GateOptions::default_lambda);
  GateOptions dense;
  dense.unit = UnitKind::none;
  dense.lambda = 1;
  dense.k = 1;
  EXPECT_NO_THROW(resolve_control(dense, false)) << "without gates these options do not matter";
}

TEST(ResolveControl, ContradictionsAreRefused) {
  const auto refused = [](GateOptions options, bool named, const std::string& part) {
    const std::string message = message_of<UserError>([&] { resolve_control(options, named); });
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  GateOptions options;
  options.lambda = 0.1;
  options.k = 3;
  refused(options, false, "exclude each other");
  options = {};
  options.control = ControlKind::target;
  refused(options, true, "needs gate.target_active");
  options.lambda = 0.1;
  refused(options, true, "gate.control = target does not go with gate.lambda");
  options = {};
  options.control = ControlKind::top_k;
  refused(options, true, "needs gate.k");
  options.target_active = 0.5;
  refused(options, true, "gate.control = top-k does not go with gate.target_active");
  options = {};
  options.logits = LogitKind::fixed;
  refused(options, false, "set gate.target_active");
  options.lambda = 0.1;
  refused(options, false, "not gate.lambda");
}

TEST(ResolveControl, ControlMayBeNamedTogetherWithItsOption) {
  GateOptions options;
  options.control = ControlKind::target;
  options.target_active = 0.25;
  EXPECT_NO_THROW(resolve_control(options, true));
  EXPECT_EQ(options.control, ControlKind::target);
}

}  // namespace
}  // namespace l0gm
