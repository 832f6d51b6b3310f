#include "l0gm/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

ScheduleOptions simple(Curve curve = Curve::linear) {
  ScheduleOptions options;
  options.warmup = 0.2;
  options.anneal_until = 0.6;
  options.ramp_until = 0.5;
  options.tau_start = 4;
  options.tau_end = 1;
  options.curve = curve;
  return options;
}

TEST(Schedule, PhasesBeginAtTheirShares) {
  const Schedule schedule(simple());
  EXPECT_EQ(schedule.at(0).phase, Phase::warmup);
  EXPECT_EQ(schedule.at(0.199999).phase, Phase::warmup);
  EXPECT_EQ(schedule.at(0.2).phase, Phase::anneal);
  EXPECT_EQ(schedule.at(0.599999).phase, Phase::anneal);
  EXPECT_EQ(schedule.at(0.6).phase, Phase::harden);
  EXPECT_EQ(schedule.at(1).phase, Phase::harden);
}

TEST(Schedule, WarmUpHasNoPrice) {
  const GateState state = Schedule(simple()).at(0.1);
  EXPECT_EQ(state.tau, 4);
  EXPECT_EQ(state.ramp, 0);
  EXPECT_EQ(state.keep, 1);
}

TEST(Schedule, EveryCurveRunsFromEndToEndWithoutTurning) {
  for (const Curve curve : {Curve::linear, Curve::cosine, Curve::exponential}) {
    SCOPED_TRACE(std::string(name_of_enum(curve)));
    const Schedule schedule(simple(curve));
    EXPECT_NEAR(schedule.at(0.2).tau, 4, 1e-12);
    EXPECT_NEAR(schedule.at(0.2).ramp, 0, 1e-12);
    EXPECT_NEAR(schedule.at(0.6 - 1e-12).tau, 1, 1e-9);
    EXPECT_NEAR(schedule.at(0.4).ramp, 1, 1e-12) << "the price is full at ramp_until of the anneal phase";
    EXPECT_EQ(schedule.at(0.5).ramp, 1);
    EXPECT_EQ(schedule.at(0.7).tau, 1);
    EXPECT_EQ(schedule.at(0.7).ramp, 1);
    GateState before = schedule.at(0.2);
    for (double progress = 0.21; progress < 0.6; progress += 0.01) {
      const GateState now = schedule.at(progress);
      EXPECT_LT(now.tau, before.tau) << progress;
      EXPECT_GE(now.ramp, before.ramp) << progress;
      EXPECT_LE(now.ramp, 1) << progress;
      before = now;
    }
  }
}

TEST(Schedule, CurvesHaveTheirShapes) {
  // A quarter of the way through the anneal phase: tau is a quarter down, the ramp (done at half of it) is half up.
  EXPECT_NEAR(Schedule(simple()).at(0.3).tau, 3.25, 1e-12);
  EXPECT_NEAR(Schedule(simple()).at(0.3).ramp, 0.5, 1e-12);
  EXPECT_NEAR(Schedule(simple(Curve::cosine)).at(0.3).tau, 4 - 3 * (1 - std::sqrt(0.5)) / 2, 1e-12);
  EXPECT_NEAR(Schedule(simple(Curve::cosine)).at(0.3).ramp, 0.5, 1e-12);
  EXPECT_NEAR(Schedule(simple(Curve::exponential)).at(0.3).tau, 4 * std::pow(0.25, 0.25), 1e-12) << "geometric";
  EXPECT_NEAR(Schedule(simple(Curve::exponential)).at(0.4).tau, 2, 1e-12);
  EXPECT_NEAR(Schedule(simple(Curve::exponential)).at(0.3).ramp, (1 - std::exp(-2.5)) / (1 - std::exp(-5.0)), 1e-12);
}

TEST(Schedule, NoneIsFixedFromTheFirstStepAndNeverHardens) {
  ScheduleOptions options = simple();
  options.kind = ScheduleKind::none;
  const Schedule schedule(options);
  for (const double progress : {0.0, 0.1, 0.5, 0.9, 1.0}) {
    EXPECT_EQ(schedule.at(progress).phase, Phase::anneal);
    EXPECT_EQ(schedule.at(progress).tau, options.tau_end);
    EXPECT_EQ(schedule.at(progress).ramp, 1);
  }
}

TEST(Schedule, OnlyHardenedStepsCountForSelection) {
  const Schedule schedule(simple());
  EXPECT_FALSE(schedule.counts_for_selection(0));
  EXPECT_FALSE(schedule.counts_for_selection(0.599));
  EXPECT_TRUE(schedule.counts_for_selection(0.6));
  ScheduleOptions none = simple();
  none.kind = ScheduleKind::none;
  none.anneal_until = 0.3;
  EXPECT_FALSE(Schedule(none).counts_for_selection(0.59)) << "without hardening: the last 40 %";
  EXPECT_TRUE(Schedule(none).counts_for_selection(0.61));
}

TEST(Schedule, WithoutWarmUpAnnealingStartsAtOnce) {
  ScheduleOptions options = simple();
  options.warmup = 0;
  EXPECT_EQ(Schedule(options).at(0).phase, Phase::anneal);
  EXPECT_EQ(Schedule(options).at(0).ramp, 0);
}

TEST(Schedule, PhasesOutOfOrderAreRefusedWithBothValues) {
  ScheduleOptions options;
  options.warmup = 0.7;
  options.anneal_until = 0.6;
  const std::string message = message_of<UserError>([&] { Schedule{options}; });
  EXPECT_NE(message.find("schedule.warmup = 0.7"), std::string::npos) << message;
  EXPECT_NE(message.find("schedule.anneal_until = 0.6"), std::string::npos) << message;
  options.kind = ScheduleKind::none;
  EXPECT_NO_THROW(Schedule{options}) << "without phases their shares do not matter";
}

}  // namespace
}  // namespace l0gm
