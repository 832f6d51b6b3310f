#include "study/crossval.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "l0gm/error.h"
#include "study/line.h"
#include "study/markdown.h"

namespace l0gm {

namespace {

constexpr const char* not_figures[] = {"rows", "unlabelled_rows", "classes",
                                       "seed"};  // numbers of an evaluation that measure nothing

// The numbers of an evaluation by name; those of calibration's details and of single rows are not among them.
std::map<std::string, double> numbers_of(const Evaluation& evaluation) {
  std::map<std::string, double> out;
  const nlohmann::json json = evaluation.to_json();  // a copy: items() of a temporary would dangle
  for (const auto& [name, value] : json.items()) {
    if (!value.is_number() || std::find(std::begin(not_figures), std::end(not_figures), name) != std::end(not_figures)) continue;
    out[name] = value.get<double>();
  }
  return out;
}

// Of the rows that are dealt.
double share_held_out(const CrossvalOptions& options) { return 1.0 / static_cast<double>(options.folds); }

}  // namespace

std::vector<StudyCell> crossval_cells(const RunCells& runs, const CrossvalOptions& options) {
  std::vector<StudyCell> cells;
  for (int64_t repeat = 0; repeat < options.repeats; ++repeat) {
    for (int64_t fold = 0; fold < options.folds; ++fold) {
      const std::vector<std::string> assignments = {fmt::format("data.split.folds={}", options.folds),
                                                    fmt::format("data.split.fold={}", fold),
                                                    fmt::format("data.split.fold_seed={}", repeat)};
      const int64_t seed = repeat * options.folds + fold;  // of the training: its chance is part of what a figure varies by
      StudyCell cell = runs.cell(fmt::format("fold {}{}", fold, options.repeats > 1 ? fmt::format(" of deal {}", repeat) : ""),
                                 assignments, seed);
      judge_on_test_rows(cell, Perturbed::no);  // of such a run these are the rows of the fold
      cells.push_back(std::move(cell));
    }
  }
  return cells;
}

CrossvalResult crossval_result(const RunCells& runs, const CrossvalOptions& options, const StudyFolder& folder) {
  CrossvalResult result;
  result.wanted = options.folds * options.repeats;
  std::vector<std::vector<std::string>> choices;
  for (const StudyCell& cell : crossval_cells(runs, options)) {
    if (!folder.done(cell)) continue;
    const Evaluation evaluation = folder.evaluation(cell.key, "test");
    result.nouns = evaluation.nouns;
    if (evaluation.inputs) {
      result.columns = evaluation.inputs->columns;
      std::vector<std::string>& names = choices.emplace_back();
      for (const OpenInput& input : evaluation.inputs->open) names.push_back(input.name);
    }
    for (const auto& [name, value] : numbers_of(evaluation)) result.values[name].push_back(value);
    result.evaluations.push_back(evaluation);
  }
  if (result.evaluations.size() < 2) {
    throw UserError(
        fmt::format("{} of {} folds are done: an interval wants two at least", result.evaluations.size(), result.wanted));
  }
  std::erase_if(result.values, [&](const auto& item) { return item.second.size() != result.evaluations.size(); });
  const double held_out = share_held_out(options), trained = (1 - held_out) * (1 - runs.config({}, 0).data.split.valid);
  for (const auto& [name, values] : result.values) result.figures[name] = cross_validation_interval(values, held_out, trained);
  result.inputs = stability_of(choices, result.columns);
  return result;
}

nlohmann::json CrossvalResult::to_json(const CrossvalOptions& options) const {
  const auto finite = [](double value) { return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(); };
  nlohmann::json json = {{"folds", options.folds},
                         {"repeats", options.repeats},
                         {"runs", evaluations.size()},
                         {"wanted", wanted}};
  for (const auto& [name, interval] : figures) {
    json["figures"][name] = {{"mean", finite(interval.mean)},
                             {"low", finite(interval.low)},
                             {"high", finite(interval.high)},
                             {"values", values.at(name)}};
  }
  json["interval"] = "95 %, Student's t with the variance of Nadeau and Bengio: (1/runs + held out / trained) s^2";
  json["inputs"] = {{"columns", columns}, {"open_in_runs", inputs.times}, {"agreement", finite(inputs.agreement)}};
  return json;
}

std::string CrossvalResult::markdown() const {
  std::vector<std::vector<std::string>> rows;
  const std::pair<const char*, const char*> shown[] = {{"accuracy", "accuracy"},
                                                       {"auc", "AUC"},
                                                       {"macro_f1", "macro-F1"},
                                                       {"nll", "NLL"},
                                                       {"brier", "Brier"},
                                                       {evaluations[0].summary.classes == 2 ? "ece_binary" : "ece", "ECE"},
                                                       {"nll_scaled", "NLL calibrated"},
                                                       {evaluations[0].summary.classes == 2 ? "ece_binary_scaled" : "ece_scaled",
                                                        "ECE calibrated"},
                                                       {"active_fraction", "active share"},
                                                       {"open_units", "open units"},
                                                       {"projected_units", "projected units"},
                                                       {"parameters", "parameters"}};
  for (const auto& [key, name] : shown) {
    const auto found = figures.find(key);
    if (found == figures.end()) continue;
    const MeanInterval& f = found->second;
    const std::vector<double>& all = values.at(key);
    const bool whole = std::all_of(all.begin(), all.end(), [](double value) { return value == std::round(value); });
    const int digits = whole ? 1 : 4;
    rows.push_back({name, figure_text(f.mean, digits), figure_text(f.low, digits), figure_text(f.high, digits),
                    figure_text(f.deviation, digits), figure_text(*std::min_element(all.begin(), all.end()), digits),
                    figure_text(*std::max_element(all.begin(), all.end()), digits)});
  }
  std::string text =
      fmt::format("{} of {} folds x repeats, judged on the {} that each was trained without.\n\n{}\n", evaluations.size(), wanted,
                  nouns.rows, markdown_table({"figure", "mean", "95 % from", "to", "deviation", "least", "most"}, rows));
  text +=
      "The interval is about models trained on as many rows; folds share training rows, which is allowed for (Nadeau and "
      "Bengio).\n";
  const auto failed =
      std::count_if(evaluations.begin(), evaluations.end(), [](const Evaluation& e) { return e.facts && !e.facts->converged; });
  if (failed > 0) text += fmt::format("{} of the runs did NOT CONVERGE.\n", failed);
  if (inputs.times.empty()) return text;
  std::vector<std::pair<int64_t, std::string>> often;
  for (const auto& [name, times] : inputs.times) often.emplace_back(-times, name);
  std::sort(often.begin(), often.end());
  std::vector<std::string> names;
  for (const auto& [times, name] : often) names.push_back(fmt::format("{} {}", name, -times));
  text += fmt::format("\n{} that are read, and in how many of {} runs: {}\n", nouns.columns, evaluations.size(),
                      list_some(names, 60));
  text += fmt::format("agreement of the choices (1: always the same, 0: as by chance): {}\n", figure_text(inputs.agreement, 2));
  return text;
}

}  // namespace l0gm
