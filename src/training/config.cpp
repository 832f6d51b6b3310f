#include "training/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"
#include "l0gm/error.h"
#include "l0gm/gate_control.h"
#include "training/modality.h"

namespace l0gm {

namespace {

bool names_key(const std::vector<std::string>& assignments, std::string_view key) {
  return std::any_of(assignments.begin(), assignments.end(), [&](const std::string& assignment) {
    return trim(assignment.substr(0, assignment.find('='))) == key;
  });
}

// The command line has the last word: naming one of the ways to set the sparsity there drops what the file named.
bool drop_overruled_controls(GateOptions& gate, const std::vector<std::string>& assignments) {
  const auto assigned = [&](std::string_view key) { return names_key(assignments, key); };
  const bool lambda = assigned("gate.lambda"), target = assigned("gate.target_active"), k = assigned("gate.k"),
             speedup = assigned("gate.target_speedup");
  if (!lambda && !target && !k && !speedup) return false;
  if (!lambda) gate.lambda.reset();
  if (!target) gate.target_active.reset();
  if (!k) gate.k.reset();
  if (!speedup) gate.target_speedup.reset();
  return true;
}

// Likewise: switching the dense teacher off there drops what the file says of it.
void drop_overruled_teacher(OptionList& options, Config& config, const std::vector<std::string>& assignments) {
  const bool off = names_key(assignments, "distill.dense") && config.distill.dense == DenseTeacher::off;
  if (!off || !config.distill.from.empty()) return;
  const DistillOptions standard;
  const auto drop = [&](const char* key, auto& value, const auto& from) {
    if (names_key(assignments, key)) return;
    value = from;
    options.find(key).named = false;
  };
  drop("distill.weight", config.distill.weight, standard.weight);
  drop("distill.temperature", config.distill.temperature, standard.temperature);
  drop("distill.settings", config.distill.settings, standard.settings);
}

// The modality's own defaults, where nothing is named.
void apply_defaults(const Modality& modality, OptionList& options, const Config& config) {
  for (const auto& [key, value] : modality.defaults()) {
    if (!options.named(std::string(key))) options.set(fmt::format("{}={}", key, value));
  }
  modality.resolve(options, config);
}

// Options that differ from their defaults and that nothing reads, with the condition that does not hold.
std::vector<std::pair<std::string, ReadBy>> unread(const Modality& modality, Config& config) {
  std::vector<std::pair<std::string, ReadBy>> found;
  Config defaults;
  const OptionList standard = OptionList::of(defaults), given = OptionList::of(config);
  for (const Option& option : given.options()) {
    if (standard.declared_default(option.key) == option.value()) continue;
    if (const ReadBy* condition = given.unmet(option, modality.name())) found.emplace_back(option.key, *condition);
  }
  return found;
}

// A run's configuration is complete: an option that it does not name was not there yet, and the run is as it was without.
void set_what_was_before(const Modality& modality, OptionList& options, const Config& config) {
  const Option& ensemble = options.find("model.ensemble");
  const bool is_read = options.unmet(ensemble, modality.name()) == nullptr && config.model.members > 1;
  if (is_read && !ensemble.named) options.set("model.ensemble=heads");
  if (!options.named("gate.worth")) options.set("gate.worth=gradient");
  if (!options.named("train.select")) options.set("train.select=loss");
  if (!options.named("train.lr_restart")) options.set("train.lr_restart=false");
  if (!options.named("table.trees")) options.set("table.trees=off");
  if (!options.named("table.refit_columns")) options.set("table.refit_columns=false");
  const Option& teacher = options.find("distill.dense");
  if (options.unmet(teacher, modality.name()) == nullptr && !teacher.named) options.set("distill.dense=off");
}

constexpr std::string_view modality_condition = "modality = ";

// A condition as the end of a sentence: "it is read for a graph only", "has no effect unless data.source is a graph".
std::string reader_of(const ReadBy& condition) {
  if (!condition.condition.starts_with(modality_condition)) return condition.condition;
  return "a " + condition.condition.substr(modality_condition.size());
}

std::string needed_for(const ReadBy& condition) {
  if (!condition.condition.starts_with(modality_condition)) return condition.condition;
  return "data.source is " + reader_of(condition);
}

}  // namespace

void check_model_name(const Modality& modality, const std::string& name) {
  const std::vector<std::string> names = modality.models();
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  throw UserError(fmt::format("model.name is '{}', and data.source is a {}: take one of {}.{}", name, modality.name(),
                              join(names, ", "), did_you_mean(name, names)));
}

bool may_be_set(const Modality& modality, Config config, const std::string& key) {
  OptionList options = OptionList::of(config);
  return config.is_open(key) && options.unmet(options.find(key), modality.name()) == nullptr;
}

OptionList options_of(Config& config) {
  OptionList options = OptionList::of(config);
  for (const char* key : {"gate.control_rate", "gate.control_damping"}) {
    options.retire(key, "the price of an open unit follows from what the units are worth");
  }
  return options;
}

namespace {

// A table in the place of the configuration that names it.
void refuse_data(const std::filesystem::path& path) {
  constexpr std::array endings = {".csv", ".tsv", ".jsonl", ".gz", ".xz", ".zst", ".npz"};
  if (std::find(endings.begin(), endings.end(), path.extension()) == endings.end()) return;
  throw UserError(
      fmt::format("{} is data; what is wanted here is a configuration that names it, a text file such as\n"
                  "  [data]\n  source = \"csv\"\n  train = \"{}\"\n  label = \"the column to predict\"",
                  path.string(), path.filename().string()));
}

Config read(const Modalities& modalities, const std::filesystem::path& path, const std::vector<std::string>& assignments,
            bool of_a_run) {
  Config config;
  OptionList options = options_of(config);
  refuse_data(path);
  options.read_toml(path);
  if (drop_overruled_controls(config.gate, assignments)) options.find("gate.control").named = false;
  for (const std::string& assignment : assignments) options.set(assignment);
  drop_overruled_teacher(options, config, assignments);
  resolve_control(config.gate, options.named("gate.control"));
  if (config.data.source.empty()) {
    throw UserError(path.string() + ": data.source is missing: a catalogue name, or your own data (`l0gm data list` shows both)");
  }
  const Modality& modality = modality_of(modalities, config.data);
  if (of_a_run) set_what_was_before(modality, options, config);
  for (const Option& option : options.options()) {
    if (!option.named) config.left_open.push_back(option.key);
  }
  apply_defaults(modality, options, config);
  check_model_name(modality, config.model.name);
  for (const auto& [key, condition] : unread(modality, config)) {
    if (condition.refused) throw UserError(fmt::format("{} has no effect unless {}: remove it", key, needed_for(condition)));
  }
  if (config.gate.unit != UnitKind::none) Schedule check(config.schedule);
  check_pruning(config.prune, config.gate, config.schedule);
  if (config.gate.ranks_units() && config.gate.unit != UnitKind::none &&
      (config.schedule.kind == ScheduleKind::none || config.schedule.warmup <= 0)) {
    throw UserError(
        "gate.logits = static ranks the units during warm-up: it needs schedule.kind = anneal and schedule.warmup above 0");
  }
  return config;
}

}  // namespace

Config read_config(const Modalities& modalities, const std::filesystem::path& path, const std::vector<std::string>& assignments) {
  return read(modalities, path, assignments, false);
}

Config read_run_config(const Modality& modality, const std::filesystem::path& path) { return read({&modality}, path, {}, true); }

std::string options_page(const Modalities& modalities) {
  Config defaults;
  std::string page =
      "# Options\n\nEvery option of a configuration file; `--set section.option=value` overrides it on the command line.\n"
      "Paths in a file are relative to the file's folder, those of `--set` to the working folder; a run's `config.toml` holds "
      "them "
      "absolute.\n"
      "This page is the output of `l0gm options`.\n" +
      OptionList::of(defaults).markdown();
  for (const Modality* modality : modalities) {
    if (modality->defaults().empty() && modality->resolved_defaults().empty()) continue;
    page += fmt::format(
        "\n## Defaults of a {}\n\nWhere `data.source` is a {}, these defaults stand in place of those above:\n\n"
        "| option | default |\n|---|---|\n",
        modality->name(), modality->name());
    for (const auto& [key, value] : modality->defaults()) page += fmt::format("| `{}` | `{}` |\n", key, value);
    for (const std::string& row : modality->resolved_defaults()) page += row + "\n";
  }
  return page;
}

std::vector<std::string> unread_options(const Modality& modality, Config config) {
  std::vector<std::string> sentences;
  for (const auto& [key, condition] : unread(modality, config)) {
    sentences.push_back(fmt::format("{} has no effect here: it is read for {} only", key, reader_of(condition)));
  }
  return sentences;
}

std::string to_toml(Config config) { return OptionList::of(config).toml(); }

}  // namespace l0gm
