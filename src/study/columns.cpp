#include "study/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"
#include "l0gm/error.h"
#include "study/markdown.h"

namespace l0gm {

namespace {

constexpr double as_good = 1.002;  // times the least loss of a row of the table
constexpr const char* by_gate = "gate";
const std::vector<std::string> modules_of_selectors = {"numpy", "pandas", "scipy", "sklearn", "lightgbm"};  // peers/columns.py
constexpr int64_t data_seed = 0;  // of every run: a seed may choose among a dataset's splits, and repeats are folds of one

std::string joined_sizes(const std::vector<int64_t>& sizes) {
  std::vector<std::string> texts;
  for (const int64_t size : sizes) texts.push_back(std::to_string(size));
  return join(texts, ",");
}

double mean_loss(const std::vector<double>& losses) {
  return losses.empty() ? undefined_figure
                        : std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(losses.size());
}

}  // namespace

std::vector<std::string> ColumnStudy::fold_settings(int64_t repeat) const {
  return {fmt::format("data.split.folds={}", options_.folds), fmt::format("data.split.fold={}", repeat)};
}

StudyCell ColumnStudy::gate_cell(int64_t repeat, int64_t size) const {
  std::vector<std::string> settings = fold_settings(repeat);
  settings.insert(settings.end(), {"gate.unit=group", fmt::format("gate.k={}", size), "train.quality=" + options_.quality});
  return runs_.cell(fmt::format("gate, {} columns, repeat {}", size, repeat), settings, data_seed);
}

StudyCell ColumnStudy::selectors_cell(int64_t repeat, const StudyCell& rows) const {
  const std::string script = (options_.programs->scripts / "columns.py").string(), sizes = joined_sizes(options_.sizes);
  StudyCell cell{fmt::format("selectors, repeat {}", repeat), "", {}, {rows.key}};
  cell.key = key_of_text(fmt::format("choose {} {} {}", rows.key, sizes, sha256_file(script)));
  cell.steps.push_back({"chosen",
                        {options_.programs->python.string(), script, "choose", "{cell:" + rows.key + "}/data", "--sizes", sizes,
                         "--seed", std::to_string(repeat), "--threads", "{threads}"}});
  return cell;
}

StudyCell ColumnStudy::lightgbm_cell(const Set& set, const StudyCell& rows) const {
  const std::string script = (options_.programs->scripts / "columns.py").string(), names = nlohmann::json(set.names).dump();
  StudyCell cell{fmt::format("LightGBM on {} columns of {}, repeat {}", set.size, set.selector, set.repeat), "", {}, {rows.key}};
  cell.key = key_of_text(fmt::format("judge {} {} {}", rows.key, names, sha256_file(script)));
  cell.steps.push_back({"judged",
                        {options_.programs->python.string(), script, "judge", "{cell:" + rows.key + "}/data", "--columns", names,
                         "--seed", std::to_string(set.repeat), "--threads", "{threads}"}});
  return cell;
}

StudyCell ColumnStudy::dense_cell(const Set& set, const std::vector<std::string>& all) const {
  std::vector<std::string> settings = fold_settings(set.repeat);
  std::map<std::string, std::string> types = runs_.config(settings, data_seed).data.types;  // what the user said of columns stays
  for (const std::string& name : all) {
    if (std::find(set.names.begin(), set.names.end(), name) == set.names.end()) types[name] = "ignore";
  }
  std::vector<std::string> listed;
  for (const auto& [name, type] : types) listed.push_back(nlohmann::json(name).dump() + " = " + nlohmann::json(type).dump());
  settings.insert(settings.end(), {"gate.unit=none", "train.quality=" + options_.judge_quality,
                                   fmt::format("data.types={{ {} }}", join(listed, ", "))});
  StudyCell cell = runs_.cell(fmt::format("our model on {} columns of {}, repeat {}", set.size, set.selector, set.repeat),
                              settings, data_seed);
  judge_on_test_rows(cell, Perturbed::no);  // of such a run these are the rows of the fold
  return cell;
}

std::vector<std::string> ColumnStudy::columns_of(const StudyCell& rows) const {
  const nlohmann::json split = nlohmann::json::parse(read_file(folder_.cell(rows.key) / "data" / "split.json"));
  std::vector<std::string> names = split.at("categorical").get<std::vector<std::string>>();
  for (const nlohmann::json& name : split.at("numeric")) names.push_back(name.get<std::string>());
  return names;
}

void ColumnStudy::compute(const std::vector<StudyCell>& cells, const Workers& workers) {
  outcome_.add(run_cells(cells, folder_, workers));
  cells_.insert(cells_.end(), cells.begin(), cells.end());
}

std::vector<ColumnStudy::Set> ColumnStudy::choose(const Workers& workers, ColumnsResult& result) {
  std::vector<StudyCell> rows;
  for (int64_t repeat = 0; repeat < options_.repeats; ++repeat)
    rows.push_back(runs_.rows(fold_settings(repeat), data_seed, false));
  compute(rows, workers);
  if (!folder_.done(rows[0])) throw UserError("the rows could not be written for other programs: this wants a table");
  result.columns = static_cast<int64_t>(columns_of(rows[0]).size());
  std::erase_if(options_.sizes, [&](int64_t size) { return size >= result.columns; });  // they leave nothing out
  if (options_.sizes.empty())
    throw UserError(fmt::format("--k: the table has {} columns, wanted a number below that", result.columns));
  std::vector<StudyCell> cells;
  for (int64_t repeat = 0; repeat < options_.repeats; ++repeat) {
    for (const int64_t size : options_.sizes) cells.push_back(gate_cell(repeat, size));
    if (options_.programs) cells.push_back(selectors_cell(repeat, rows[static_cast<size_t>(repeat)]));
  }
  cells.insert(cells.begin(), rows.begin(), rows.end());
  compute(cells, workers);
  std::vector<Set> sets;
  for (int64_t repeat = 0; repeat < options_.repeats; ++repeat) {
    for (const int64_t size : options_.sizes) {
      const StudyCell gate = gate_cell(repeat, size);
      if (!folder_.done(gate)) continue;
      Set& set = sets.emplace_back(Set{repeat, size, by_gate, {}});
      for (const OpenInput& input : folder_.evaluation(gate.key, "train").inputs.value_or(InputReport{}).open)
        set.names.push_back(input.name);
    }
    if (!options_.programs) continue;
    const StudyCell selectors = selectors_cell(repeat, rows[static_cast<size_t>(repeat)]);
    if (!folder_.done(selectors)) continue;
    const nlohmann::json chosen = folder_.result(selectors.key, "chosen");
    for (const auto& [selector, by_size] : chosen.items()) {
      for (const auto& [size, names] : by_size.items())
        sets.push_back({repeat, *parse_integer(size), selector, names.get<std::vector<std::string>>()});
    }
  }
  for (Set& set : sets) std::sort(set.names.begin(), set.names.end());
  return sets;
}

void ColumnStudy::judge(const std::vector<Set>& sets, const Workers& workers, ColumnsResult& result) {
  std::vector<StudyCell> cells, rows;
  for (int64_t repeat = 0; repeat < options_.repeats; ++repeat)
    rows.push_back(runs_.rows(fold_settings(repeat), data_seed, false));
  std::vector<std::pair<StudyCell, std::optional<StudyCell>>> judges;
  for (const Set& set : sets) {
    const StudyCell& of_repeat = rows[static_cast<size_t>(set.repeat)];
    judges.emplace_back(dense_cell(set, columns_of(of_repeat)),
                        options_.programs ? std::optional(lightgbm_cell(set, of_repeat)) : std::nullopt);
    cells.push_back(judges.back().first);
    if (judges.back().second) cells.push_back(*judges.back().second);
  }
  cells.insert(cells.begin(), rows.begin(), rows.end());
  compute(cells, workers);
  for (size_t i = 0; i < sets.size(); ++i) {
    const Set& set = sets[i];
    result.chosen[set.size][set.selector].push_back(set.names);
    const auto& [dense, lightgbm] = judges[i];
    if (folder_.done(dense))
      result.losses["our dense model"][set.size][set.selector].push_back(folder_.evaluation(dense.key, "test").summary.raw.nll);
    if (lightgbm && folder_.done(*lightgbm)) {
      result.losses["LightGBM"][set.size][set.selector].push_back(
          folder_.result(lightgbm->key, "judged").at("nll").get<double>());
    }
  }
}

ColumnsResult ColumnStudy::run(const Workers& workers) {
  ColumnsResult result;
  if (const std::string missing = why_missing(modules_of_selectors, options_.programs); !missing.empty()) {
    result.missing.push_back("selectors and the judge LightGBM: " + missing);
    options_.programs.reset();
  }
  const std::vector<Set> sets = choose(workers, result);
  judge(sets, workers, result);
  return result;
}

nlohmann::json ColumnsResult::to_json() const {
  nlohmann::json json = {{"columns", columns}, {"missing", missing}};
  for (const auto& [judge, by_size] : losses) {
    for (const auto& [size, by_selector] : by_size) json["nll"][judge][std::to_string(size)] = by_selector;
  }
  for (const auto& [size, by_selector] : chosen) {
    json["chosen"][std::to_string(size)] = by_selector;
    for (const auto& [selector, sets] : by_selector) {
      const double agreement = stability_of(sets, columns).agreement;
      json["agreement"][std::to_string(size)][selector] = std::isfinite(agreement) ? nlohmann::json(agreement) : nlohmann::json();
    }
  }
  return json;
}

std::string ColumnsResult::markdown() const {
  std::string text = fmt::format(
      "NLL on held-out rows of models that were trained on the chosen columns alone, {} columns in all; mean over repeats.\n",
      columns);
  for (const auto& [judge, by_size] : losses) {
    std::vector<std::string> head = {fmt::format("judged by {}", judge)}, selectors;
    for (const auto& [selector, unused] : by_size.begin()->second) selectors.push_back(selector);
    std::stable_partition(selectors.begin(), selectors.end(), [](const std::string& name) { return name == by_gate; });
    head.insert(head.end(), selectors.begin(), selectors.end());
    std::vector<std::vector<std::string>> rows;
    std::map<std::string, int64_t> close;
    for (const auto& [size, by_selector] : by_size) {
      double least = std::numeric_limits<double>::infinity();
      for (const auto& [selector, found] : by_selector) least = std::min(least, mean_loss(found));
      std::vector<std::string> row = {fmt::format("{} columns", size)};
      for (const std::string& selector : selectors) {
        const auto found = by_selector.find(selector);
        const double loss = found == by_selector.end() ? undefined_figure : mean_loss(found->second);
        close[selector] += loss <= as_good * least ? 1 : 0;
        row.push_back(loss == least ? "**" + figure_text(loss) + "**" : figure_text(loss));
      }
      rows.push_back(row);
    }
    std::vector<std::string> last = {"best or within .2 %"};
    for (const std::string& selector : selectors) last.push_back(fmt::format("{} of {}", close[selector], by_size.size()));
    rows.push_back(last);
    text += "\n" + markdown_table(head, rows);
  }
  text += "\nThe gate's columns, and in how many repeats:\n\n";
  for (const auto& [size, by_selector] : chosen) {
    const auto sets = by_selector.find(by_gate);
    if (sets == by_selector.end()) continue;
    std::vector<std::string> names;
    const Stability found = stability_of(sets->second, columns);
    for (const auto& [name, times] : found.times) names.push_back(fmt::format("{} {}", name, times));
    text += fmt::format("- {}: {} (agreement {})\n", size, list_some(names, 30), figure_text(found.agreement, 2));
  }
  for (const std::string& what : missing) text += "\nMissing: " + what + "\n";
  return text;
}

}  // namespace l0gm
