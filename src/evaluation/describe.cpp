#include "evaluation/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace l0gm {

namespace {

std::string number(double value, int digits = 4) { return std::isfinite(value) ? fmt::format("{:.{}f}", value, digits) : "-"; }

constexpr double certain_errors = 2;  // standard errors by which an exchange of units must raise the loss

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string further_number(const Evaluation& e, const char* key) {
  const auto found = e.further.find(key);
  return found == e.further.end() || !found->is_number() ? "-" : number(found->get<double>());
}

size_t shown_width(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> width(rows[0].size(), 0);
  for (const auto& row : rows) {
    for (size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], shown_width(row[c]));
  }
  std::string text;
  for (const auto& row : rows) {
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string blanks(width[c] - shown_width(row[c]), ' ');
      text += c == 0 ? row[c] + blanks : "  " + blanks + row[c];
    }
    text += '\n';
  }
  return text;
}

// Names of open inputs; with the dimensions that each feeds, where these tell anything.
std::string names_of(const std::vector<OpenInput>& inputs, bool with_dimensions) {
  std::vector<std::string> names;
  for (const OpenInput& input : inputs) {
    names.push_back(with_dimensions ? fmt::format("{} ({})", input.name, input.open_dimensions) : input.name);
  }
  return list_some(names, 20);
}

// The most valuable first.
std::string describe_worth(std::vector<OpenInput> inputs) {
  std::erase_if(inputs, [](const OpenInput& input) { return !input.worth_shuffled; });
  if (inputs.empty()) return "";
  std::stable_sort(inputs.begin(), inputs.end(),
                   [](const OpenInput& a, const OpenInput& b) { return *a.worth_shuffled > *b.worth_shuffled; });
  std::vector<std::string> parts;
  for (const OpenInput& input : inputs) {
    parts.push_back(fmt::format("{} {:+.4f}{}", input.name, *input.worth_shuffled,
                                input.worth_closed ? fmt::format(" ({:+.4f})", *input.worth_closed) : ""));
  }
  const bool closed =
      std::any_of(inputs.begin(), inputs.end(), [](const OpenInput& input) { return input.worth_closed.has_value(); });
  return fmt::format("  worth       validation NLL when shuffled{}: {}\n", closed ? " (when closed)" : "", list_some(parts, 20));
}

// How certain the choice of units is, where they were measured.
std::string describe_exchanges(const std::vector<UnitExchange>& exchanges, const std::string& noun) {
  std::vector<std::string> close;
  for (const UnitExchange& e : exchanges) {
    if (e.rise < certain_errors * e.error)
      close.push_back(fmt::format("{} for {} {:+.4f} (error {:.4f})", e.closed, e.open, e.rise, e.error));
  }
  if (close.empty()) return fmt::format("  choice      certain: no other of the {} would do as well on validation rows\n", noun);
  return fmt::format("  choice      {} of the open {} could be others, by validation NLL: {}\n", close.size(), noun,
                     list_some(close, 8));
}

std::string describe_gates(const Evaluation& e) {
  const GateReport& g = *e.gates;
  std::string text = fmt::format("  gate        {} of {} {} open ({}), {} projected, {} of {} parameters remain, rule {}{}\n",
                                 with_thousands(g.open_units), with_thousands(g.units), g.units_are.value_or("units"),
                                 percent(g.active_fraction), e.facts ? with_thousands(e.facts->projected_units) : "-",
                                 with_thousands(g.parameters), with_thousands(g.parameters_dense), g.test_rule,
                                 e.facts && !e.facts->converged ? ", NOT CONVERGED" : "");
  if (g.served_microseconds) {
    text += fmt::format("  served      {} microseconds a row promised, {} with all open ({} of the cost of {} is open)\n",
                        number(*g.served_microseconds, 3), number(*g.served_microseconds_dense, 3),
                        percent(g.active_cost_fraction), g.units_are.value_or("units"));
  }
  if (e.facts && e.facts->exchanges) {
    text += describe_exchanges(*e.facts->exchanges, g.units_are.value_or("units"));
  } else if (e.facts && e.facts->late_changes) {
    text += fmt::format("  choice      {} units changed sides in the last tenth of annealing; logits spread by {:.2g}\n",
                        with_thousands(*e.facts->late_changes), e.facts->logit_spread.value_or(0));
  }
  if (e.facts && e.facts->nonzero_weight_fraction)
    text += fmt::format("  weights     {} of those that can be pruned are left, the others are 0\n",
                        percent(*e.facts->nonzero_weight_fraction));
  if (e.further.contains("trees") && e.further.contains("tree_share")) {
    text += fmt::format("  trees       {} beside the net: {} of the probabilities are theirs\n",
                        with_thousands(e.further["trees"].get<int64_t>()), percent(e.further["tree_share"].get<double>()));
  }
  if (!e.inputs) return text;
  const auto& open = e.inputs->open;
  const bool dimensions = std::any_of(open.begin(), open.end(), [](const OpenInput& input) { return input.open_dimensions > 1; });
  text += fmt::format("  {:<10}  {} of {} are read{}: {}\n", e.nouns.columns, open.size(), with_thousands(e.inputs->columns),
                      dimensions ? " (open dimensions)" : "", names_of(open, dimensions));
  return text + describe_worth(open);
}

std::string describe_planted(const Evaluation& e) {
  const PlantedReport& p = *e.planted;
  const size_t wrong = p.wrong.size();
  std::string text =
      fmt::format("  planted     {} of {} informative {} found{}{}\n", p.found.size(), p.planted.size(), e.nouns.columns,
                  wrong == 0 ? "" : fmt::format(", and {} that {} not informative", wrong, wrong == 1 ? "is" : "are"),
                  e.bayes_auc ? "; the best possible AUC is " + number(*e.bayes_auc) : "");
  if (p.right_set_open) {
    text += fmt::format(
        "  per row     the columns that matter for the row are open on {}, those of the other set closed on {} of the rows\n",
        percent(*p.right_set_open), percent(p.wrong_set_closed.value_or(0)));
  }
  return text;
}

// The perturbations that every one of the results with any was judged under.
std::vector<std::string> common_conditions(const std::vector<Evaluation>& evaluations) {
  std::vector<std::string> common;
  bool first = true;
  for (const Evaluation& e : evaluations) {
    if (!e.robustness) continue;
    const auto& conditions = e.robustness->conditions;
    if (first) {
      for (const auto& [name, unused] : conditions) common.push_back(name);
    }
    first = false;
    std::erase_if(common, [&](const std::string& name) { return !conditions.contains(name); });
  }
  return common;
}

std::string mean_auc(const Evaluation& e, const std::vector<std::string>& conditions) {
  if (!e.robustness || conditions.empty()) return "-";
  double sum = 0;
  for (const std::string& name : conditions) sum += e.robustness->conditions.at(name).auc;  // undefined stays undefined
  return number(sum / static_cast<double>(conditions.size()));
}

// What has to be known to read the column: over what the mean is, and whether all saw the same copies.
std::string robustness_note(const std::vector<Evaluation>& evaluations, const std::vector<std::string>& conditions) {
  const RobustnessReport* reference = nullptr;
  bool same = true, fewer = false;
  for (const Evaluation& e : evaluations) {
    if (!e.robustness) continue;
    const RobustnessReport& r = *e.robustness;
    if (reference == nullptr) reference = &r;
    fewer = fewer || r.conditions.size() > conditions.size() || r.missing_conditions;
    for (const std::string& name : conditions)
      same = same && r.conditions.at(name).sha256 == reference->conditions.at(name).sha256;
  }
  std::string text;
  if (fewer) text += fmt::format("Rob μ is over the {} conditions that all have: {}\n", conditions.size(), list_some(conditions));
  if (!same) text += "Rob μ: the perturbed copies are not the same for all (another seed, split or choice of columns)\n";
  return text;
}

std::string planted_found(const Evaluation& e) {
  if (!e.planted) return "-";
  return fmt::format("{} of {}{}", e.planted->found.size(), e.planted->planted.size(),
                     e.planted->wrong.empty() ? "" : fmt::format(", {} others", e.planted->wrong.size()));
}

}  // namespace

std::string describe(const Evaluation& e) {
  const MetricsSummary& s = e.summary;
  const CalibrationFigure &ece = s.main_ece(), &calibrated = s.main_ece_calibrated();
  std::string text =
      fmt::format("{}  ({}, {} {}, {} classes)\n", e.run, e.split.value_or(""), with_thousands(s.rows), e.nouns.rows, s.classes);
  text +=
      fmt::format("  accuracy {}   AUC {}   macro-F1 {}\n", number(s.raw.accuracy), number(s.raw.auc), number(s.raw.macro_f1));
  text += fmt::format("  raw         NLL {}   Brier {}   ECE {}  (a perfectly calibrated model of this size: {} ± {})\n",
                      number(s.raw.nll), number(s.raw.brier), number(ece.value), number(ece.floor), number(ece.floor_sd));
  text +=
      fmt::format("  calibrated  NLL {}   Brier {}   ECE {}  ({}{}{})\n", number(s.calibrated.nll), number(s.calibrated.brier),
                  number(calibrated.value), s.calibrator, std::isfinite(s.temperature) ? ", T = " + number(s.temperature, 3) : "",
                  s.calibrated_by.value == name_of_enum(CalibratedBy::cross_fit) ? "; figures cross-fitted on these rows" : "");
  if (e.gates) text += describe_gates(e);
  if (e.further.contains("speedup_by_cost")) {
    const auto left = [&](const char* part, const char* all) {
      return fmt::format("{} of {}", with_thousands(e.further[part].get<int64_t>()),
                         with_thousands(e.further[all].get<int64_t>()));
    };
    text += fmt::format("  encoder     {} layers, {} heads, {} neurons: {:.2f} times as fast as dense by gate.cost = {}\n",
                        left("layers", "layers_dense"), left("heads", "heads_dense"), left("neurons", "neurons_dense"),
                        e.further["speedup_by_cost"].get<double>(), e.further["gate_cost"].get<std::string>());
  }
  if (e.further.contains("mrr")) {
    text += fmt::format("  ranking     MRR {}   hits@1 {}   hits@10 {}   hits@50 {}  (each link against {} pairs without one)\n",
                        further_number(e, "mrr"), further_number(e, "hits_1"), further_number(e, "hits_10"),
                        further_number(e, "hits_50"), e.further["ranked_negatives"].get<int64_t>());
  }
  if (e.robustness) {
    const RobustnessReport& r = *e.robustness;
    text += fmt::format("  robust      mean over {} perturbed copies: accuracy {}   AUC {}   NLL {}\n", r.conditions.size(),
                        number(r.rob_mu.accuracy), number(r.rob_mu.auc), number(r.rob_mu.nll));
  }
  if (e.planted) text += describe_planted(e);
  return text;
}

std::string compare(const std::vector<Evaluation>& evaluations) {
  const auto any = [&](const auto& has) { return std::any_of(evaluations.begin(), evaluations.end(), has); };
  const bool gates = any([](const Evaluation& e) { return e.gates.has_value(); });
  const bool planted = any([](const Evaluation& e) { return e.planted.has_value(); });
  const bool robust = any([](const Evaluation& e) { return e.robustness.has_value(); });
  const std::vector<std::string> conditions = common_conditions(evaluations);
  std::vector<std::string> head = {"run"};
  if (gates) head.insert(head.end(), {"active", "open units", "projected", "parameters", "columns"});
  head.insert(head.end(), {"accuracy", "AUC", "NLL", "ECE", "floor", "NLL cal.", "ECE cal."});
  if (robust) head.emplace_back("Rob μ AUC");
  if (planted) head.emplace_back("planted found");
  std::vector<std::vector<std::string>> rows = {head};
  for (const Evaluation& e : evaluations) {
    const MetricsSummary& s = e.summary;
    std::vector<std::string> row = {e.run + (e.facts && !e.facts->converged ? " (NOT CONVERGED)" : "")};
    if (gates && e.gates) {
      row.insert(row.end(), {percent(e.gates->active_fraction), with_thousands(e.gates->open_units),
                             e.facts ? with_thousands(e.facts->projected_units) : "-", with_thousands(e.gates->parameters),
                             e.inputs ? fmt::format("{} of {}", e.inputs->open.size(), with_thousands(e.inputs->columns)) : "-"});
    } else if (gates) {
      row.insert(row.end(), 5, "-");
    }
    row.insert(row.end(), {number(s.raw.accuracy), number(s.raw.auc), number(s.raw.nll), number(s.main_ece().value),
                           number(s.main_ece().floor), number(s.calibrated.nll), number(s.main_ece_calibrated().value)});
    if (robust) row.push_back(mean_auc(e, conditions));
    if (planted) row.push_back(planted_found(e));
    rows.push_back(row);
  }
  return table(rows) + (robust ? robustness_note(evaluations, conditions) : "");
}

}  // namespace l0gm
