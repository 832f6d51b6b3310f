#include "study/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/files.h"
#include "base/log.h"
#include "base/text.h"
#include "l0gm/error.h"
#include "study/markdown.h"
#include "study/peer_cells.h"

namespace l0gm {

namespace {

constexpr size_t shown_trials = 10;

void add_gate_axes(SearchSpace& space, const Config& config) {
  if (config.gate.unit == UnitKind::none) return;
  if (config.gate.control == ControlKind::lambda) {
    space.push_back(axis_of("gate.lambda", {"1e-4", "3e-4", "1e-3", "3e-3", "1e-2"}));
  }
  if (config.schedule.kind == ScheduleKind::anneal) {
    space.push_back(axis_of("schedule.warmup", {"0.05", "0.1", "0.2"}));
    space.push_back(axis_of("schedule.tau_end", {"0.5", "1.0", "2.0"}));
  }
  SearchAxis coupling{"coupling", {{"coupling.kind=none"}}};
  for (const char* weight : {"0.1", "0.3", "1.0"})
    coupling.values.push_back({"coupling.kind=mmce", fmt::format("coupling.weight={}", weight)});
  space.push_back(coupling);
}

}  // namespace

SearchSpace paper_space(const Config& config) {
  SearchSpace space = {axis_of("train.lr", {"1e-4", "3e-4", "1e-3"}),
                       axis_of("train.weight_decay", {"0", "1e-6", "1e-5", "1e-4"}),
                       axis_of("model.dropout", {"0", "0.05", "0.1", "0.15"}),
                       axis_of("train.batch", {"64", "128", "256", "512"})};
  add_gate_axes(space, config);
  return space;
}

SearchSpace wide_space(const Config& config) {
  SearchSpace space = {axis_of("train.lr", {"3e-4", "1e-3", "2e-3", "5e-3"}),
                       axis_of("train.weight_decay", {"0", "1e-4", "1e-2", "1e-1"}),
                       axis_of("model.dropout", {"0", "0.1", "0.2"}), axis_of("model.interface_dropout", {"0", "0.2", "0.4"}),
                       axis_of("train.batch", {"128", "256", "512"})};
  add_gate_axes(space, config);
  return space;
}

std::vector<Rung> rungs_of(int64_t budget, int64_t rungs, int64_t keep_one_of, int64_t epochs) {
  std::vector<Rung> out;
  const double of_each = static_cast<double>((budget - 1) * epochs) / static_cast<double>(rungs);
  for (int64_t k = 0; k < rungs; ++k) {
    const double share = std::pow(static_cast<double>(keep_one_of), static_cast<double>(k - rungs + 1));
    const int64_t shorter = std::max<int64_t>(1, std::llround(share * static_cast<double>(epochs)));
    out.push_back({static_cast<int64_t>(std::floor(of_each / static_cast<double>(shorter) + 1e-9)), shorter});
  }
  if (out.back().trials < 1) {
    throw UserError(
        fmt::format("--budget is {}: successive halving in {} rungs wants {} trainings at least", budget, rungs, rungs + 1));
  }
  return out;
}

std::vector<StudyCell> Tuner::trial_cells(const Trial& trial, const std::vector<std::string>& further,
                                          const std::string& label) const {
  std::vector<std::string> assignments = trial.settings;
  assignments.insert(assignments.end(), further.begin(), further.end());
  std::vector<StudyCell> cells;
  for (int64_t seed = 0; seed < options_.seeds; ++seed) {
    cells.push_back(runs_.cell(options_.seeds > 1 ? fmt::format("{}, seed {}", label, seed) : label, assignments, seed));
  }
  return cells;
}

Line Tuner::line_of(const Trial& trial, const std::vector<std::string>& further) const {
  std::vector<std::string> keys;
  for (const StudyCell& cell : trial_cells(trial, further, trial.name)) keys.push_back(cell.key);
  return read_line(trial.name, keys, folder_, "train");
}

void Tuner::compute(const std::vector<StudyCell>& cells, const Workers& workers) {
  if (!options_.only_read) outcome_.add(run_cells(cells, folder_, workers));
  cells_.insert(cells_.end(), cells.begin(), cells.end());
}

std::optional<size_t> Tuner::best_of(const std::vector<Line>& lines, bool gated) const {
  std::optional<size_t> best;
  const auto figure = [&](size_t i) { return lines[i].mean(options_.measure).mean; };
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].complete() || !std::isfinite(figure(i)) || (gated && lines[i].active_fraction() > options_.under + 1e-9))
      continue;
    const bool better = best && (larger_is_better(options_.measure) ? figure(i) > figure(*best) : figure(i) < figure(*best));
    if (!best || better) best = i;
  }
  return best;
}

// The trials that are left for full trainings.
std::vector<Trial> Tuner::halved(const Workers& workers, double& trainings) {
  // How long a full training is may follow from the data: the configuration as given says it.
  const Trial as_given = draw_trials(options_.space, 1, options_.draw_seed)[0];
  const std::vector<StudyCell> first = trial_cells(as_given, {}, as_given.name);
  rungs_of(options_.budget / options_.seeds, options_.rungs, options_.keep_one_of,
           1);  // a budget that is too small is refused before
  compute(first, workers);
  const std::filesystem::path config = folder_.run(first[0].key) / "config.toml";
  if (!std::filesystem::exists(config))
    throw UserError("the configuration as given could not be trained: there is nothing to compare with");
  const int64_t epochs = read_trained(config).train.epochs;
  const std::vector<Rung> rungs = rungs_of(options_.budget / options_.seeds, options_.rungs, options_.keep_one_of, epochs);
  std::vector<Trial> trials = draw_trials(options_.space, rungs[0].trials + 1, options_.draw_seed);
  trials.erase(trials.begin());
  trainings += static_cast<double>(options_.seeds);
  for (size_t r = 0; r + 1 < rungs.size(); ++r) {
    const std::vector<std::string> further = {fmt::format("train.epochs={}", rungs[r].epochs)};
    std::vector<StudyCell> cells;
    for (size_t t = 0; t < trials.size(); ++t) {
      const std::vector<StudyCell> of_trial = trial_cells(trials[t], further, fmt::format("rung {}, trial {}", r + 1, t + 1));
      cells.insert(cells.end(), of_trial.begin(), of_trial.end());
    }
    compute(cells, workers);
    trainings += static_cast<double>(trials.size() * static_cast<size_t>(options_.seeds)) * static_cast<double>(rungs[r].epochs) /
                 static_cast<double>(epochs);
    std::vector<std::pair<double, size_t>> order;
    for (size_t t = 0; t < trials.size(); ++t) {
      const Line line = line_of(trials[t], further);
      const double figure = line.complete() ? line.mean(options_.measure).mean : undefined_figure;
      if (std::isfinite(figure))  // gates of a short training may be open that a full one closes: --under is for the last round
        order.emplace_back(larger_is_better(options_.measure) ? -figure : figure, t);
    }
    std::sort(order.begin(), order.end());
    std::vector<Trial> left;
    for (size_t k = 0; k < order.size() && static_cast<int64_t>(k) < rungs[r + 1].trials; ++k)
      left.push_back(trials[order[k].second]);
    trials = left;
  }
  trials.insert(trials.begin(), as_given);
  return trials;
}

Config Tuner::read_trained(const std::filesystem::path& config) const { return read_config(runs_.modalities(), config, {}); }

TuneMethod Tuner::own(const Workers& workers) {
  TuneMethod out;
  out.name = "ours";
  const int64_t trials = options_.budget / options_.seeds;
  out.trials = options_.by == SearchBy::grid     ? grid_of(options_.space, trials)
               : options_.by == SearchBy::random ? draw_trials(options_.space, trials, options_.draw_seed)
                                                 : halved(workers, out.trainings);
  std::vector<StudyCell> cells;
  for (size_t t = 0; t < out.trials.size(); ++t) {
    const std::vector<StudyCell> of_trial = trial_cells(out.trials[t], {}, fmt::format("{}trial {}", options_.label, t));
    cells.insert(cells.end(), of_trial.begin(), of_trial.end());
  }
  compute(cells, workers);
  out.trainings +=
      static_cast<double>(cells.size() - (options_.by == SearchBy::halving ? static_cast<size_t>(options_.seeds) : 0));
  for (const Trial& trial : out.trials) out.lines.push_back(line_of(trial, {}));
  out.best = best_of(out.lines, true);
  return out;
}

TuneMethod Tuner::of_peer(const Peer& peer, const Workers& workers) {
  TuneMethod out;
  out.name = peer.name;
  if (!options_.programs) {
    out.missing = why_missing(peer.modules, options_.programs);
    return out;
  }
  out.trials = draw_trials(peer.space, options_.budget / options_.seeds, options_.draw_seed);
  std::vector<StudyCell> rows, cells;
  std::vector<std::vector<std::string>> keys(out.trials.size());
  for (int64_t seed = 0; seed < options_.seeds; ++seed) {
    rows.push_back(runs_.rows({}, seed, false));
    for (size_t t = 0; t < out.trials.size(); ++t) {
      cells.push_back(peer_cell(fmt::format("{}, trial {}, seed {}", peer.name, t, seed), peer, out.trials[t].settings,
                                rows.back(), seed, *options_.programs));
      keys[t].push_back(cells.back().key);
    }
  }
  out.missing = what_is_lacking(cells, peer, *options_.programs, folder_);
  if (!out.missing.empty()) {
    out.trials.clear();
    return out;
  }
  cells.insert(cells.begin(), rows.begin(), rows.end());
  compute(cells, workers);
  out.trainings = static_cast<double>(out.trials.size() * static_cast<size_t>(options_.seeds));
  for (size_t t = 0; t < out.trials.size(); ++t) out.lines.push_back(read_line(out.trials[t].name, keys[t], folder_, "train"));
  // A share that is active is ours alone.
  out.best = best_of(out.lines, false);
  return out;
}

TuneResult Tuner::run(const Workers& workers) {
  TuneResult result;
  if (options_.own) result.methods.push_back(own(workers));
  for (const Peer& peer : options_.peers) result.methods.push_back(of_peer(peer, workers));
  return result;
}

std::string Tuner::best_toml(const TuneResult& result) const {
  const TuneMethod& ours = result.methods[0];
  if (!ours.best) return "";
  const std::filesystem::path config = folder_.run(ours.lines[*ours.best].keys[0]) / "config.toml";
  if (std::filesystem::exists(config)) return read_file(config);
  log_warning(fmt::format("no best.toml is written: {} is not there; it comes with the best trial's run", config.string()));
  return "";
}

nlohmann::json TuneResult::to_json(const TuneOptions& options) const {
  nlohmann::json json = {{"by", name_of_enum(options.by)},
                         {"budget", options.budget},
                         {"measure", name_of_enum(options.measure)},
                         {"methods", nlohmann::json::array()}};
  for (const TuneMethod& method : methods) {
    nlohmann::json found = {{"name", method.name}, {"trainings", method.trainings}, {"trials", nlohmann::json::array()}};
    if (!method.missing.empty()) found["missing"] = method.missing;
    for (size_t t = 0; t < method.trials.size(); ++t) {
      found["trials"].push_back(method.lines[t].to_json());
      found["trials"].back()["settings"] = method.trials[t].settings;
    }
    found["best"] = method.best ? nlohmann::json(*method.best) : nlohmann::json();
    json["methods"].push_back(found);
  }
  return json;
}

std::string TuneResult::markdown(const TuneOptions& options) const {
  const std::string name(name_of_enum(options.measure));
  std::vector<std::vector<std::string>> rows;
  for (const TuneMethod& method : methods) {
    if (!method.best) {
      rows.push_back({method.name, figure_text(method.trainings, 1),
                      method.missing.empty() ? "no trial answers" : "missing: " + method.missing, "", ""});
      continue;
    }
    const auto given =
        std::find_if(method.lines.begin(), method.lines.end(), [](const Line& line) { return line.name == "as given"; });
    rows.push_back({method.name, figure_text(method.trainings, 1),
                    given == method.lines.end() ? "-" : figure_text(given->mean(options.measure).mean, 5),
                    figure_text(method.lines[*method.best].mean(options.measure).mean, 5), method.trials[*method.best].name});
  }
  std::string text =
      fmt::format("Validation rows; every method had {} trainings, by {} search{}.\n\n{}", options.budget,
                  name_of_enum(options.by), methods.size() > 1 && options.by != SearchBy::random ? " (peers: random)" : "",
                  markdown_table({"method", "trainings spent", name + " as given", name + " of the best", "its settings"}, rows));
  for (const TuneMethod& method : methods) {
    std::vector<std::pair<double, size_t>> order;
    for (size_t t = 0; t < method.lines.size(); ++t) {
      const double figure = method.lines[t].complete() ? method.lines[t].mean(options.measure).mean : undefined_figure;
      if (std::isfinite(figure)) order.emplace_back(larger_is_better(options.measure) ? -figure : figure, t);
    }
    std::sort(order.begin(), order.end());
    rows.clear();
    for (const auto& [figure, t] : order) {
      if (rows.size() == shown_trials) break;
      std::vector<std::string> row = {figure_text(std::abs(figure), 5)};
      for (const std::string& cell : gate_text(method.lines[t])) row.push_back(cell);
      row.push_back(method.trials[t].name);
      rows.push_back(row);
    }
    if (rows.empty()) continue;
    std::vector<std::string> head = {name};
    for (const std::string& cell : gate_head()) head.push_back(cell);
    head.emplace_back("settings");
    text += fmt::format("\nThe best trials of {}:\n\n{}", method.name, markdown_table(head, rows));
  }
  return text;
}

}  // namespace l0gm
