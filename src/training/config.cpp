#include "training/config.h"

#include "l0gm/error.h"
#include "l0gm/gate_control.h"

namespace l0gm {

namespace {

// The command line has the last word: naming one of the three ways to set the sparsity drops what the file named.
void drop_other_controls(GateOptions& gate, const std::string& assignment) {
  const bool lambda = assignment.starts_with("gate.lambda="), target = assignment.starts_with("gate.target_active="),
             k = assignment.starts_with("gate.k=");
  if (!lambda && !target && !k) return;
  if (!lambda) gate.lambda.reset();
  if (!target) gate.target_active.reset();
  if (!k) gate.k.reset();
}

}  // namespace

Config read_config(const std::filesystem::path& path, const std::vector<std::string>& assignments) {
  Config config;
  OptionList options = OptionList::of(config);
  options.read_toml(path);
  for (const std::string& assignment : assignments) {
    drop_other_controls(config.gate, assignment);
    options.set(assignment);
  }
  settle_control(config.gate, options.named("gate.control"));
  if (config.data.source.empty()) {
    throw UserError(path.string() + ": data.source is missing: a catalogue name (`l0gm data list`), or csv or tsv for your own table");
  }
  if (config.gate.unit != UnitKind::none) Schedule check(config.schedule);
  return config;
}

std::string to_toml(Config config) { return OptionList::of(config).toml(); }

}  // namespace l0gm
