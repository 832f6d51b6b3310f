#include "study/compare_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "study/markdown.h"

namespace l0gm {

namespace {

constexpr std::string_view on_validation = "valid.";
constexpr std::array gate_columns = {"active", "open", "projected", "parameters"};  // in the order of gate_text()

std::optional<size_t> place_among_gates(std::string_view measure) {
  const auto found = std::find(gate_columns.begin(), gate_columns.end(), measure);
  return found == gate_columns.end() ? std::nullopt : std::optional(static_cast<size_t>(found - gate_columns.begin()));
}

// The number at a path; a list counts as how many it has.
std::optional<double> number_at(const nlohmann::json& json, std::string_view path) {
  if (path.empty()) {
    if (json.is_number()) return json.get<double>();
    return json.is_array() ? std::optional(static_cast<double>(json.size())) : std::nullopt;
  }
  if (!json.is_object()) return std::nullopt;
  const size_t dot = std::min(path.find('.'), path.size());
  const std::string_view name = path.substr(0, dot), rest = path.substr(std::min(dot + 1, path.size()));
  if (!name.ends_with('*')) {
    const auto found = json.find(std::string(name));
    return found == json.end() ? std::nullopt : number_at(*found, rest);
  }
  double sum = 0;
  int64_t count = 0;
  for (const auto& [key, value] : json.items()) {
    if (!key.starts_with(name.substr(0, name.size() - 1))) continue;
    const auto number = number_at(value, rest);
    if (!number) return std::nullopt;
    sum += *number;
    ++count;
  }
  return count == 0 ? std::nullopt : std::optional(sum / static_cast<double>(count));
}

std::optional<double> figure_named(const Evaluation& evaluation, std::string_view measure) {
  const auto defined = [](double value) { return std::isfinite(value) ? std::optional(value) : std::nullopt; };
  if (measure == "ece") return defined(evaluation.summary.main_ece().value);
  if (measure == "ece_scaled") return defined(evaluation.summary.main_ece_calibrated().value);
  static const std::map<std::string_view, std::string_view> longer = {{"active", "active_fraction"},
                                                                      {"open", "open_units"},
                                                                      {"projected", "projected_units"}};
  const auto found = longer.find(measure);
  return number_at(evaluation.to_json(), found == longer.end() ? measure : found->second);
}

const Line& line_judged(const ComparedResult& result, std::string_view& measure) {
  if (!measure.starts_with(on_validation)) return result.judged;
  measure.remove_prefix(on_validation.size());
  return result.valid;
}

double mean_figure(const std::vector<double>& figures) {
  return figures.empty() ? undefined_figure : seed_interval(figures).mean;
}

// Ranks of one row, from 1; equal figures share the mean of theirs.
std::vector<double> ranks_of(const std::vector<double>& figures, bool larger) {
  std::vector<double> ranks;
  for (const double figure : figures) {
    const auto ahead = std::count_if(figures.begin(), figures.end(),
                                     [&](double other) { return larger ? other > figure : other < figure; });
    const auto equal = std::count(figures.begin(), figures.end(), figure);
    ranks.push_back(static_cast<double>(ahead) + static_cast<double>(equal + 1) / 2);
  }
  return ranks;
}

}  // namespace

std::vector<double> figures_of(const ComparedResult& result, const std::string& measure) {
  if (measure == "seconds") return result.seconds;
  std::string_view name = measure;
  std::vector<double> out;
  for (const Evaluation& evaluation : line_judged(result, name).evaluations) {
    if (const auto figure = figure_named(evaluation, name)) out.push_back(*figure);
  }
  return out;
}

std::string measure_head(const std::string& measure) {
  if (measure.starts_with(on_validation)) return "validation " + measure_head(measure.substr(on_validation.size()));
  static const std::map<std::string, std::string> heads = {{"auc", "AUC"},
                                                           {"nll", "NLL"},
                                                           {"nll_scaled", "NLL calibrated"},
                                                           {"ece", "ECE (floor)"},
                                                           {"ece_scaled", "ECE calibrated"},
                                                           {"brier", "Brier"},
                                                           {"macro_f1", "macro-F1"},
                                                           {"mrr", "MRR"},
                                                           {"seconds", "seconds to train"},
                                                           {"open_columns", "inputs read"},
                                                           {"rob_mu.accuracy", "Rob mu accuracy"},
                                                           {"rob_mu.auc", "Rob mu AUC"},
                                                           {"rob_mu.nll", "Rob mu NLL"}};
  if (const auto place = place_among_gates(measure)) return gate_head()[*place];
  const auto found = heads.find(measure);
  return found == heads.end() ? measure : found->second;
}

std::string measure_text(const ComparedResult& result, const std::string& measure, bool spread) {
  std::string_view name = measure;
  const Line& line = line_judged(result, name);
  if (const auto place = place_among_gates(name)) return gate_text(line)[*place];
  const std::vector<double> figures = figures_of(result, measure);
  if (figures.empty()) return "-";
  const MeanInterval found = seed_interval(figures);
  const bool counts = std::all_of(figures.begin(), figures.end(), [](double value) { return value == std::round(value); }) &&
                      *std::max_element(figures.begin(), figures.end()) > 1;
  const int digits = measure == "seconds" || counts ? 1 : 4;
  std::string text = figure_text(found.mean, digits);
  if (spread && figures.size() > 1) text += " ± " + figure_text(found.deviation, digits);
  if (name != "ece") return text;
  std::vector<double> floors;
  for (const Evaluation& evaluation : line.evaluations) floors.push_back(evaluation.summary.main_ece().floor);
  return text + fmt::format(" ({})", figure_text(mean_figure(floors)));
}

std::optional<bool> is_larger_better(const std::string& measure) {
  std::string name = measure.substr(measure.rfind('.') + 1);  // rob_mu.auc, valid.nll
  if (const size_t end = name.find("_scaled"); end != std::string::npos) name.resize(end);
  const auto& names = enum_names<Measure>;
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return larger_is_better(static_cast<Measure>(found - names.begin()));
}

std::vector<std::string> unknown_measures(const std::vector<ComparedTable>& tables, const std::vector<std::string>& measures) {
  std::vector<std::string> known, unknown;
  const auto any = [&](const auto& has) {
    return std::any_of(tables.begin(), tables.end(), [&](const ComparedTable& table) {
      return std::any_of(table.results.begin(), table.results.end(), has);
    });
  };
  any([&](const ComparedResult& result) {
    if (result.judged.evaluations.empty()) return false;
    const nlohmann::json json = result.judged.evaluations[0].to_json();
    for (const auto& [key, value] : json.items()) {
      if (value.is_number()) known.push_back(key);
    }
    return true;
  });
  if (known.empty()) return {};
  for (const std::string& measure : measures) {
    if (place_among_gates(measure) || measure == "seconds") continue;
    if (any([&](const ComparedResult& result) { return !figures_of(result, measure).empty(); })) continue;
    unknown.push_back(fmt::format("{}: no run has it.{} `l0gm eval --json` shows all", measure, did_you_mean(measure, known)));
  }
  return unknown;
}

MatrixMeans matrix_means(const std::vector<std::vector<double>>& figures, bool larger_is_better) {
  MatrixMeans out;
  const size_t lines = figures.empty() ? 0 : figures[0].size();
  std::vector<size_t> counted;
  for (size_t line = 0; line < lines; ++line) {
    if (std::any_of(figures.begin(), figures.end(), [&](const auto& row) { return std::isfinite(row[line]); }))
      counted.push_back(line);
  }
  out.rank.assign(lines, undefined_figure);
  out.relative.assign(lines, undefined_figure);
  for (const size_t line : counted) out.rank[line] = out.relative[line] = 0;
  for (const std::vector<double>& row : figures) {
    std::vector<double> kept;
    for (const size_t line : counted) kept.push_back(row[line]);
    if (kept.empty() || !std::all_of(kept.begin(), kept.end(), [](double value) { return std::isfinite(value); })) continue;
    ++out.datasets;
    const std::vector<double> ranks = ranks_of(kept, larger_is_better);
    const auto [least, most] = std::minmax_element(kept.begin(), kept.end());
    const double best = larger_is_better ? *most : *least;
    for (size_t i = 0; i < counted.size(); ++i) {
      out.rank[counted[i]] += ranks[i];
      out.relative[counted[i]] += kept[i] / best;
    }
  }
  for (const size_t line : counted) {
    const auto count = static_cast<double>(out.datasets);  // of none: not a number
    out.rank[line] /= count;
    out.relative[line] /= count;
  }
  return out;
}

}  // namespace l0gm
