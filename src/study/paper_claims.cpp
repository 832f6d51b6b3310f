#include "study/paper_claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "study/markdown.h"

namespace l0gm {

namespace {

constexpr double neutral_ece = 0.005;  // a difference of calibration errors that nobody would mind

// Where what was predicted was not kept: Student's interval of the seeds' differences, rows as they are.
std::optional<PairedDifference> difference_over_seeds(const std::vector<double>& first, const std::vector<double>& second) {
  if (first.size() < 2 || second.size() != first.size()) return std::nullopt;
  std::vector<double> differences;
  for (size_t seed = 0; seed < first.size(); ++seed) differences.push_back(first[seed] - second[seed]);
  const MeanInterval interval = seed_interval(differences);
  return PairedDifference{interval.mean, interval.low, interval.high, 0, std::ssize(differences)};
}

// "+0.0010 (-0.0027 … +0.0049)".
std::string difference_text(const PairedDifference& found) {
  return signed_text(found.mean, found.low, found.high) + (found.rows == 0 ? " over seeds alone" : "");
}

class Judge {
 public:
  Judge(const PaperResults& results, const PaperPlan& plan, const StudyFolder& folder)
      : results_(results), plan_(plan), folder_(folder) {}

  // None: the table was not asked for, or the line is not complete.
  const PaperResult* line(const std::string& table, const std::string& name) const {
    const auto found = results_.find(table);
    if (found == results_.end()) return nullptr;
    for (const PaperResult& result : found->second) {
      if (result.line->name == name && result.test.complete()) return &result;
    }
    return nullptr;
  }
  std::vector<const PaperResult*> complete_lines(const std::string& table) const {
    std::vector<const PaperResult*> out;
    const auto found = results_.find(table);
    if (found == results_.end()) return out;
    for (const PaperResult& result : found->second) {
      if (result.test.complete()) out.push_back(&result);
    }
    return out;
  }
  bool asked(const std::string& table) const { return results_.contains(table); }

  // Positive where the first is better. By the rows, or where these were not kept by the seeds alone (`rows` is 0 then).
  std::optional<PairedDifference> advantage(const PaperResult& first, const PaperResult& second, Measure measure,
                                            const std::vector<std::string>& conditions = {}, int64_t comparisons = 1) const {
    std::optional<PairedDifference> found =
        compare_lines(first.test, second.test, folder_, Split::test, measure, conditions, comparisons);
    if (!found && conditions.empty() && comparisons == 1)
      found = difference_over_seeds(first.test.figures(measure), second.test.figures(measure));
    if (!found && !conditions.empty() && first.conditions == second.conditions)
      found = difference_over_seeds(first.rob_mu_by_seed, second.rob_mu_by_seed);
    if (!found || !std::isfinite(found->mean)) return std::nullopt;
    if (larger_is_better(measure)) return found;
    return PairedDifference{-found->mean, -found->high, -found->low, found->rows, found->runs};
  }

  Verdict better(const PaperResult& first, const PaperResult& second, Measure measure, std::string& why,
                 int64_t comparisons = 1) const {
    const auto found = advantage(first, second, measure, {}, comparisons);
    if (!found) return Verdict::cannot_be_told;
    why += fmt::format("{}{} by {}: better by {}", why.empty() ? "" : "; ", second.line->name, name_of_enum(measure),
                       difference_text(*found));
    return verdict_of(found->low, found->high);
  }

  Claim beats(const std::string& id, const std::string& text, const char* table, const std::string& name,
              const std::vector<std::string>& others, const std::vector<Measure>& measures) const {
    Claim claim{id, text, Verdict::cannot_be_told, ""};
    const PaperResult* ours = line(table, name);
    std::vector<Verdict> verdicts;
    for (const std::string& other : others) {
      const PaperResult* theirs = line(table, other);
      if (ours == nullptr || theirs == nullptr) {
        verdicts.push_back(Verdict::cannot_be_told);
        claim.why += fmt::format("{}{} is missing", claim.why.empty() ? "" : "; ", ours == nullptr ? name : other);
        continue;
      }
      for (const Measure measure : measures) verdicts.push_back(better(*ours, *theirs, measure, claim.why));
    }
    claim.verdict = all_of(verdicts);
    if (!asked(table)) claim.why = fmt::format("table {} was not asked for", table);
    return claim;
  }

  const PaperPlan& plan() const { return plan_; }

 private:
  const PaperResults& results_;
  const PaperPlan& plan_;
  const StudyFolder& folder_;
};

Claim active_falls(const Judge& judge) {
  Claim claim{"C1", "the active fraction does not rise with lambda", Verdict::cannot_be_told,
              "table f1 was not asked for, or is not complete"};
  const auto lines = judge.complete_lines("f1");
  if (lines.size() < 2) return claim;
  int64_t rises = 0;
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::vector<double> before = lines[i - 1]->test.active_fractions(), now = lines[i]->test.active_fractions();
    for (size_t seed = 0; seed < now.size(); ++seed) rises += now[seed] > before[seed] + 1e-12 ? 1 : 0;
  }
  const double first = lines.front()->test.active_fraction(), last = lines.back()->test.active_fraction();
  claim.why = fmt::format("from {:.1f} to {:.1f} % active over {} prices; {} rises of single seeds", 100 * first, 100 * last,
                          lines.size(), rises);
  const bool spans = first > 0.8 && last < 0.2;
  if (!spans) claim.why += "; the prices do not span .8 to .2, so that little was asked of it";
  claim.verdict = rises > 0 ? Verdict::does_not_hold : spans ? Verdict::holds : Verdict::cannot_be_told;
  return claim;
}

// Smoothly: no price raises the measure, and no single step takes most of what is lost in all; each where intervals of all steps
// together leave no doubt.
Claim falls_smoothly(const Judge& judge) {
  constexpr double most = 0.6;  // of what is lost
  Claim claim{"C2", "the metric falls smoothly with lambda", Verdict::cannot_be_told,
              "table f1 was not asked for, or is not complete"};
  const auto lines = judge.complete_lines("f1");
  if (lines.size() < 3) return claim;
  const Measure measure = judge.plan().measure;
  const int64_t comparisons = std::ssize(lines);  // the steps, and all of them together
  const auto lost = judge.advantage(*lines.front(), *lines.back(), measure, {}, comparisons);
  if (!lost) return claim;
  PairedDifference largest{-INFINITY, -INFINITY, -INFINITY, 0, 0};
  bool rises = false, small = true;
  for (size_t i = 1; i < lines.size(); ++i) {
    const auto step = judge.advantage(*lines[i - 1], *lines[i], measure, {}, comparisons);
    if (!step) return claim;
    if (step->mean > largest.mean) largest = *step;
    rises = rises || step->high < 0;
    small = small && step->high < most * lost->low;
  }
  claim.why = fmt::format("lost in all {}; the largest step {}{}", signed_text(lost->mean, lost->low, lost->high),
                          signed_text(largest.mean, largest.low, largest.high), rises ? "; one step is a gain for certain" : "");
  if (lost->low <= 0) {
    claim.why += "; nothing is lost for certain";
  } else if (rises || largest.low > most * lost->high) {
    claim.verdict = Verdict::does_not_hold;
  } else if (small) {
    claim.verdict = Verdict::holds;
  }
  return claim;
}

// The least of the lines is found on the rows that it is judged by: limits are those of all that might have been the least.
Claim calibration_not_monotone(const Judge& judge) {
  Claim claim{"C3", "ECE is non-monotone in lambda: better at a moderate price than at either end", Verdict::cannot_be_told,
              "table f1 was not asked for, or is not complete"};
  const auto lines = judge.complete_lines("f1");
  if (lines.size() < 3) return claim;
  const auto least = std::min_element(lines.begin(), lines.end(), [](const PaperResult* a, const PaperResult* b) {
    return a->test.mean(Measure::ece).mean < b->test.mean(Measure::ece).mean;
  });
  const int64_t moderate = std::ssize(lines) - 2;
  claim.why = fmt::format("the least is at {}", (*least)->line->name);
  std::vector<Verdict> verdicts;
  if (*least == lines.front() || *least == lines.back()) {
    for (auto line = lines.begin() + 1; line + 1 != lines.end(); ++line)
      verdicts.push_back(judge.better(**least, **line, Measure::ece, claim.why, 2 * moderate));
    claim.verdict = all_of(verdicts) == Verdict::holds ? Verdict::does_not_hold : Verdict::cannot_be_told;
    return claim;
  }
  for (const PaperResult* end : {lines.front(), lines.back()})
    verdicts.push_back(judge.better(**least, *end, Measure::ece, claim.why, moderate));
  claim.verdict = all_of(verdicts);
  return claim;
}

Claim annealing_helps(const Judge& judge) {
  Claim claim = judge.beats("C4", "annealing helps the worst seed and ECE", "f2", "annealing", {"no annealing"},
                            {judge.plan().measure, Measure::ece});
  const PaperResult *with = judge.line("f2", "annealing"), *without = judge.line("f2", "no annealing");
  if (with != nullptr && without != nullptr) {
    claim.why +=
        fmt::format("; worst {} against {} (the difference of means is judged: a worst of few seeds has no interval)",
                    figure_text(with->test.worst(judge.plan().measure)), figure_text(without->test.worst(judge.plan().measure)));
  }
  return claim;
}

Claim coupling_helps(const Judge& judge) {
  Claim claim{"C5", "coupling is neutral at moderate sparsity and helps ECE at high sparsity", Verdict::cannot_be_told,
              "table f3 was not asked for, or is not complete"};
  const PaperResult *moderate = judge.line("f3", "moderate"), *moderate_coupled = judge.line("f3", "moderate, coupled"),
                    *high = judge.line("f3", "high"), *high_coupled = judge.line("f3", "high, coupled");
  if (moderate == nullptr || moderate_coupled == nullptr || high == nullptr || high_coupled == nullptr) return claim;
  claim.why.clear();
  const auto at_moderate = judge.advantage(*moderate_coupled, *moderate, Measure::ece);
  if (!at_moderate) return claim;
  const bool neutral = at_moderate->low > -neutral_ece && at_moderate->high < neutral_ece;
  const bool changed = at_moderate->low > neutral_ece || at_moderate->high < -neutral_ece;
  claim.why = fmt::format("at moderate sparsity ECE is better by {} (neutral: within {})",
                          difference_text(*at_moderate), figure_text(neutral_ece, 3));
  claim.verdict = all_of({neutral   ? Verdict::holds
                          : changed ? Verdict::does_not_hold
                                    : Verdict::cannot_be_told,
                          judge.better(*high_coupled, *high, Measure::ece, claim.why)});
  return claim;
}

std::vector<std::string> listed_baselines(const PaperPlan& plan) {
  std::vector<std::string> names;
  for (const PlannedLine& backbone : plan.backbones) names.push_back(backbone.name);
  for (const auto& [name, unused] : plan.peers) names.push_back(name);
  for (const PlannedLine& absent : plan.missing) names.push_back(absent.name);
  return names;
}

Claim lowest_latency(const Judge& judge) {
  Claim claim{"C10", "the lowest latency", Verdict::cannot_be_told, "table q2 was not asked for, or was not timed"};
  const PaperResult* ours = judge.line("q2", "gate");
  if (ours == nullptr || !ours->latency_us[0]) return claim;
  std::vector<std::string> untimed;
  bool lowest = true;
  claim.why = fmt::format("a row alone {} µs", figure_text(*ours->latency_us[0], 2));
  for (const std::string& name : listed_baselines(judge.plan())) {
    const PaperResult* other = judge.line("q2", name);
    if (other == nullptr || !other->latency_us[0]) {
      untimed.push_back(name);
      continue;
    }
    claim.why += fmt::format("; {} {} µs", name, figure_text(*other->latency_us[0], 2));
    lowest = lowest && *ours->latency_us[0] < *other->latency_us[0];
  }
  if (!untimed.empty()) claim.why += "; not timed here: " + join(untimed, ", ");
  claim.verdict = !lowest ? Verdict::does_not_hold : untimed.empty() ? Verdict::holds : Verdict::cannot_be_told;
  return claim;
}

Claim most_robust(const Judge& judge) {
  Claim claim{"C11", "the best Rob mu", Verdict::cannot_be_told, "table q1 was not asked for, or has no perturbed copies"};
  const PaperResult* ours = judge.line("q1", "gate");
  if (ours == nullptr || !ours->rob_mu) return claim;
  claim.why = fmt::format("mean over {} conditions", ours->conditions.size());
  std::vector<Verdict> verdicts;
  for (const std::string& name : listed_baselines(judge.plan())) {
    const PaperResult* other = judge.line("q1", name);
    const auto found = other == nullptr ? std::nullopt : judge.advantage(*ours, *other, judge.plan().measure, ours->conditions);
    if (!found) {
      claim.why += fmt::format("; {} is missing", name);
      verdicts.push_back(Verdict::cannot_be_told);
      continue;
    }
    claim.why += fmt::format("; {}: better by {}", name, difference_text(*found));
    verdicts.push_back(verdict_of(found->low, found->high));
  }
  claim.verdict = all_of(verdicts);
  return claim;
}

}  // namespace

Verdict verdict_of(double low, double high) {
  return low > 0 ? Verdict::holds : high < 0 ? Verdict::does_not_hold : Verdict::cannot_be_told;
}

Verdict all_of(const std::vector<Verdict>& verdicts) {
  if (verdicts.empty()) return Verdict::cannot_be_told;
  const auto any = [&](Verdict verdict) { return std::find(verdicts.begin(), verdicts.end(), verdict) != verdicts.end(); };
  return any(Verdict::does_not_hold)    ? Verdict::does_not_hold
         : any(Verdict::cannot_be_told) ? Verdict::cannot_be_told
                                        : Verdict::holds;
}

std::vector<Claim> judge_claims(const PaperResults& results, const PaperPlan& plan, const StudyFolder& folder) {
  const Judge judge(results, plan, folder);
  return {active_falls(judge),
          falls_smoothly(judge),
          calibration_not_monotone(judge),
          annealing_helps(judge),
          coupling_helps(judge),
          judge.beats("C6", "gates at the interface beat finer ones", "ablation", "gate", {"fine"}, {plan.measure}),
          judge.beats("C7", "learned gates beat a static mask", "ablation", "gate", {"static mask"}, {plan.measure}),
          judge.beats("C8", "the gate beats the dense model in the metric and in ECE", "ablation", "gate", {"dense"},
                      {plan.measure, Measure::ece}),
          judge.beats("C9", "the gate beats each listed baseline", "q1", "gate", listed_baselines(plan), {plan.measure}),
          lowest_latency(judge),
          most_robust(judge)};
}

std::string claims_markdown(const std::vector<Claim>& claims) {
  std::vector<std::vector<std::string>> rows;
  for (const Claim& claim : claims) rows.push_back({claim.id, claim.text, std::string(name_of_enum(claim.verdict)), claim.why});
  return "### Claims\n\n" +
         markdown_table({"", "claim", "verdict",
                         "why (differences with 95 % intervals, C2 and C3: for all that were looked at together)"},
                        rows);
}

std::string summary_markdown(const std::vector<DataClaims>& data) {
  if (data.empty() || data[0].claims.empty()) return "";
  std::vector<std::string> head = {"", "claim"};
  for (const DataClaims& one : data) head.push_back(one.name);
  std::vector<std::vector<std::string>> rows;
  std::map<Verdict, int64_t> counts;
  for (size_t i = 0; i < data[0].claims.size(); ++i) {
    rows.push_back({data[0].claims[i].id, data[0].claims[i].text});
    for (const DataClaims& one : data) {
      rows.back().emplace_back(name_of_enum(one.claims[i].verdict));
      ++counts[one.claims[i].verdict];
    }
  }
  std::string text = fmt::format(
      "## What holds\n\n{} verdicts (a claim on a dataset). *holds*: {}, *does not hold*: {}, *cannot be told*: {}. The last "
      "means "
      "that the interval of a difference has 0 in it, or a line is missing. Why, with intervals: below each dataset's "
      "tables.\n\n{}",
      data.size() * rows.size(), counts[Verdict::holds], counts[Verdict::does_not_hold], counts[Verdict::cannot_be_told],
      markdown_table(head, rows));
  text += "\nWhat there is, and what is not:\n\n";
  for (const DataClaims& one : data) {
    text += fmt::format("- {}: {} of {} lines complete{}\n", one.name, one.complete, one.lines,
                        one.absent.empty() ? "" : "; not there, or not for all seeds: " + join(one.absent, ", "));
  }
  return text;
}

DataClaims data_claims(const PaperPlan& plan, const std::vector<PaperTable>& tables, const PaperResults& results,
                       std::vector<Claim> claims) {
  DataClaims out{plan.name, std::move(claims), 0, 0, {}};
  for (const PaperTable& table : tables) {
    for (const PaperResult& result : results.at(table.id)) {
      ++out.lines;
      if (result.test.complete()) {
        ++out.complete;
      } else {
        const std::string found = result.test.evaluations.empty()
                                      ? ""
                                      : fmt::format(" ({} of {} seeds)", result.test.evaluations.size(), result.test.keys.size());
        out.absent.push_back(fmt::format("{} {}{}", table.id, result.line->name, found));
      }
    }
  }
  return out;
}

nlohmann::json claims_json(const std::vector<Claim>& claims) {
  nlohmann::json json = nlohmann::json::array();
  for (const Claim& claim : claims)
    json.push_back({{"id", claim.id}, {"text", claim.text}, {"verdict", name_of_enum(claim.verdict)}, {"why", claim.why}});
  return json;
}

}  // namespace l0gm
