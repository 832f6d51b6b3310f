#include "study/paper_claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "study/markdown.h"

namespace l0gm {

namespace {

constexpr double neutral_ece = 0.005;  // a difference of calibration errors that nobody would mind

constexpr const char* no_prices = "table f1 was not asked for, or is not complete";

void say_left_out(Claim& claim, const std::vector<std::string>& absent) {
  if (!absent.empty()) claim.why += "; left out: " + join(absent, ", ");
}

Claim active_falls(const PaperJudge& judge) {
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
Claim falls_smoothly(const PaperJudge& judge) {
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
Claim calibration_not_monotone(const PaperJudge& judge) {
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

Claim annealing_helps(const PaperJudge& judge) {
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

Claim coupling_helps(const PaperJudge& judge) {
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

Claim lowest_latency(const PaperJudge& judge) {
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

Claim most_robust(const PaperJudge& judge) {
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

std::vector<Claim> judge_claims(const PaperResults& results, const PaperPlan& plan, const StudyFolder& folder) {
  const PaperJudge judge(results, plan, folder);
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

}  // namespace l0gm
