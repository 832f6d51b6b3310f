#include "l0gm/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "l0gm/error.h"

namespace l0gm {

namespace {

// The value of the curve at `x` in [0, 1]; every curve rises from 0 to 1.
double eased(double x, Curve curve) {
  switch (curve) {
    case Curve::linear:
      return x;
    case Curve::cosine:
      return 0.5 - 0.5 * std::cos(std::numbers::pi * x);
    case Curve::exponential:
      return (std::exp(-5 * x) - 1) / (std::exp(-5.0) - 1);
  }
  return x;
}

}  // namespace

Schedule::Schedule(const ScheduleOptions& options) : options_(options) {
  if (options.kind == ScheduleKind::anneal && options.warmup >= options.anneal_until) {
    throw UserError(
        fmt::format("schedule.warmup = {} must end before schedule.anneal_until = {}", options.warmup, options.anneal_until));
  }
}

GateState Schedule::at(double progress) const {
  if (options_.kind == ScheduleKind::none) return {Phase::anneal, options_.tau_end, 1, 1};
  if (progress < options_.warmup) return {Phase::warmup, options_.tau_start, 0, 1};
  if (progress >= options_.anneal_until) return {Phase::harden, options_.tau_end, 1, 1};
  const double x = (progress - options_.warmup) / (options_.anneal_until - options_.warmup);
  const double tau = options_.curve == Curve::exponential
                         ? options_.tau_start * std::pow(options_.tau_end / options_.tau_start, x)
                         : options_.tau_start + (options_.tau_end - options_.tau_start) * eased(x, options_.curve);
  return {Phase::anneal, tau, eased(std::min(1.0, x / options_.ramp_until), options_.curve), 1};
}

bool Schedule::counts_for_selection(double progress) const {
  return options_.kind == ScheduleKind::none ? progress >= 0.6 : progress >= options_.anneal_until;
}

}  // namespace l0gm
