#include "training/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "data/catalogue.h"
#include "l0gm/error.h"
#include "l0gm/gate_control.h"

namespace l0gm {

namespace {

// The command line has the last word: naming one of the three ways to set the sparsity there drops what the file named.
bool drop_overruled_controls(GateOptions& gate, const std::vector<std::string>& assignments) {
  const auto assigned = [&](std::string_view key) {
    return std::any_of(assignments.begin(), assignments.end(),
                       [&](const std::string& assignment) { return trim(assignment.substr(0, assignment.find('='))) == key; });
  };
  const bool lambda = assigned("gate.lambda"), target = assigned("gate.target_active"), k = assigned("gate.k");
  if (!lambda && !target && !k) return false;
  if (!lambda) gate.lambda.reset();
  if (!target) gate.target_active.reset();
  if (!k) gate.k.reset();
  return true;
}

// What suits a graph differs from what suits a table: where nothing is named these values stand in place of the common defaults.
constexpr std::pair<const char*, const char*> graph_defaults[] = {
    {"model.name", "gcn"},   {"model.dropout", "0.5"},      {"model.interface_dropout", "0.5"},
    {"train.epochs", "300"}, {"train.lr", "0.001"},         {"train.weight_decay", "0.0001"},
    {"train.batch", "1024"}, {"train.evaluate_every", "5"}, {"train.checkpoint_every", "50"},
    {"train.ema", "0.98"}};

void apply_graph_defaults(OptionList& options, const Config& config) {
  for (const auto& [key, value] : graph_defaults) {
    if (!options.named(key)) options.set(std::string(key) + "=" + value);
  }
  // A head over few open channels has to grow while the encoder must not overfit.
  if (!options.named("train.head_lr"))
    options.set(fmt::format("train.head_lr={}", std::max(config.train.lr, std::min(10 * config.train.lr, 0.03))));
  // One draw for all nodes: noise for every node and attribute costs more than the rest of the step.
  if (config.gate.attach == Attach::input && !options.named("gate.noise")) options.set("gate.noise=batch");
}

}  // namespace

bool is_graph(const Config& config) { return catalogue_entry(config.data.source).modality == "graph"; }

Config read_config(const std::filesystem::path& path, const std::vector<std::string>& assignments) {
  Config config;
  OptionList options = OptionList::of(config);
  options.read_toml(path);
  if (drop_overruled_controls(config.gate, assignments)) options.find("gate.control").named = false;
  for (const std::string& assignment : assignments) options.set(assignment);
  settle_control(config.gate, options.named("gate.control"));
  if (config.data.source.empty()) {
    throw UserError(path.string() +
                    ": data.source is missing: a catalogue name (`l0gm data list`), csv or tsv for your own table, graph, ogb or "
                    "npz for your own graph");
  }
  if (is_graph(config)) apply_graph_defaults(options, config);
  if (config.distill.from.empty() && (options.named("distill.weight") || options.named("distill.temperature"))) {
    const DistillOptions defaults;
    if (config.distill.weight != defaults.weight || config.distill.temperature != defaults.temperature) {
      throw UserError("distill.weight and distill.temperature need distill.from, the run to learn from");
    }
  }
  if (config.gate.unit != UnitKind::none) Schedule check(config.schedule);
  const bool ranked = config.gate.logits == LogitKind::fixed && config.gate.static_by != StaticBy::random;
  if (ranked && config.gate.unit != UnitKind::none &&
      (config.schedule.kind == ScheduleKind::none || config.schedule.warmup <= 0)) {
    throw UserError(
        "gate.logits = static ranks the units during warm-up: it needs schedule.kind = anneal and schedule.warmup above 0");
  }
  return config;
}

std::string options_page() {
  Config defaults;
  std::string page =
      "# Options\n\nEvery option of a configuration file; `--set section.option=value` overrides it on the command line.\n"
      "This page is the output of `l0gm options`.\n" +
      OptionList::of(defaults).markdown();
  page +=
      "\n## Graphs\n\nWhere `data.source` is a graph, these defaults stand in place of those above:\n\n| option | default "
      "|\n|---|---|\n";
  for (const auto& [key, value] : graph_defaults) page += fmt::format("| `{}` | `{}` |\n", key, value);
  return page +
         "| `train.head_lr` | ten times `train.lr` up to `0.03`, at least `train.lr` |\n| `gate.noise` | `batch` where "
         "`gate.attach = input` |\n";
}

std::vector<std::string> unread_options(Config config) {
  const bool graph = is_graph(config), links = graph && config.graph.task == GraphTaskKind::links;
  const auto reader_of = [&](const std::string& key) -> std::string {  // empty: it is read
    const std::string section = key.substr(0, key.find('.'));
    if (graph && (section == "table" || section == "columns" || section == "fm" || section == "cin")) return "a table";
    if (!graph && (section == "graph" || section == "link")) return "a graph";
    if (section == "link" && !links) return "graph.task = links";
    const bool messages = config.model.name != ModelName::mlp;
    if ((key == "graph.drop_edge" || key == "graph.self_loops") && graph && !messages)
      return "models that pass messages (gcn, sage, gat)";
    if (key == "graph.aggregate" && config.model.name != ModelName::sage) return "model.name = sage";
    if ((key == "graph.heads" || key == "graph.attention_dropout") && config.model.name != ModelName::gat)
      return "model.name = gat";
    if (key == "graph.fanout" && config.graph.sampler != SamplerKind::neighbour) return "graph.sampler = neighbour";
    if (key == "graph.layer_nodes" && config.graph.sampler != SamplerKind::fastgcn) return "graph.sampler = fastgcn";
    if (key == "graph.walk_length" && config.graph.sampler != SamplerKind::saint_walk) return "graph.sampler = saint-walk";
    if (key == "graph.blocks" && config.gate.unit != UnitKind::group) return "gate.unit = group";
    return "";
  };
  std::vector<std::string> sentences;
  Config defaults;
  const OptionList standard = OptionList::of(defaults), given = OptionList::of(config);
  std::map<std::string, OptionValue> unset;
  for (const Option& option : standard.options()) unset[option.key] = option.value();
  for (const Option& option : given.options()) {
    if (const auto found = unset.find(option.key); found != unset.end() && found->second == option.value()) continue;
    if (const std::string reader = reader_of(option.key); !reader.empty()) {
      sentences.push_back(fmt::format("{} has no effect here: it is read for {} only", option.key, reader));
    }
  }
  return sentences;
}

std::string to_toml(Config config) { return OptionList::of(config).toml(); }

}  // namespace l0gm
