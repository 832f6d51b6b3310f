#include "study/compare_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "study/compare_figures.h"
#include "study/markdown.h"

namespace l0gm {

namespace {

bool any_chooses(const ComparePlan& plan) {
  return std::any_of(plan.lines.begin(), plan.lines.end(), [](const ComparedLine& line) { return !line.choose.empty(); });
}

std::string compare_preface(const ComparePlan& plan, bool test) {
  std::string text = plan.title.empty() ? "" : fmt::format("# {}\n\n", plan.title);
  text += fmt::format("{}, mean over {} seed{}{}.", test ? "Test rows" : "Validation rows (`--test`: test rows)", plan.seeds,
                      plan.seeds == 1 ? "" : "s", plan.spread ? " ± standard deviation" : "");
  if (any_chooses(plan)) {
    text += fmt::format(" What is chosen has the least mean NLL on validation rows of the values tried{}.",
                        test ? "" : ", so that its figures on these rows are a little too good");
  }
  if (plan.perturb && !test) text += " Perturbed copies are of test rows: `--test` judges on them.";
  if (!plan.reference.empty()) {
    text += fmt::format(
        " NLL less that of *{}*: 95 %, paired bootstrap over rows that are drawn once for all seeds that share them; each "
        "interval for itself.",
        plan.reference);
  }
  return text + "\n";
}

// " (2 of 3 seeds)" where some are missing.
std::string seeds_text(const Line& line) {
  return line.complete() ? "" : fmt::format(" ({} of {} seeds)", line.evaluations.size(), line.keys.size());
}

std::string chosen_text(const ComparedResult& result) {
  if (result.line->choose.empty() || !result.missing.empty()) return "";
  const auto all = static_cast<int64_t>(points_of(result.line->choose));
  return result.chosen + (result.tried == all ? "" : fmt::format(" ({} of {} tried)", result.tried, all));
}

std::string difference_text(const std::optional<PairedDifference>& difference) {
  return difference ? signed_text(difference->mean, difference->low, difference->high) : "";
}

std::string missing_markdown(const ComparedTable& table, bool with_name) {
  const std::string of = with_name ? table.data->name + ", " : "";
  std::string text;
  if (!table.missing.empty()) text += fmt::format("- {}: {}\n", table.data->name, table.missing);
  for (const ComparedResult& result : table.results) {
    if (!result.missing.empty()) text += fmt::format("- {}{}: {}\n", of, result.line->name, result.missing);
  }
  return text;
}

std::string lines_markdown(const ComparePlan& plan, const ComparedTable& table) {
  const std::string heading = fmt::format("\n## {}\n\n", table.data->name);
  if (!table.missing.empty()) return heading + "Missing: " + table.missing + "\n";
  const bool chooses = std::any_of(table.results.begin(), table.results.end(),
                                   [](const ComparedResult& result) { return !result.line->choose.empty(); });
  std::vector<std::string> head = {"line"};
  if (chooses) head.emplace_back("chosen");
  for (const std::string& measure : plan.measures) head.push_back(measure_head(measure));
  if (!plan.reference.empty()) head.push_back(fmt::format("NLL - that of {}", plan.reference));
  std::vector<std::vector<std::string>> rows;
  for (const ComparedResult& result : table.results) {
    std::vector<std::string>& row = rows.emplace_back();
    row.push_back(result.line->name + (result.missing.empty() ? seeds_text(result.judged) : ""));
    if (chooses) row.push_back(chosen_text(result));
    for (const std::string& measure : plan.measures)
      row.push_back(result.missing.empty() ? measure_text(result, measure, plan.spread) : "missing");
    if (!plan.reference.empty()) row.push_back(difference_text(result.difference));
  }
  const std::string missing = missing_markdown(table, false);
  return heading + markdown_table(head, rows) + (missing.empty() ? "" : "\nMissing:\n\n" + missing);
}

const ComparedResult* result_of(const ComparedTable& table, const ComparedLine& line) {
  const auto found = std::find_if(table.results.begin(), table.results.end(),
                                  [&](const ComparedResult& result) { return result.line->name == line.name; });
  return found == table.results.end() ? nullptr : &*found;
}

// [dataset][line]: the mean over seeds of lines that ended with every seed.
std::vector<std::vector<double>> matrix_of(const ComparePlan& plan, const std::vector<ComparedTable>& tables,
                                           const std::string& measure) {
  std::vector<std::vector<double>> figures;
  for (const ComparedTable& table : tables) {
    std::vector<double>& row = figures.emplace_back();
    for (const ComparedLine& line : plan.lines) {
      const ComparedResult* result = result_of(table, line);
      const bool ended = result != nullptr && result->judged.complete();
      const std::vector<double> found = ended ? figures_of(*result, measure) : std::vector<double>{};
      row.push_back(found.empty() ? undefined_figure : seed_interval(found).mean);
    }
  }
  return figures;
}

std::string matrix_markdown(const ComparePlan& plan, const std::vector<ComparedTable>& tables, const std::string& measure) {
  std::vector<std::string> head = {measure_head(measure)};
  for (const ComparedLine& line : plan.lines) head.push_back(line.name);
  const std::vector<std::vector<double>> figures = matrix_of(plan, tables, measure);
  const std::optional<bool> larger = is_larger_better(measure);
  std::vector<std::vector<std::string>> rows;
  for (size_t d = 0; d < tables.size(); ++d) {
    double best = undefined_figure;
    for (const double figure : figures[d]) {
      if (larger && std::isfinite(figure) && !(*larger ? figure <= best : figure >= best)) best = figure;
    }
    std::vector<std::string>& row = rows.emplace_back(std::vector<std::string>{tables[d].data->name});
    for (size_t i = 0; i < plan.lines.size(); ++i) {
      const ComparedResult* result = result_of(tables[d], plan.lines[i]);
      const bool there = result != nullptr && result->missing.empty();
      const std::string text = there ? measure_text(*result, measure, plan.spread) : "-";
      row.push_back(figures[d][i] == best ? "**" + text + "**" : text + (there ? seeds_text(result->judged) : ""));
    }
  }
  if (larger) {
    const MatrixMeans means = matrix_means(figures, *larger);
    std::vector<std::string> ranks = {fmt::format("mean rank, {} of {} data", means.datasets, tables.size())},
                             relative = {"mean of " + measure_head(measure) + " / best"};
    for (size_t i = 0; i < plan.lines.size(); ++i) {
      ranks.push_back(figure_text(means.rank[i], 2));
      relative.push_back(figure_text(means.relative[i]));
    }
    rows.push_back(ranks);
    if (!*larger) rows.push_back(relative);
  }
  return "\n" + markdown_table(head, rows);
}

std::string differences_markdown(const ComparePlan& plan, const std::vector<ComparedTable>& tables) {
  std::vector<std::string> head = {fmt::format("NLL - that of {}", plan.reference)};
  for (const ComparedLine& line : plan.lines) {
    if (line.name != plan.reference) head.push_back(line.name);
  }
  std::vector<std::vector<std::string>> rows;
  for (const ComparedTable& table : tables) {
    std::vector<std::string>& row = rows.emplace_back(std::vector<std::string>{table.data->name});
    for (const ComparedLine& line : plan.lines) {
      if (line.name == plan.reference) continue;
      const ComparedResult* result = result_of(table, line);
      row.push_back(result == nullptr ? "" : difference_text(result->difference));
    }
  }
  return "\n" + markdown_table(head, rows);
}

}  // namespace

std::string compare_markdown(const Comparison& comparison, const std::vector<ComparedTable>& tables) {
  const ComparePlan& plan = comparison.plan();
  std::string text = compare_preface(plan, comparison.options().test);
  if (plan.layout == CompareLayout::lines) {
    for (const ComparedTable& table : tables) text += lines_markdown(plan, table);
  } else {
    for (const std::string& measure : plan.measures) text += matrix_markdown(plan, tables, measure);
    if (!plan.reference.empty()) text += differences_markdown(plan, tables);
    std::string chosen, missing;
    for (const ComparedTable& table : tables) {
      missing += missing_markdown(table, true);
      for (const ComparedResult& result : table.results) {
        if (const std::string said = chosen_text(result); !said.empty())
          chosen += fmt::format("- {}, {}: {}\n", table.data->name, result.line->name, said);
      }
    }
    if (!chosen.empty()) text += "\nChosen:\n\n" + chosen;
    if (!missing.empty()) text += "\nMissing:\n\n" + missing;
  }
  for (const std::string& measure : unknown_measures(tables, plan.measures)) text += "\nmeasure " + measure + "\n";
  return text;
}

nlohmann::json compare_json(const Comparison& comparison, const std::vector<ComparedTable>& tables) {
  const ComparePlan& plan = comparison.plan();
  const auto finite = [](double value) { return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(); };
  nlohmann::json json = {{"title", plan.title},
                         {"seeds", plan.seeds},
                         {"split", comparison.options().test ? "test" : "valid"},
                         {"measures", plan.measures},
                         {"data", nlohmann::json::array()}};
  for (const ComparedTable& table : tables) {
    nlohmann::json of_data = {{"name", table.data->name}, {"lines", nlohmann::json::array()}};
    if (!table.missing.empty()) of_data["missing"] = table.missing;
    for (const ComparedResult& result : table.results) {
      nlohmann::json line = result.judged.to_json();
      line["name"] = result.line->name;
      if (!result.missing.empty()) line["missing"] = result.missing;
      if (!result.line->choose.empty()) line["chosen"] = result.chosen;
      for (const std::string& measure : plan.measures) {
        const std::vector<double> figures = figures_of(result, measure);
        if (!figures.empty()) line["measures"][measure] = {{"mean", finite(seed_interval(figures).mean)}, {"values", figures}};
      }
      if (result.difference && std::isfinite(result.difference->mean)) {
        line["nll_difference"] = {{"reference", plan.reference},
                                  {"mean", result.difference->mean},
                                  {"low", finite(result.difference->low)},
                                  {"high", finite(result.difference->high)}};
      }
      of_data["lines"].push_back(line);
    }
    json["data"].push_back(of_data);
  }
  if (plan.layout == CompareLayout::matrix) {
    for (const std::string& measure : plan.measures) {
      const std::optional<bool> larger = is_larger_better(measure);
      if (!larger) continue;
      const MatrixMeans means = matrix_means(matrix_of(plan, tables, measure), *larger);
      nlohmann::json& out = json["means"][measure];
      out["data"] = means.datasets;
      for (size_t i = 0; i < plan.lines.size(); ++i) {
        out["rank"][plan.lines[i].name] = finite(means.rank[i]);
        if (!*larger) out["relative"][plan.lines[i].name] = finite(means.relative[i]);
      }
    }
  }
  return json;
}

}  // namespace l0gm
