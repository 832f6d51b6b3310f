#include "study/paper_claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/text.h"
#include "study/markdown.h"

namespace l0gm {

namespace {

constexpr double neutral_ece = 0.005;  // a difference of calibration errors that nobody would mind
constexpr size_t fewest_seeds = 2;     // that two lines are compared over, where more than one was asked for

// Both are in rising order.
std::vector<size_t> in_common(const std::vector<size_t>& first, const std::vector<size_t>& second) {
  std::vector<size_t> out;
  std::set_intersection(first.begin(), first.end(), second.begin(), second.end(), std::back_inserter(out));
  return out;
}

size_t seeds_needed(const Line& line) { return std::min(fewest_seeds, line.keys.size()); }

// "fine is missing", "fine has 1 of 3 seeds".
std::string presence_text(const PaperResult& result) {
  const size_t there = result.test.seeds.size();
  return there == 0 ? result.line->name + " is missing"
                    : fmt::format("{} has {} of {} seeds", result.line->name, there, result.test.keys.size());
}

void add_reason(std::string& why, const std::string& reason) { why += (why.empty() ? "" : "; ") + reason; }

// Where what was predicted was not kept: Student's interval of the seeds' differences, rows as they are.
std::optional<PairedDifference> difference_over_seeds(const std::vector<double>& first, const std::vector<double>& second) {
  if (first.size() < 2 || second.size() != first.size()) return std::nullopt;
  std::vector<double> differences;
  for (size_t seed = 0; seed < first.size(); ++seed) differences.push_back(first[seed] - second[seed]);
  const MeanInterval interval = seed_interval(differences);
  return PairedDifference{interval.mean, interval.low, interval.high, 0, std::ssize(differences)};
}

// "+0.0010 (-0.0027 … +0.0049)", and over how many seeds where not over all.
std::string difference_text(const PairedDifference& found, const PaperResult& line) {
  const size_t wanted = line.test.keys.size(), seeds = static_cast<size_t>(found.runs);
  return signed_text(found.mean, found.low, found.high) + (found.rows == 0 ? " over seeds alone" : "") +
         (seeds < wanted ? fmt::format(", {} of {} seeds", seeds, wanted) : "");
}

// Rob mu of these seeds.
std::vector<double> robust_figures(const PaperResult& result, const std::vector<size_t>& seeds) {
  std::vector<double> out;
  for (size_t i = 0; i < result.rob_mu_seeds.size(); ++i) {
    if (std::find(seeds.begin(), seeds.end(), result.rob_mu_seeds[i]) != seeds.end()) out.push_back(result.rob_mu_by_seed[i]);
  }
  return out;
}

class Judge {
 public:
  Judge(const PaperResults& results, const PaperPlan& plan, const StudyFolder& folder)
      : results_(results), plan_(plan), folder_(folder) {}

  // None: the table was not asked for, or too few seeds of the line are there.
  const PaperResult* line(const std::string& table, const std::string& name) const {
    const PaperResult* found = planned(table, name);
    const bool enough = found != nullptr && !found->test.seeds.empty() && found->test.seeds.size() >= seeds_needed(found->test);
    return enough ? found : nullptr;
  }
  // Why line() gives none.
  std::string why_absent(const std::string& table, const std::string& name) const {
    const PaperResult* found = planned(table, name);
    return found == nullptr ? name + " is missing" : presence_text(*found);
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
  // Those that are not complete, "lambda 10 has 1 of 3 seeds".
  std::vector<std::string> incomplete_lines(const std::string& table) const {
    std::vector<std::string> out;
    const auto found = results_.find(table);
    if (found == results_.end()) return out;
    for (const PaperResult& result : found->second) {
      if (!result.test.complete()) out.push_back(presence_text(result));
    }
    return out;
  }
  bool asked(const std::string& table) const { return results_.contains(table); }
  bool has_both_ends(const std::string& table) const {
    const std::vector<PaperResult>& lines = results_.at(table);
    return lines.front().test.complete() && lines.back().test.complete();
  }

  // Positive where the first is better, over the seeds that both have. By the rows, or where these were not kept by the seeds
  // alone (`rows` is 0 then).
  std::optional<PairedDifference> advantage(const PaperResult& first, const PaperResult& second, Measure measure,
                                            const std::vector<std::string>& conditions = {}, int64_t comparisons = 1) const {
    const std::vector<size_t> seeds =
        conditions.empty() ? in_common(first.test.seeds, second.test.seeds) : in_common(first.rob_mu_seeds, second.rob_mu_seeds);
    if (seeds.empty() || seeds.size() < seeds_needed(first.test)) return std::nullopt;
    const Line of_first = of_seeds(first.test, seeds), of_second = of_seeds(second.test, seeds);
    std::optional<PairedDifference> found =
        compare_lines(of_first, of_second, folder_, Split::test, measure, conditions, comparisons);
    if (!found && conditions.empty() && comparisons == 1)
      found = difference_over_seeds(of_first.figures(measure), of_second.figures(measure));
    if (!found && !conditions.empty() && first.conditions == second.conditions)
      found = difference_over_seeds(robust_figures(first, seeds), robust_figures(second, seeds));
    if (!found || !std::isfinite(found->mean)) return std::nullopt;
    if (larger_is_better(measure)) return found;
    return PairedDifference{-found->mean, -found->high, -found->low, found->rows, found->runs};
  }

  Judgement better(const PaperResult& first, const PaperResult& second, Measure measure, std::string& why,
                   int64_t comparisons = 1) const {
    const auto found = advantage(first, second, measure, {}, comparisons);
    const std::string what = fmt::format("{} by {}", second.line->name, name_of_enum(measure));
    if (!found) {
      add_reason(why, fmt::format("{}: nothing to compare, {} of {} seeds in common", what,
                                  in_common(first.test.seeds, second.test.seeds).size(), first.test.keys.size()));
      return untold(Doubt::missing);
    }
    add_reason(why, fmt::format("{}: better by {}", what, difference_text(*found, first)));
    return judgement_of(found->low, found->high);
  }

  Claim beats(const std::string& id, const std::string& text, const char* table, const std::string& name,
              const std::vector<std::string>& others, const std::vector<Measure>& measures) const {
    if (!asked(table)) return {id, text, {}, fmt::format("table {} was not asked for", table)};
    const PaperResult* ours = line(table, name);
    if (ours == nullptr) return {id, text, {}, why_absent(table, name)};
    Claim claim{id, text, {}, ""};
    std::vector<Judgement> judgements;
    for (const std::string& other : others) {
      const PaperResult* theirs = line(table, other);
      if (theirs == nullptr) {
        judgements.push_back(untold(Doubt::missing));
        add_reason(claim.why, why_absent(table, other));
        continue;
      }
      for (const Measure measure : measures) judgements.push_back(better(*ours, *theirs, measure, claim.why));
    }
    claim.judgement = all_of(judgements);
    return claim;
  }

  const PaperPlan& plan() const { return plan_; }

 private:
  const PaperResult* planned(const std::string& table, const std::string& name) const {
    const auto found = results_.find(table);
    if (found == results_.end()) return nullptr;
    const auto place = std::find_if(found->second.begin(), found->second.end(),
                                    [&](const PaperResult& result) { return result.line->name == name; });
    return place == found->second.end() ? nullptr : &*place;
  }
  const PaperResults& results_;
  const PaperPlan& plan_;
  const StudyFolder& folder_;
};

constexpr const char* no_prices = "table f1 was not asked for, or is not complete";

void say_left_out(Claim& claim, const std::vector<std::string>& absent) {
  if (!absent.empty()) claim.why += "; left out: " + join(absent, ", ");
}

Claim active_falls(const Judge& judge) {
  Claim claim{"C1", "the active fraction does not rise with lambda", {}, no_prices};
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
  const std::vector<std::string> absent = judge.incomplete_lines("f1");
  say_left_out(claim, absent);
  claim.judgement = rises > 0 ? told(false) : !absent.empty() ? untold(Doubt::missing) : spans ? told(true) : untold(Doubt::span);
  return claim;
}

// Smoothly: no price raises the measure, and no single step takes most of what is lost in all; each where intervals of all steps
// together leave no doubt. Without some of the prices only a gain is certain: some step between has it.
Claim falls_smoothly(const Judge& judge) {
  constexpr double most = 0.6;  // of what is lost
  Claim claim{"C2", "the metric falls smoothly with lambda", {}, no_prices};
  const auto lines = judge.complete_lines("f1");
  if (lines.size() < 3) return claim;
  const Measure measure = judge.plan().measure;
  const int64_t comparisons = std::ssize(lines);  // the steps, and all of them together
  const auto lost = judge.advantage(*lines.front(), *lines.back(), measure, {}, comparisons);
  claim.why = "what was predicted for the rows is not there";
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
  const std::vector<std::string> absent = judge.incomplete_lines("f1");
  claim.judgement = untold(absent.empty() ? Doubt::interval : Doubt::missing);
  if (lost->low <= 0) {
    claim.why += "; nothing is lost for certain";
  } else if (rises) {
    claim.judgement = told(false);
  } else if (absent.empty() && (small || largest.low > most * lost->high)) {
    claim.judgement = told(small);
  }
  say_left_out(claim, absent);
  return claim;
}

// The least of the lines is found on the rows that it is judged by: limits are those of all that might have been the least.
// Without some of the prices a better one between both ends is as good as with them, and its absence says nothing.
Claim calibration_not_monotone(const Judge& judge) {
  Claim claim{"C3", "ECE is non-monotone in lambda: better at a moderate price than at either end", {}, no_prices};
  const auto lines = judge.complete_lines("f1");
  if (lines.size() < 3) return claim;
  const auto least = std::min_element(lines.begin(), lines.end(), [](const PaperResult* a, const PaperResult* b) {
    return a->test.mean(Measure::ece).mean < b->test.mean(Measure::ece).mean;
  });
  const int64_t moderate = std::ssize(lines) - 2;
  claim.why = fmt::format("the least is at {}", (*least)->line->name);
  std::vector<Judgement> judgements;
  const bool at_an_end = *least == lines.front() || *least == lines.back();
  if (at_an_end) {
    for (auto line = lines.begin() + 1; line + 1 != lines.end(); ++line)
      judgements.push_back(judge.better(**least, **line, Measure::ece, claim.why, 2 * moderate));
  } else {
    for (const PaperResult* end : {lines.front(), lines.back()})
      judgements.push_back(judge.better(**least, *end, Measure::ece, claim.why, moderate));
  }
  const Judgement all = all_of(judgements);
  // At an end and better than all between is the contrary; less than that says nothing.
  claim.judgement = !at_an_end ? all : all.verdict == Verdict::holds ? told(false) : untold(all.doubt.value_or(Doubt::interval));
  const std::vector<std::string> absent = judge.incomplete_lines("f1");
  const bool certain = !at_an_end && all.verdict == Verdict::holds && judge.has_both_ends("f1");
  if (!absent.empty() && !certain) claim.judgement = untold(Doubt::missing);
  say_left_out(claim, absent);
  return claim;
}

Claim annealing_helps(const Judge& judge) {
  Claim claim = judge.beats("C4", "annealing helps the worst seed and ECE", "f2", "annealing", {"no annealing"},
                            {judge.plan().measure, Measure::ece});
  const PaperResult *with = judge.line("f2", "annealing"), *without = judge.line("f2", "no annealing");
  if (with != nullptr && without != nullptr) {
    const std::vector<size_t> seeds = in_common(with->test.seeds, without->test.seeds);
    const auto worst = [&](const PaperResult& result) {
      return figure_text(of_seeds(result.test, seeds).worst(judge.plan().measure));
    };
    claim.why += fmt::format("; worst {} against {} (the difference of means is judged: a worst of few seeds has no interval)",
                             worst(*with), worst(*without));
  }
  return claim;
}

Claim coupling_helps(const Judge& judge) {
  Claim claim{"C5", "coupling is neutral at moderate sparsity and helps ECE at high sparsity", {}, ""};
  if (!judge.asked("f3")) claim.why = "table f3 was not asked for";
  const PaperResult *moderate = judge.line("f3", "moderate"), *moderate_coupled = judge.line("f3", "moderate, coupled"),
                    *high = judge.line("f3", "high"), *high_coupled = judge.line("f3", "high, coupled");
  for (const char* name : {"moderate", "moderate, coupled", "high", "high, coupled"}) {
    if (judge.asked("f3") && judge.line("f3", name) == nullptr) add_reason(claim.why, judge.why_absent("f3", name));
  }
  if (!claim.why.empty()) return claim;
  const auto at_moderate = judge.advantage(*moderate_coupled, *moderate, Measure::ece);
  claim.why = "moderate: nothing to compare";
  if (!at_moderate) return claim;
  const bool neutral = at_moderate->low > -neutral_ece && at_moderate->high < neutral_ece;
  const bool changed = at_moderate->low > neutral_ece || at_moderate->high < -neutral_ece;
  claim.why = fmt::format("at moderate sparsity ECE is better by {} (neutral: within {})",
                          difference_text(*at_moderate, *moderate), figure_text(neutral_ece, 3));
  claim.judgement = all_of({neutral || changed ? told(neutral) : untold(Doubt::interval),
                            judge.better(*high_coupled, *high, Measure::ece, claim.why)});
  return claim;
}

std::vector<std::string> listed_baselines(const PaperPlan& plan) {
  std::vector<std::string> names;
  for (const PlannedLine& backbone : plan.backbones) names.push_back(backbone.name);
  for (const auto& [name, unused] : plan.peers) names.push_back(name);
  return names;
}

Claim lowest_latency(const Judge& judge) {
  Claim claim{"C10", "the lowest latency", {}, "table q2 was not asked for, or was not timed"};
  const auto timed = [](const PaperResult* line) {
    return line != nullptr && !line->latency_us.empty() && line->latency_us[0].has_value();
  };
  const PaperResult* ours = judge.line("q2", "gate");
  if (!timed(ours)) return claim;
  std::vector<std::string> untimed;
  bool lowest = true;
  claim.why = fmt::format("{} {} µs", judge.plan().timing.shown[0].name, figure_text(*ours->latency_us[0], 2));
  for (const std::string& name : listed_baselines(judge.plan())) {
    const PaperResult* other = judge.line("q2", name);
    if (!timed(other)) {
      untimed.push_back(name);
      continue;
    }
    claim.why += fmt::format("; {} {} µs", name, figure_text(*other->latency_us[0], 2));
    lowest = lowest && *ours->latency_us[0] < *other->latency_us[0];
  }
  if (!untimed.empty()) claim.why += "; not timed here: " + join(untimed, ", ");
  claim.judgement = lowest && !untimed.empty() ? untold(Doubt::missing) : told(lowest);
  return claim;
}

Claim most_robust(const Judge& judge) {
  Claim claim{"C11", "the best Rob mu", {}, "table q1 was not asked for, or has no perturbed copies"};
  const PaperResult* ours = judge.line("q1", "gate");
  if (ours == nullptr || !ours->rob_mu) return claim;
  claim.why = fmt::format("mean over {} conditions", ours->conditions.size());
  std::vector<Judgement> judgements;
  for (const std::string& name : listed_baselines(judge.plan())) {
    const PaperResult* other = judge.line("q1", name);
    const auto found = other == nullptr ? std::nullopt : judge.advantage(*ours, *other, judge.plan().measure, ours->conditions);
    if (!found) {
      add_reason(claim.why, other == nullptr ? judge.why_absent("q1", name) : name + " has too few seeds on the same copies");
      judgements.push_back(untold(Doubt::missing));
      continue;
    }
    add_reason(claim.why, fmt::format("{}: better by {}", name, difference_text(*found, *ours)));
    judgements.push_back(judgement_of(found->low, found->high));
  }
  claim.judgement = all_of(judgements);
  return claim;
}

}  // namespace

Judgement judgement_of(double low, double high) { return low > 0 || high < 0 ? told(low > 0) : untold(Doubt::interval); }

Judgement all_of(const std::vector<Judgement>& judgements) {
  const auto any = [&](auto is) { return std::any_of(judgements.begin(), judgements.end(), is); };
  if (any([](const Judgement& one) { return one.verdict == Verdict::does_not_hold; })) return told(false);
  for (const Doubt doubt : {Doubt::missing, Doubt::span, Doubt::interval}) {
    if (any([&](const Judgement& one) { return one.doubt == doubt; })) return untold(doubt);
  }
  return judgements.empty() ? untold(Doubt::missing) : told(true);
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
  for (const Claim& claim : claims)
    rows.push_back({claim.id, claim.text, std::string(name_of_enum(claim.judgement.verdict)), claim.why});
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
  std::map<Doubt, int64_t> doubts;
  for (size_t i = 0; i < data[0].claims.size(); ++i) {
    rows.push_back({data[0].claims[i].id, data[0].claims[i].text});
    for (const DataClaims& one : data) {
      const Judgement& judgement = one.claims[i].judgement;
      rows.back().emplace_back(name_of_enum(judgement.verdict));
      ++counts[judgement.verdict];
      if (judgement.doubt) ++doubts[*judgement.doubt];
    }
  }
  std::vector<std::string> reasons;
  for (const auto& [doubt, count] : doubts) reasons.push_back(fmt::format("{} because {}", count, name_of_enum(doubt)));
  std::string text = fmt::format(
      "## What holds\n\n{} verdicts (a claim on a dataset). *holds*: {}, *does not hold*: {}, *cannot be told*: {}{}. Why, "
      "with intervals: below each dataset's tables.\n\n{}",
      data.size() * rows.size(), counts[Verdict::holds], counts[Verdict::does_not_hold], counts[Verdict::cannot_be_told],
      reasons.empty() ? "" : " (" + join(reasons, ", ") + ")", markdown_table(head, rows));
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
  for (const Claim& claim : claims) {
    json.push_back(
        {{"id", claim.id}, {"text", claim.text}, {"verdict", name_of_enum(claim.judgement.verdict)}, {"why", claim.why}});
    if (claim.judgement.doubt) json.back()["doubt"] = name_of_enum(*claim.judgement.doubt);
  }
  return json;
}

}  // namespace l0gm
