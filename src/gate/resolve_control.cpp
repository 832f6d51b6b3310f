#include "l0gm/resolve_control.h"

#include <fmt/format.h>

#include "l0gm/error.h"

namespace l0gm {

namespace {

constexpr int64_t most_measured_units = 256, most_measured_on_request = 2048;

}  // namespace

void resolve_control(GateOptions& options, bool control_named) {
  if (options.unit == UnitKind::none) return;
  const int named = int(options.lambda.has_value()) + int(options.target_active.has_value()) + int(options.k.has_value()) +
                    int(options.target_speedup.has_value());
  if (named > 1)
    throw UserError("gate.lambda, gate.target_active, gate.target_speedup and gate.k exclude each other: set one of them");
  const bool target = options.target_active || options.target_speedup;
  const ControlKind implied = target ? ControlKind::target : options.k ? ControlKind::top_k : ControlKind::lambda;
  if (control_named && named == 1 && options.control != implied) {
    throw UserError(
        fmt::format("gate.control = {} does not go with gate.{}; leave out gate.control: it follows from the other option",
                    name_of_enum(options.control),
                    options.lambda           ? "lambda"
                    : options.target_active  ? "target_active"
                    : options.target_speedup ? "target_speedup"
                                             : "k"));
  }
  if (!control_named || named == 1) options.control = implied;
  if (options.control == ControlKind::lambda && !options.lambda) options.lambda = GateOptions::default_lambda;
  if (options.control == ControlKind::target && !target)
    throw UserError("gate.control = target needs gate.target_active or gate.target_speedup");
  if (options.control == ControlKind::top_k && !options.k) throw UserError("gate.control = top-k needs gate.k");
  if (options.logits == LogitKind::fixed && options.control == ControlKind::lambda) {
    throw UserError(
        "gate.logits = static picks a mask of a given size: set gate.target_active, gate.target_speedup or gate.k, not "
        "gate.lambda");
  }
}

// Units must be few enough, and gates such that a look at single units tells.
bool measures_units(const GateOptions& options, int64_t units) {
  const bool possible = options.logits == LogitKind::global && options.control != ControlKind::lambda &&
                        options.unit != UnitKind::none && options.pi == 0.5;
  if (options.worth != UnitWorth::measured)
    return possible && options.worth == UnitWorth::automatic &&
           (options.unit == UnitKind::group || options.cost == UnitCost::serving) && !options.on_structure() &&
           units <= most_measured_units;
  if (!possible)
    throw UserError("gate.worth = measured needs gate.target_active or gate.k, gate.logits = global and gate.pi = 0.5");
  if (options.attach.has(Attach::layers) && (options.attach.has(Attach::heads) || options.attach.has(Attach::ffn))) {
    throw UserError(
        "gate.worth = measured closes units one by one, and heads and neurons are parts of layers: gate layers alone, or leave "
        "it "
        "out");
  }
  if (units > most_measured_on_request) {
    throw UserError(fmt::format("gate.worth = measured closes units one by one: at most {}, and there are {}. Leave it out.",
                                most_measured_on_request, units));
  }
  return true;
}

}  // namespace l0gm
