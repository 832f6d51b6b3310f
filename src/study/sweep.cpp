#include "study/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/text.h"
#include "l0gm/error.h"
#include "study/markdown.h"
#include "training/modality.h"

namespace l0gm {

namespace {

struct SweepPoint {
  std::string name;
  std::vector<std::string> assignments;
  bool follows = false;  // starts from the weights of the point before
};

std::vector<SweepPoint> sweep_points(const SweepOptions& options) {
  std::vector<SweepPoint> points;
  if (options.dense) points.push_back({"dense", {"gate.unit=none"}});
  std::vector<double> lambdas = options.lambdas, targets = options.targets;
  std::sort(lambdas.begin(), lambdas.end());
  std::sort(targets.rbegin(), targets.rend());
  for (size_t i = 0; i < lambdas.size(); ++i) {
    points.push_back({fmt::format("lambda {}", shortest(lambdas[i])),
                      {fmt::format("gate.lambda={}", shortest(lambdas[i]))},
                      options.warm_starts && i > 0});
  }
  for (const double target : targets) {
    points.push_back({fmt::format("target {}", shortest(target)), {fmt::format("gate.target_active={}", shortest(target))}});
  }
  return points;
}

// Cells of each point, by seed.
std::vector<std::vector<StudyCell>> cells_by_point(const RunCells& runs, const SweepOptions& options, const StudyFolder& folder) {
  std::vector<std::vector<StudyCell>> out;
  const Config config = runs.config({}, 0);
  // Who starts from another model has no dense teacher by default: neither has the first of the path, or their losses would be
  // of two kinds.
  const bool untaught =
      options.warm_starts && may_be_set(modality_of(runs.modalities(), config.data), config, "distill.dense");
  for (const SweepPoint& point : sweep_points(options)) {
    std::vector<StudyCell> of_point;
    for (int64_t seed = 0; seed < options.seeds; ++seed) {
      std::vector<std::string> assignments = point.assignments, needs;
      if (untaught) assignments.emplace_back("distill.dense=off");
      if (point.follows) {
        needs = {out.back()[static_cast<size_t>(seed)].key};
        assignments.push_back("model.init_from=" + folder.run(needs[0]).string());
      }
      of_point.push_back(runs.cell(fmt::format("{}, seed {}", point.name, seed), assignments, seed, needs));
      if (options.test) judge_on_test_rows(of_point.back(), Perturbed::no);
    }
    out.push_back(std::move(of_point));
  }
  return out;
}

// Half of seven columns is four of them, as for gate.target_active.
double in_whole_units(const Line& line, double budget) {
  const auto units = static_cast<double>(line.evaluations.front().gates ? line.evaluations.front().gates->units : 0);
  return units > 0 ? std::max(budget, std::round(budget * units) / units) : budget;
}

void answer(SweepResult& result, const SweepOptions& options) {
  const bool larger = larger_is_better(options.measure);
  const auto figure = [&](size_t i) { return result.lines[i].mean(options.measure).mean; };
  const auto better = [&](double a, double b) { return larger ? a > b : a < b; };
  std::vector<size_t> all(result.lines.size());
  std::iota(all.begin(), all.end(), size_t{0});
  std::erase_if(all, [&](size_t i) { return !std::isfinite(figure(i)); });
  if (all.empty()) return;
  result.best = *std::min_element(all.begin(), all.end(), [&](size_t a, size_t b) { return better(figure(a), figure(b)); });
  std::optional<size_t> smallest;
  for (const size_t i : all) {
    if (std::abs(figure(i) - figure(result.best)) > options.within) continue;
    if (!smallest || result.lines[i].active_fraction() < result.lines[*smallest].active_fraction()) smallest = i;
  }
  result.choices.push_back({fmt::format("the best {}", name_of_enum(options.measure)), result.best});
  result.choices.push_back({fmt::format("the smallest within {} of it", shortest(options.within)), smallest});
  for (const double budget : options.under) {
    std::optional<size_t> found;
    for (const size_t i : all) {
      if (result.lines[i].active_fraction() > in_whole_units(result.lines[i], budget) + 1e-9) continue;
      if (!found || better(figure(i), figure(*found))) found = i;
    }
    result.choices.push_back({fmt::format("the best with at most {:g} % active", 100 * budget), found});
  }
}

void measure_curve(SweepResult& result, const SweepOptions& options) {
  std::vector<double> shares, figures;
  for (const Line& line : result.lines) {
    shares.push_back(line.active_fraction());
    figures.push_back(line.mean(options.measure).mean);
  }
  result.area_from = *std::min_element(shares.begin(), shares.end());
  result.area_to = 1;
  result.area = area_under_curve(shares, figures, larger_is_better(options.measure), result.area_from, result.area_to);
}

// Per seed: whether each line in the order of rising prices has at most the share of the one before.
std::vector<bool> falling_shares(const std::vector<const Line*>& by_price, int64_t seeds) {
  std::vector<bool> out;
  for (size_t seed = 0; seed < static_cast<size_t>(seeds); ++seed) {
    bool falls = true;
    for (size_t i = 1; i < by_price.size(); ++i) {
      const std::vector<double> before = by_price[i - 1]->active_fractions(), now = by_price[i]->active_fractions();
      if (seed < before.size() && seed < now.size()) falls = falls && now[seed] <= before[seed] + 1e-12;
    }
    out.push_back(falls);
  }
  return out;
}

nlohmann::json difference_json(const std::optional<PairedDifference>& difference) {
  if (!difference || !std::isfinite(difference->mean)) return nullptr;
  return {{"mean", difference->mean},
          {"low", difference->low},
          {"high", difference->high},
          {"rows", difference->rows},
          {"runs", difference->runs}};
}

}  // namespace

double area_under_curve(const std::vector<double>& shares, const std::vector<double>& figures, bool larger_is_better, double from,
                        double to) {
  std::vector<size_t> order(shares.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return shares[a] < shares[b]; });
  double sum = 0, best = undefined_figure, reached = from;
  for (const size_t i : order) {
    if (!std::isfinite(figures[i])) continue;
    const double share = std::clamp(shares[i], from, to);
    if (std::isfinite(best)) sum += best * (share - reached);
    reached = share;
    best = std::isfinite(best) ? (larger_is_better ? std::max(best, figures[i]) : std::min(best, figures[i])) : figures[i];
  }
  if (!std::isfinite(best)) return undefined_figure;
  sum += best * (to - reached);
  return to > from ? sum / (to - from) : best;
}

std::vector<StudyCell> sweep_cells(const RunCells& runs, const SweepOptions& options, const StudyFolder& folder) {
  std::vector<StudyCell> cells;
  for (std::vector<StudyCell>& of_point : cells_by_point(runs, options, folder))
    cells.insert(cells.end(), of_point.begin(), of_point.end());
  return cells;
}

SweepResult sweep_result(const RunCells& runs, const SweepOptions& options, const StudyFolder& folder) {
  SweepResult result;
  const std::vector<SweepPoint> points = sweep_points(options);
  const std::vector<std::vector<StudyCell>> cells = cells_by_point(runs, options, folder);
  for (size_t i = 0; i < points.size(); ++i) {
    std::vector<std::string> keys;
    for (const StudyCell& cell : cells[i]) keys.push_back(cell.key);
    Line line = read_line(points[i].name, keys, folder, "train");
    if (!line.complete()) continue;
    if (options.test) result.test_lines.push_back(read_line(points[i].name, keys, folder, "test"));
    result.lines.push_back(std::move(line));
  }
  if (result.lines.empty()) throw UserError(fmt::format("no line of the sweep in {} is complete yet", folder.path().string()));
  std::vector<const Line*> by_price;
  for (const Line& line : result.lines) {
    if (line.name.starts_with("lambda ")) by_price.push_back(&line);
  }
  if (!by_price.empty()) result.falling = falling_shares(by_price, options.seeds);
  answer(result, options);
  measure_curve(result, options);
  // Which line is the best is read off the same rows: any two might have been compared.
  const int64_t pairs = std::ssize(result.lines) * (std::ssize(result.lines) - 1) / 2;
  const Line& best = result.lines[result.best];
  for (const Line& line : result.lines) {
    result.behind_best.push_back(&line == &best ? std::nullopt
                                                : compare_lines(line, best, folder, Split::valid, options.measure, {}, pairs));
  }
  return result;
}

nlohmann::json SweepResult::to_json(const SweepOptions& options) const {
  nlohmann::json json = {{"measure", name_of_enum(options.measure)},
                         {"seeds", options.seeds},
                         {"lines", nlohmann::json::array()}};
  for (size_t i = 0; i < lines.size(); ++i) {
    json["lines"].push_back(lines[i].to_json());
    json["lines"].back()["behind_best"] = difference_json(behind_best[i]);
    if (i < test_lines.size()) json["lines"].back()["test"] = test_lines[i].to_json();
  }
  json["choices"] = nlohmann::json::array();
  for (const SweepChoice& choice : choices) {
    json["choices"].push_back(
        {{"question", choice.question}, {"line", choice.line ? nlohmann::json(lines[*choice.line].name) : nlohmann::json()}});
  }
  json["area"] = {{"value", std::isfinite(area) ? nlohmann::json(area) : nlohmann::json()}, {"from", area_from}, {"to", area_to}};
  if (!falling.empty()) json["non_increasing"] = falling;
  return json;
}

std::string SweepResult::markdown(const SweepOptions& options) const {
  const auto joined = [](std::vector<std::string> first, const std::vector<std::string>& further) {
    first.insert(first.end(), further.begin(), further.end());
    return first;
  };
  const auto table_of = [&](const std::vector<Line>& shown, bool with_difference) {
    std::vector<std::string> head = joined(joined({"line"}, gate_head()), figure_head(options.measure));
    if (with_difference)
      head.push_back(fmt::format("{} - best line's (95 % for all pairs of lines at once)", name_of_enum(options.measure)));
    std::vector<std::vector<std::string>> rows;
    for (size_t i = 0; i < shown.size(); ++i) {
      rows.push_back(joined(joined({shown[i].name}, gate_text(shown[i])), figure_texts(shown[i], options.measure)));
      if (!with_difference) continue;
      rows.back().push_back(behind_best[i] ? signed_text(behind_best[i]->mean, behind_best[i]->low, behind_best[i]->high) : "");
    }
    return markdown_table(head, rows);
  };
  std::string text = fmt::format("Validation rows, mean over {} seeds; projected units: the most of any seed.\n\n{}\n",
                                 options.seeds, table_of(lines, true));
  for (const SweepChoice& choice : choices) {
    text += fmt::format("- {}: {}\n", choice.question,
                        choice.line ? fmt::format("{} ({:.1f} % active, {} {})", lines[*choice.line].name,
                                                  100 * lines[*choice.line].active_fraction(), name_of_enum(options.measure),
                                                  figure_text(lines[*choice.line].mean(options.measure).mean))
                                    : "none of these lines");
  }
  text += fmt::format("- mean of the best {} within a budget, over budgets from {:.1f} to {:.0f} % active: {}\n",
                      name_of_enum(options.measure), 100 * area_from, 100 * area_to, figure_text(area));
  if (!falling.empty()) {
    const auto rising = std::count(falling.begin(), falling.end(), false);
    text += fmt::format("- the active share {} with the price{}\n", rising == 0 ? "does not rise" : "RISES somewhere",
                        rising == 0 ? ", for every seed" : fmt::format(", for {} of {} seeds", rising, falling.size()));
  }
  if (!test_lines.empty())
    text += fmt::format("\nTest rows of the same runs; nothing was chosen by them.\n\n{}", table_of(test_lines, false));
  return text;
}

}  // namespace l0gm
