#include "training/table/table_teaching.h"

#include <fmt/format.h>

#include "base/log.h"
#include "l0gm/error.h"

namespace l0gm {

namespace {

constexpr const char* weight_of_dense_teacher = "0.7";

// What the teacher has different: the settings that a table without a gate would have, where nobody named them.
void settle_dense_teacher(Config& config, TableFacts facts, int64_t named_epochs) {
  facts.measures_columns = facts.gates_dimensions = false;
  facts.dense = true;
  Config dense = config;
  OptionList gated = OptionList::of(config), options = OptionList::of(dense);
  for (const auto& [key, value] : table_settings(facts, config.train.quality, named_epochs)) {
    if (!may_settle(config, key)) continue;
    const std::string name(key);
    options.set(fmt::format("{}={}", name, value));
    if (options.find(name).value() != gated.find(name).value()) config.distill.settings[name] = value;
  }
}

}  // namespace

bool may_be_taught(const Config& config) {
  return config.gate.unit == UnitKind::dimension && config.gate.attach == Attach::interface && config.is_open("model.name") &&
         config.distill.from.empty() && config.model.init_from.empty();
}

bool may_settle(const Config& config, std::string_view key) {
  return config.is_open(key) && (key != "model.name" || config.is_open("fm.weighted"));
}

void settle_teacher(Config& config, const TableFacts& facts, int64_t named_epochs, std::vector<std::string>& chosen) {
  if (config.distill.dense == DenseTeacher::automatic) {
    const bool taught = is_taught_by_dense_model(facts, config.train.quality);
    config.distill.dense = taught ? DenseTeacher::on : DenseTeacher::off;
    if (taught) chosen.push_back("distill.dense = on");
  }
  if (config.distill.dense == DenseTeacher::off) {
    if (config.distill.from.empty() && !config.distill.settings.empty()) {
      throw UserError(
          "distill.settings has no effect: no dense model is trained first here. Ask for one with distill.dense = on, or remove "
          "it.");
    }
    return;
  }
  if (!config.distill.from.empty()) throw UserError("distill.dense = on and distill.from: name one teacher.");
  if (facts.dense) {
    log_warning("distill.dense = on has no effect: there is no gate, and the model would be its own teacher");
    config.distill = {};  // nothing of a teacher is read
    config.distill.dense = DenseTeacher::off;
    return;
  }
  if (config.is_open("distill.weight")) OptionList::of(config).set(std::string("distill.weight=") + weight_of_dense_teacher);
  if (config.is_open("distill.settings")) settle_dense_teacher(config, facts, named_epochs);
}

}  // namespace l0gm
