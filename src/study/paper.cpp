#include "study/paper.h"

#include <fmt/format.h>

#include <algorithm>

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

// Makes lines; what the configuration refuses becomes a line that says why it is missing.
class LineMaker {
 public:
  LineMaker(const RunCells& runs, const PaperPlan& plan, const PaperOptions& options, Settings common)
      : runs_(runs), plan_(plan), options_(options), common_(std::move(common)) {
    if (options.quick) common_ = with(common_, plan.quick);
  }

  PaperLine line(const std::string& name, const std::string& row, const Settings& settings, bool perturb,
                 bool serve = false) const {
    PaperLine line{name, row, {}, {}, {}, "", perturb};
    try {
      for (int64_t seed = 0; seed < options_.seeds; ++seed) {
        StudyCell cell = runs_.cell(fmt::format("{}, seed {}", name, seed), with(common_, settings), seed);
        judge_on_test_rows(cell, false);
        if (perturb) judge_on_test_rows(cell, true);
        line.cells.push_back(cell);
        if (serve) line.served.push_back(serving_cell(cell));
      }
    } catch (const UserError& error) {
      line = {name, row, {}, {}, {}, error.what(), perturb};
    }
    return line;
  }

  PaperLine peer(const std::string& name, const std::string& peer_name) const {
    PaperLine line{name, name, {}, {}, {}, "", true};
    if (!options_.programs) {
      line.missing = "not installed: peers/setup makes the environment";
      return line;
    }
    for (int64_t seed = 0; seed < options_.seeds; ++seed) {
      const StudyCell rows = runs_.rows(common_, seed, true);
      StudyCell cell =
          peer_cell(fmt::format("{}, seed {}", name, seed), peer_named(peer_name), {}, rows, seed, *options_.programs);
      cell.steps.push_back({"test", {"{l0gm}", "--json", "eval", "{cell}/run", "--split", "test"}});
      cell.steps.push_back({"perturbed", {"{l0gm}", "--json", "eval", "{cell}/run", "--split", "test", "--perturb"}});
      line.rows.push_back(rows);
      line.cells.push_back(cell);
    }
    return line;
  }

  Settings target() const { return {fmt::format("gate.target_active={}", shortest(plan_.target))}; }
  // A dense model that is trained first, loses its smallest units all at once, and is trained on.
  Settings pruned() const { return with(mask("magnitude"), {"schedule.warmup=0.59", "schedule.anneal_until=0.6"}); }
  Settings mask(const char* by) const { return with(target(), {"gate.logits=static", fmt::format("gate.static_by={}", by)}); }

 private:
  // Compaction proves parity first; then the file is timed, a row alone and in batches.
  static StudyCell serving_cell(const StudyCell& trained) {
    StudyCell cell{trained.label + ", served", key_of_text("served " + trained.key), {}, {trained.key}};
    cell.steps.push_back(
        {"compact", {"{l0gm}", "--json", "compact", "{cell:" + trained.key + "}/run", "--out", "{cell}/model.l0gm"}});
    cell.steps.push_back(
        {"latency", {"{l0gm}", "--json", "bench", "latency", "{cell}/model.l0gm", "--batch", "1,1024", "--threads", "1"}});
    return cell;
  }

  const RunCells& runs_;
  const PaperPlan& plan_;
  const PaperOptions& options_;
  Settings common_;
};

const Settings without_gate = {"gate.unit=none"};

// Q1 and Q2: dense backbones, peers, the gate and its controls.
PaperTable comparison(const std::string& id, const std::string& title, const LineMaker& make, const PaperPlan& plan, bool serve) {
  PaperTable table{id, title, {}};
  for (const PlannedLine& backbone : plan.backbones)
    table.lines.push_back(make.line(backbone.name, backbone.name, with(backbone.settings, without_gate), true, serve));
  for (const auto& [name, peer] : plan.peers) table.lines.push_back(make.peer(name, peer));
  for (const PlannedLine& missing : plan.missing) {
    table.lines.push_back({missing.name,
                           missing.name,
                           {},
                           {},
                           {},
                           fmt::format("weights not at hand; would be run by --set {}", join(missing.settings, " --set ")),
                           true});
  }
  table.lines.push_back(make.line("gate", "Ours", make.target(), true, serve));
  table.lines.push_back(make.line("the same, dense", "", without_gate, true, serve));
  table.lines.push_back(make.line("random mask of that size", "", make.mask("random"), true));
  table.lines.push_back(make.line("magnitude mask of that size", "", make.mask("magnitude"), true));
  table.lines.push_back(make.line("pruned by magnitude, once", "", make.pruned(), true));
  if (!plan.narrow.empty()) table.lines.push_back(make.line("narrower dense", "", with(without_gate, plan.narrow), true));
  return table;
}

PaperTable price_table(const LineMaker& make, const PaperPlan& plan) {
  PaperTable table{"f1", "F1: price of an open unit", {}};
  for (const double lambda : plan.lambdas) {
    const std::string name = fmt::format("lambda {}", shortest(lambda));
    table.lines.push_back(make.line(name, name, {fmt::format("gate.lambda={}", shortest(lambda))}, false));
  }
  return table;
}

PaperTable annealing_table(const LineMaker& make) {
  return {"f2",
          "F2: annealing",
          {make.line("no annealing", "no annealing", with(make.target(), {"schedule.kind=none"}), false),
           make.line("annealing", "annealing", make.target(), false)}};
}

PaperTable coupling_table(const LineMaker& make, const PaperPlan& plan) {
  PaperTable table{"f3", "F3: calibration coupling (mmce, weight 0.3)", {}};
  for (const auto& [name, lambda] : {std::pair("moderate", plan.moderate), std::pair("high", plan.high)}) {
    const Settings price = {fmt::format("gate.lambda={}", shortest(lambda))};
    table.lines.push_back(make.line(name, name, price, false));
    table.lines.push_back(
        make.line(std::string(name) + ", coupled", std::string(name) + ", coupled", with(price, {"coupling.kind=mmce"}), false));
  }
  return table;
}

PaperTable ablation_table(const LineMaker& make) {
  const Settings target = make.target();
  return {"ablation",
          "Ablation",
          {make.line("dense", "dense", without_gate, false),
           make.line("static mask", "static mask", make.mask("gradient"), false),
           make.line("random mask", "", make.mask("random"), false),
           make.line("magnitude mask", "", make.mask("magnitude"), false), make.line("gate", "gate", target, false),
           make.line("instance", "", with(target, {"gate.logits=instance"}), false),
           make.line("group", "", with(target, {"gate.unit=group"}), false),
           make.line("fine", "fine", with(target, {"gate.unit=fine"}), false),
           make.line("at the input", "", with(target, {"gate.attach=input"}), false),
           make.line("no annealing", "no annealing", with(target, {"schedule.kind=none"}), false),
           make.line("coupled", "", with(target, {"coupling.kind=mmce"}), false)}};
}

}  // namespace

const std::vector<std::string>& paper_tables() {
  static const std::vector<std::string> tables = {"q1", "q2", "f1", "f2", "f3", "ablation"};
  return tables;
}

std::vector<PaperTable> paper_table_lines(const RunCells& runs, const PaperPlan& plan, const PaperOptions& options) {
  const LineMaker standalone(runs, plan, options, plan.standalone), integrated(runs, plan, options, plan.integrated);
  std::vector<PaperTable> tables;
  for (const std::string& id : options.tables) {
    if (id == "q1") tables.push_back(comparison(id, "Q1: standalone, as trained", standalone, plan, false));
    if (id == "q2") tables.push_back(comparison(id, "Q2: integrated, compacted, served by the runtime", integrated, plan, true));
    if (id == "f1") tables.push_back(price_table(standalone, plan));
    if (id == "f2") tables.push_back(annealing_table(standalone));
    if (id == "f3") tables.push_back(coupling_table(standalone, plan));
    if (id == "ablation") tables.push_back(ablation_table(standalone));
  }
  return tables;
}

std::vector<StudyCell> paper_cells(const std::vector<PaperTable>& tables) {
  std::vector<StudyCell> cells;
  for (const PaperTable& table : tables) {
    for (const PaperLine& line : table.lines) {
      cells.insert(cells.end(), line.rows.begin(), line.rows.end());
      cells.insert(cells.end(), line.cells.begin(), line.cells.end());
    }
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
