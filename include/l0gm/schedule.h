// The schedule of gating over a training run: warm-up, annealing, hardening.
//   const Schedule schedule(ScheduleOptions{});  // warm-up to .10 of the steps, annealing to .60, hardened to the end
//   const GateState state = schedule.at(double(step) / steps);
#pragma once

#include <limits>

#include "l0gm/options.h"

namespace l0gm {

enum class ScheduleKind { anneal, none };
enum class Curve { linear, cosine, exponential };
enum class Phase { warmup, anneal, harden };

template <>
inline constexpr auto enum_names<ScheduleKind> = std::to_array<std::string_view>({"anneal", "none"});
template <>
inline constexpr auto enum_names<Curve> = std::to_array<std::string_view>({"linear", "cosine", "exponential"});
template <>
inline constexpr auto enum_names<Phase> = std::to_array<std::string_view>({"warmup", "anneal", "harden"});

struct ScheduleOptions {
  ScheduleKind kind = ScheduleKind::anneal;
  double warmup = 0.10;
  double anneal_until = 0.60;
  double ramp_until = 0.85;
  double tau_start = 2.0;
  double tau_end = 0.5;
  Curve curve = Curve::linear;

  template <class Visitor>
  void visit(Visitor& v) {
    v("kind", kind, "`anneal`: warm-up, anneal, harden; `none`: fixed tau and lambda from the first step, gates never fixed");
    v("warmup", warmup, "share of the steps before gating starts (gates open, lambda 0)", between(0, 0.9));
    v("anneal_until", anneal_until, "share of the steps at which gates are fixed; the weights train on to the end", inside(0, 1));
    v("ramp_until", ramp_until, "share of the anneal phase at which lambda, target and k reach their final value",
      Limit{0, 1, true, false});
    v("tau_start", tau_start, "temperature when gating starts", above(0));
    v("tau_end", tau_end, "temperature when gates are fixed", above(0));
    v("curve", curve, "how tau falls and lambda rises in between");
  }
};

// The state of training that gates depend on. The same for every site and every process.
struct GateState {
  Phase phase = Phase::harden;
  double tau = 0.5;
  double ramp = 1;  // share of the way from "all open" to the full price, target or k
  double keep = 1;  // top-k: share of the units that may be open; set by GateControl
  // Top-k over several sites: units with a logit above this may be open, in every site, and the largest of each site; set by
  // GateControl. Not finite: each site keeps its own share.
  double keep_above = -std::numeric_limits<double>::infinity();
};

class Schedule {
 public:
  explicit Schedule(const ScheduleOptions& options);  // UserError if warm-up does not end before hardening
  GateState at(double progress) const;                // progress in [0, 1]
  // Best checkpoint and early stop consider only these steps: otherwise the dense start would always win.
  bool counts_for_selection(double progress) const;
  const ScheduleOptions& options() const { return options_; }

 private:
  ScheduleOptions options_;
};

}  // namespace l0gm
