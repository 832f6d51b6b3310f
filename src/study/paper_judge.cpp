#include "study/paper_judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/text.h"
#include "study/markdown.h"

namespace l0gm {

namespace {

constexpr size_t fewest_seeds = 2;  // that two lines are compared over, where more than one was asked for

size_t seeds_needed(const Line& line) { return std::min(fewest_seeds, line.keys.size()); }

// "fine is missing", "fine has 1 of 3 seeds".
std::string presence_text(const PaperResult& result) {
  const size_t there = result.test.seeds.size();
  return there == 0 ? result.line->name + " is missing"
                    : fmt::format("{} has {} of {} seeds", result.line->name, there, result.test.keys.size());
}

// Where what was predicted was not kept: Student's interval of the seeds' differences, rows as they are.
std::optional<PairedDifference> difference_over_seeds(const std::vector<double>& first, const std::vector<double>& second) {
  if (first.size() < 2 || second.size() != first.size()) return std::nullopt;
  std::vector<double> differences;
  for (size_t seed = 0; seed < first.size(); ++seed) differences.push_back(first[seed] - second[seed]);
  const MeanInterval interval = seed_interval(differences);
  return PairedDifference{interval.mean, interval.low, interval.high, 0, std::ssize(differences)};
}

// Rob mu of these seeds.
std::vector<double> robust_figures(const PaperResult& result, const std::vector<size_t>& seeds) {
  std::vector<double> out;
  for (size_t i = 0; i < result.rob_mu_seeds.size(); ++i) {
    if (std::find(seeds.begin(), seeds.end(), result.rob_mu_seeds[i]) != seeds.end()) out.push_back(result.rob_mu_by_seed[i]);
  }
  return out;
}

}  // namespace

std::vector<size_t> in_common(const std::vector<size_t>& first, const std::vector<size_t>& second) {
  std::vector<size_t> out;
  std::set_intersection(first.begin(), first.end(), second.begin(), second.end(), std::back_inserter(out));
  return out;
}

void add_reason(std::string& why, const std::string& reason) { why += (why.empty() ? "" : "; ") + reason; }

std::string difference_text(const PairedDifference& found, const PaperResult& line) {
  const size_t wanted = line.test.keys.size(), seeds = static_cast<size_t>(found.runs);
  return signed_text(found.mean, found.low, found.high) + (found.rows == 0 ? " over seeds alone" : "") +
         (seeds < wanted ? fmt::format(", {} of {} seeds", seeds, wanted) : "");
}

const PaperResult* PaperJudge::planned(const std::string& table, const std::string& name) const {
  const auto found = results_.find(table);
  if (found == results_.end()) return nullptr;
  const auto place = std::find_if(found->second.begin(), found->second.end(),
                                  [&](const PaperResult& result) { return result.line->name == name; });
  return place == found->second.end() ? nullptr : &*place;
}

const PaperResult* PaperJudge::line(const std::string& table, const std::string& name) const {
  const PaperResult* found = planned(table, name);
  const bool enough = found != nullptr && !found->test.seeds.empty() && found->test.seeds.size() >= seeds_needed(found->test);
  return enough ? found : nullptr;
}

std::string PaperJudge::why_absent(const std::string& table, const std::string& name) const {
  const PaperResult* found = planned(table, name);
  return found == nullptr ? name + " is missing" : presence_text(*found);
}

std::vector<const PaperResult*> PaperJudge::complete_lines(const std::string& table) const {
  std::vector<const PaperResult*> out;
  const auto found = results_.find(table);
  if (found == results_.end()) return out;
  for (const PaperResult& result : found->second) {
    if (result.test.complete()) out.push_back(&result);
  }
  return out;
}

std::vector<std::string> PaperJudge::incomplete_lines(const std::string& table) const {
  std::vector<std::string> out;
  const auto found = results_.find(table);
  if (found == results_.end()) return out;
  for (const PaperResult& result : found->second) {
    if (!result.test.complete()) out.push_back(presence_text(result));
  }
  return out;
}

bool PaperJudge::has_both_ends(const std::string& table) const {
  const std::vector<PaperResult>& lines = results_.at(table);
  return lines.front().test.complete() && lines.back().test.complete();
}

std::optional<PairedDifference> PaperJudge::advantage(const PaperResult& first, const PaperResult& second, Measure measure,
                                          const std::vector<std::string>& conditions, int64_t comparisons) const {
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

Judgement PaperJudge::better(const PaperResult& first, const PaperResult& second, Measure measure, std::string& why,
                 int64_t comparisons) const {
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

Claim PaperJudge::beats(const std::string& id, const std::string& text, const char* table, const std::string& name,
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

}  // namespace l0gm
