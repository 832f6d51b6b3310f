#include "study/paper.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "l0gm/error.h"
#include "study/peer_cells.h"

namespace l0gm {

namespace {

using Settings = std::vector<std::string>;

Settings with(Settings settings, const Settings& further) {
  settings.insert(settings.end(), further.begin(), further.end());
  return settings;
}

const Settings without_gate = {"gate.unit=none"};

Settings gate_of(const PaperPlan& plan) { return {"gate.target_active=" + shortest(plan.target)}; }

// What all lines of a table have.
Settings common_settings(const Settings& common, const PaperPlan& plan, const PaperOptions& options) {
  return options.quick ? with(common, plan.quick) : common;
}

// "": the encoder that the configuration starts from is there, or it starts from none. Else what would run the line.
std::string absent_weights(const Config& config, const Settings& settings) {
  const std::filesystem::path folder = config.encoder.path;
  std::error_code ignored;
  if (folder.empty() || std::filesystem::is_directory(folder, ignored)) return "";
  const auto names_it = [](const std::string& setting) { return setting.starts_with("encoder.path="); };
  Settings wanted = settings;
  if (std::none_of(settings.begin(), settings.end(), names_it))
    wanted.insert(wanted.begin(), "encoder.path=weights/" + folder.filename().string());
  return fmt::format("weights not at hand: no folder {} in $L0GM_WEIGHTS, nor in weights/; would be run by --set {}",
                     folder.filename().string(), join(wanted, " --set "));
}

// Makes lines; what the configuration refuses becomes a line that says why it is missing.
class LineMaker {
 public:
  LineMaker(const RunCells& runs, const PaperPlan& plan, const PaperOptions& options, const Settings& common)
      : runs_(runs), plan_(plan), options_(options), common_(common_settings(common, plan, options)) {}

  PaperLine line(const std::string& name, const std::string& row, const Settings& settings, Perturbed perturbed,
                 bool serve = false) const {
    const bool perturb = perturbed != Perturbed::no;
    if (perturbed == Perturbed::kept && !plan_.keep_perturbed) perturbed = Perturbed::figures;
    PaperLine line{name, row, {}, {}, {}, left_out(name), perturb};
    if (!line.missing.empty()) return line;
    try {
      const Settings all = with_weights_folder(with(common_, settings));
      line.missing = absent_weights(runs_.config(all, 0), settings);
      for (int64_t seed = 0; line.missing.empty() && seed < options_.seeds; ++seed) {
        StudyCell cell = runs_.cell(fmt::format("{}, seed {}", name, seed), all, seed);
        judge_on_test_rows(cell, perturbed);  // on the rows as they are as well
        line.cells.push_back(cell);
        if (serve) line.served.push_back(serving_cell(cell));
      }
    } catch (const UserError& error) {
      line = {name, row, {}, {}, {}, error.what(), perturb};
    }
    return line;
  }

  PaperLine peer(const std::string& name, const std::string& peer_name, const Settings& settings = {}) const {
    Peer peer = peer_named(peer_name);
    peer.flags = with(peer.flags, plan_.peer_flags);
    PaperLine line{name, name, {}, {}, {}, left_out(name), true};
    if (!line.missing.empty()) return line;
    if (!options_.programs) {
      line.missing = why_missing(peer.modules, options_.programs);
      return line;
    }
    for (int64_t seed = 0; seed < options_.seeds; ++seed) {
      const StudyCell rows = runs_.rows({}, seed, true);  // whatever model of ours is beside it
      StudyCell cell = peer_cell(fmt::format("{}, seed {}", name, seed), peer, settings, rows, seed, *options_.programs);
      judge_peer_on_test_rows(cell, true);
      std::erase_if(cell.steps, [](const Step& step) { return step.name == "test"; });
      line.rows.push_back(rows);
      line.cells.push_back(cell);
    }
    line.missing = what_is_lacking(line.cells, peer, *options_.programs, runs_.folder());
    if (line.missing.empty()) return line;
    return {name, name, {}, {}, {}, line.missing, true};
  }

  Settings target() const { return gate_of(plan_); }
  Settings mask(const char* by) const { return with(target(), {"gate.logits=static", fmt::format("gate.static_by={}", by)}); }
  // A dense model that is trained first, loses its smallest units all at once, and is trained on.
  Settings pruned() const { return with(mask("magnitude"), {"schedule.warmup=0.49", "schedule.anneal_until=0.5"}); }
  // The same in rounds, evenly spread.
  Settings pruned_in_rounds() const {
    return with(mask("magnitude"), {"gate.static_rounds=5", "schedule.warmup=0.1", "schedule.anneal_until=0.5"});
  }
  Settings weights() const { return with(without_gate, {"prune.share=" + shortest(plan_.target)}); }
  // Found by one training, trained by another one from the weights after a twentieth of the steps.
  Settings ticket(const Settings& of) const {
    return with(with(of, {"prune.rewind=0.025"}), options_.quick ? Settings{} : plan_.ticket);
  }

 private:
  std::string left_out(const std::string& name) const {
    for (const LeftOut& line : plan_.left_out) {
      if (line.name == name) return "left out: " + line.why;
    }
    return "";
  }
  // Compaction proves parity first; then time is measured as the plan says.
  StudyCell serving_cell(const StudyCell& trained) const {
    const std::string run = "{cell:" + trained.key + "}/run", file = "{cell}/model.l0gm";
    StudyCell cell{trained.label + ", served", "", {}, {trained.key}};
    cell.key = key_of_text(fmt::format("served {} {}", trained.key, join(plan_.timing.command, " ")));
    cell.steps.push_back({"compact", {"{l0gm}", "--json", "compact", run, "--out", file}});
    Step time{"latency", {"{l0gm}", "--json"}};
    for (const std::string& word : plan_.timing.command)
      time.words.push_back(word == "{run}" ? run : word == "{file}" ? file : word);
    cell.steps.push_back(std::move(time));
    return cell;
  }

  const RunCells& runs_;
  const PaperPlan& plan_;
  const PaperOptions& options_;
  Settings common_;
};

PaperLine missing_line(const std::string& name, const std::string& why) { return {name, "", {}, {}, {}, why, true}; }

// Q1 and Q2: dense backbones, peers, the gate and its controls. Lines whose robustness is compared keep what they predicted.
PaperTable comparison(const std::string& id, const std::string& title, const LineMaker& make, const PaperPlan& plan, bool serve) {
  PaperTable table{id, title, {}};
  for (const PlannedLine& backbone : plan.backbones)
    table.lines.push_back(make.line(backbone.name, backbone.name, with(backbone.settings, without_gate), Perturbed::kept, serve));
  for (const auto& [name, peer] : plan.peers) table.lines.push_back(make.peer(name, peer));
  table.lines.push_back(make.line("gate", "Ours", make.target(), Perturbed::kept, serve));
  table.lines.push_back(make.line("the same, dense", "", without_gate, Perturbed::figures, serve));
  table.lines.push_back(make.line("random mask of that size", "", make.mask("random"), Perturbed::figures));
  table.lines.push_back(make.line("magnitude mask of that size", "", make.mask("magnitude"), Perturbed::figures));
  if (!plan.narrow.empty())
    table.lines.push_back(make.line("narrower dense", "", with(without_gate, plan.narrow), Perturbed::figures));
  return table;
}

// What else makes a model small, at the same share: in Q1.
void add_generic_baselines(PaperTable& table, const LineMaker& make, const PaperPlan& plan) {
  const auto add = [&](const char* name, const Settings& settings) {
    table.lines.push_back(make.line(name, "", settings, Perturbed::figures));
  };
  add("interface pruned by magnitude, once", make.pruned());
  add("interface pruned by magnitude, 5 rounds", make.pruned_in_rounds());
  add("lottery ticket of the interface", make.ticket(make.pruned()));
  add("weights pruned by magnitude, once", make.weights());
  add("weights pruned by magnitude, 5 rounds", with(make.weights(), {"prune.rounds=5"}));
  add("lottery ticket of weights", make.ticket(make.weights()));
  for (const PlannedLine& line : plan.neurons) add(line.name.c_str(), with(make.target(), line.settings));
  for (const PlannedLine& line : plan.recommended) add(line.name.c_str(), line.settings);
}

void add_tuned(PaperTable& table, const LineMaker& make, const PaperPlan& plan) {
  for (const PlannedLine& line : plan.tuned) {
    table.lines.push_back(line.missing.empty() ? make.line(line.name, "", line.settings, Perturbed::figures)
                                               : missing_line(line.name, line.missing));
  }
  for (const PlannedPeer& line : plan.tuned_peers) {
    table.lines.push_back(line.missing.empty() ? make.peer(line.name, line.peer, line.settings)
                                               : missing_line(line.name, line.missing));
  }
}

PaperTable price_table(const LineMaker& make, const PaperPlan& plan) {
  PaperTable table{"f1", "F1: price of an open unit", {}};
  for (const double lambda : plan.lambdas) {
    const std::string name = fmt::format("lambda {}", shortest(lambda));
    table.lines.push_back(
        make.line(name, name, with({fmt::format("gate.lambda={}", shortest(lambda))}, plan.priced), Perturbed::no));
  }
  return table;
}

PaperTable annealing_table(const LineMaker& make) {
  return {"f2",
          "F2: annealing",
          {make.line("no annealing", "no annealing", with(make.target(), {"schedule.kind=none"}), Perturbed::no),
           make.line("annealing", "annealing", make.target(), Perturbed::no)}};
}

PaperTable coupling_table(const LineMaker& make, const PaperPlan& plan) {
  PaperTable table{"f3", "F3: calibration coupling (mmce, weight 0.3)", {}};
  for (const auto& [name, lambda] : {std::pair("moderate", plan.moderate), std::pair("high", plan.high)}) {
    const Settings price = with({fmt::format("gate.lambda={}", shortest(lambda))}, plan.priced);
    table.lines.push_back(make.line(name, name, price, Perturbed::no));
    table.lines.push_back(make.line(std::string(name) + ", coupled", std::string(name) + ", coupled",
                                    with(price, {"coupling.kind=mmce"}), Perturbed::no));
  }
  return table;
}

PaperTable ablation_table(const LineMaker& make) {
  const Settings target = make.target();
  return {"ablation",
          "Ablation",
          {make.line("dense", "dense", without_gate, Perturbed::no),
           make.line("static mask", "static mask", make.mask("gradient"), Perturbed::no),
           make.line("random mask", "", make.mask("random"), Perturbed::no),
           make.line("magnitude mask", "", make.mask("magnitude"), Perturbed::no),
           make.line("gate", "gate", target, Perturbed::no),
           make.line("instance", "", with(target, {"gate.logits=instance"}), Perturbed::no),
           make.line("group", "", with(target, {"gate.unit=group"}), Perturbed::no),
           make.line("fine", "fine", with(target, {"gate.unit=fine"}), Perturbed::no),
           make.line("at the input", "", with(target, {"gate.attach=input"}), Perturbed::no),
           make.line("no annealing", "no annealing", with(target, {"schedule.kind=none"}), Perturbed::no),
           make.line("coupled", "", with(target, {"coupling.kind=mmce"}), Perturbed::no)}};
}

}  // namespace

const std::vector<std::string>& paper_tables() {
  static const std::vector<std::string> tables = {"q1", "q2", "f1", "f2", "f3", "ablation"};
  return tables;
}

std::vector<std::string> standalone_settings(const PaperPlan& plan, const PaperOptions& options) {
  return common_settings(plan.standalone, plan, options);
}

std::vector<PlannedLine> lines_to_tune(const PaperPlan& plan) {
  std::vector<PlannedLine> lines = {{"gate", gate_of(plan)}};
  for (const PlannedLine& backbone : plan.backbones) lines.push_back({backbone.name, with(backbone.settings, without_gate)});
  lines.insert(lines.end(), plan.recommended.begin(), plan.recommended.end());
  return lines;
}

std::vector<PaperTable> paper_table_lines(const RunCells& runs, const PaperPlan& plan, const PaperOptions& options) {
  const LineMaker standalone(runs, plan, options, plan.standalone), integrated(runs, plan, options, plan.integrated),
      sensitivity(runs, plan, options, with(plan.standalone, plan.sensitivity));
  std::vector<PaperTable> tables;
  for (const std::string& id : options.tables) {
    if (id == "q1") {
      tables.push_back(comparison(id, "Q1: standalone, as trained", standalone, plan, false));
      add_generic_baselines(tables.back(), standalone, plan);
      add_tuned(tables.back(), standalone, plan);
    }
    if (id == "q2") tables.push_back(comparison(id, "Q2: integrated, judged as trained, timed apart", integrated, plan, true));
    if (id == "f1") tables.push_back(price_table(sensitivity, plan));
    if (id == "f2") tables.push_back(annealing_table(sensitivity));
    if (id == "f3") tables.push_back(coupling_table(sensitivity, plan));
    if (id == "ablation") tables.push_back(ablation_table(sensitivity));
  }
  return tables;
}

// A cell that is judged on perturbed copies is judged on the rows as they are by the same step; another table needs no step of
// its own for that.
std::vector<StudyCell> paper_cells(const std::vector<PaperTable>& tables, const std::vector<std::string>& lines) {
  std::vector<StudyCell> cells;
  for (const PaperTable& table : tables) {
    for (const PaperLine& line : table.lines) {
      if (!lines.empty() && std::find(lines.begin(), lines.end(), line.name) == lines.end()) continue;
      cells.insert(cells.end(), line.rows.begin(), line.rows.end());
      cells.insert(cells.end(), line.cells.begin(), line.cells.end());
    }
  }
  const auto has = [](const StudyCell& cell, const char* name) {
    return std::any_of(cell.steps.begin(), cell.steps.end(), [&](const Step& step) { return step.name == name; });
  };
  std::set<std::string> perturbed;
  for (const StudyCell& cell : cells) {
    if (has(cell, "perturbed")) perturbed.insert(cell.key);
  }
  for (StudyCell& cell : cells) {
    if (perturbed.contains(cell.key)) std::erase_if(cell.steps, [](const Step& step) { return step.name == "test"; });
  }
  return cells;
}

std::vector<StudyCell> paper_timings(const std::vector<PaperTable>& tables) {
  std::vector<StudyCell> cells;
  for (const PaperTable& table : tables) {
    for (const PaperLine& line : table.lines) {
      if (line.served.empty()) continue;
      cells.insert(cells.end(), line.cells.begin(), line.cells.end());  // what they need is of the list as well
      cells.insert(cells.end(), line.served.begin(), line.served.end());
    }
  }
  return cells;
}

}  // namespace l0gm
