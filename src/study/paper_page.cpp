#include "study/paper_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "study/markdown.h"

namespace l0gm {

namespace {

double robust_figure(const ConditionFigures& figures, Measure measure) {
  return measure == Measure::auc ? figures.auc : figures.accuracy;
}

// The conditions that every line with any has.
std::set<std::string> shared_conditions(const std::vector<Line>& lines) {
  std::optional<std::set<std::string>> shared;
  for (const Line& line : lines) {
    for (const Evaluation& evaluation : line.evaluations) {
      if (!evaluation.robustness) continue;
      std::set<std::string> own;
      for (const auto& [name, unused] : evaluation.robustness->conditions) {
        if (!shared || shared->contains(name)) own.insert(name);
      }
      shared = own;
    }
  }
  return shared.value_or(std::set<std::string>{});
}

// Microseconds of inference over everything at once, for each: with closed units left out, where there are any.
std::optional<double> latency_at_once(const nlohmann::json& printed) {
  const char* const model = printed.contains("narrowed") ? "narrowed" : "as_trained";
  if (!printed.contains(model) || !printed.contains("nodes")) return std::nullopt;
  return 1e6 * printed[model].at("seconds").get<double>() / printed["nodes"].get<double>();
}

// Median microseconds per example of a batch size, out of what a benchmark printed.
std::optional<double> latency_of(const nlohmann::json& printed, int64_t batch) {
  if (batch == 0) return latency_at_once(printed);
  for (const auto& [name, value] : printed.items()) {
    if (!value.is_array()) continue;
    for (const nlohmann::json& entry : value) {
      if (entry.is_object() && entry.value("batch", int64_t{-1}) == batch && entry.contains("median_us"))
        return entry["median_us"].get<double>();
    }
  }
  return std::nullopt;
}

// Over the seeds that were timed.
std::optional<double> latency_of(const PaperLine& line, int64_t batch, const StudyFolder& folder) {
  std::vector<double> found;
  for (const StudyCell& cell : line.served) {
    if (!std::filesystem::exists(folder.product(cell.key, "latency"))) continue;
    if (const auto us = latency_of(folder.result(cell.key, "latency"), batch)) found.push_back(*us);
  }
  return found.empty() ? std::nullopt : std::optional(seed_interval(found).mean);
}

// What the figures and times of Q2 are of.
std::string timing_text(const PlannedTiming& timing) {
  std::vector<std::string> words;
  bool file = false;
  for (const std::string& word : timing.command) {
    file = file || word == "{file}";
    words.push_back(word == "{file}" ? "FILE" : word == "{run}" ? "RUN" : word);
  }
  return fmt::format("\nFigures are of the runs as `l0gm eval RUN` judges them. Time is by `l0gm {}`{}.\n", join(words, " "),
                     file ? "; FILE is the run's compact file, which is written only where it predicts what the run predicts"
                          : ", closed units left out");
}

std::string with_paper(const std::string& ours, const std::optional<PaperFigure>& paper, int digits = 4) {
  if (!paper) return ours;
  return fmt::format("{} [{}{}]", ours, figure_text(paper->value, digits), paper->placeholder ? "*" : "");
}

std::string percent_of(double share) { return fmt::format("{:.1f} %", 100 * share); }

// What is left of a line: units of its gate, or weights.
std::string active_text(const Line& test, const std::optional<PaperFigure>& paper) {
  const Evaluation& first = test.evaluations[0];
  if (first.facts && first.facts->nonzero_weight_fraction)
    return percent_of(*first.facts->nonzero_weight_fraction) + " of weights";
  return first.gates ? with_paper(percent_of(test.active_fraction()), paper, 2) : "-";
}

std::string inputs_text(const SharedInputs& inputs) {
  if (inputs.lines < 2) return "";
  if (inputs.different.empty()) {
    return fmt::format("\nThe inputs are the same bytes for all {} lines, seed by seed: {} hashes were compared.\n", inputs.lines,
                       inputs.hashes);
  }
  return "\n**Not the same inputs**: " + list_some(inputs.different, 6) + "\n";
}

// Robustness by condition: a line of the table each.
std::string conditions_markdown(const PaperTable& table, const std::vector<PaperResult>& results, const std::string& measure,
                                const SharedInputs& inputs) {
  std::vector<std::string> head = {measure};
  std::vector<std::vector<std::string>> rows;
  for (const PaperResult& result : results) {
    if (result.by_condition.empty()) continue;
    if (head.size() == 1) {
      for (const auto& [name, unused] : result.by_condition) head.push_back(name);
    }
    std::vector<std::string>& row = rows.emplace_back();
    row.push_back(result.line->name);
    for (const auto& [name, figure] : result.by_condition) row.push_back(figure_text(figure));
  }
  if (rows.empty()) return "";
  return fmt::format("\n### {}, on perturbed copies\n\n{}{}", table.title, markdown_table(head, rows), inputs_text(inputs));
}

}  // namespace

std::vector<PaperResult> paper_results(const PaperTable& table, const PaperPlan& plan, const StudyFolder& folder) {
  std::vector<PaperResult> results;
  std::vector<Line> perturbed;
  for (const PaperLine& line : table.lines) {
    PaperResult result;
    result.line = &line;
    std::vector<std::string> keys;
    for (const StudyCell& cell : line.cells) keys.push_back(cell.key);
    result.test = read_line(line.name, keys, folder, "test", "perturbed");
    perturbed.push_back(line.perturbed ? read_line(line.name, keys, folder, "perturbed") : Line{line.name, {}, {}});
    for (const PlannedTiming::Shown& shown : plan.timing.shown)
      result.latency_us.push_back(latency_of(line, shown.batch, folder));
    results.push_back(std::move(result));
  }
  const std::set<std::string> conditions = shared_conditions(perturbed);
  for (size_t i = 0; i < results.size() && !conditions.empty(); ++i) {
    const std::vector<Evaluation>& evaluations = perturbed[i].evaluations;
    for (size_t k = 0; k < evaluations.size(); ++k) {
      if (!evaluations[k].robustness) continue;
      double sum = 0;
      for (const std::string& name : conditions) {
        const double figure = robust_figure(evaluations[k].robustness->conditions.at(name), plan.measure);
        sum += figure;
        results[i].by_condition[name] += figure / static_cast<double>(evaluations.size());
      }
      results[i].rob_mu_by_seed.push_back(sum / static_cast<double>(conditions.size()));
      results[i].rob_mu_seeds.push_back(perturbed[i].seeds[k]);
    }
    results[i].conditions.assign(conditions.begin(), conditions.end());
    if (!results[i].rob_mu_by_seed.empty()) results[i].rob_mu = seed_interval(results[i].rob_mu_by_seed).mean;
  }
  return results;
}

SharedInputs shared_inputs(const PaperTable& table, const StudyFolder& folder) {
  SharedInputs out;
  std::map<std::pair<size_t, std::string>, std::string> first;  // of a seed and a condition
  for (const PaperLine& line : table.lines) {
    bool any = false;
    for (size_t seed = 0; seed < line.cells.size(); ++seed) {
      const std::string& key = line.cells[seed].key;
      if (!std::filesystem::exists(folder.product(key, "perturbed"))) continue;
      const Evaluation evaluation = folder.evaluation(key, "perturbed");
      if (!evaluation.robustness) continue;
      any = true;
      for (const auto& [name, figures] : evaluation.robustness->conditions) {
        ++out.hashes;
        if (first.try_emplace({seed, name}, figures.sha256).first->second != figures.sha256)
          out.different.push_back(fmt::format("{}, seed {}, {}", line.name, seed, name));
      }
    }
    if (any) ++out.lines;
  }
  return out;
}

std::string paper_markdown(const PaperTable& table, const std::vector<PaperResult>& results, const PaperPlan& plan,
                           const SharedInputs& inputs) {
  const bool robust = std::any_of(results.begin(), results.end(), [](const PaperResult& r) { return r.rob_mu.has_value(); });
  const bool timed = table.id == "q2";
  const std::string measure(name_of_enum(plan.measure));
  std::vector<std::string> head = {"line",       "active",
                                   "open units", "projected",
                                   measure,      "worst",
                                   "ECE",        "floor",
                                   "NLL",        plan.measure == Measure::auc ? "accuracy" : "AUC"};
  if (robust) head.push_back("Rob mu");
  for (const PlannedTiming::Shown& shown : plan.timing.shown) {
    if (timed) head.push_back("µs " + shown.name);
  }
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> absent;
  for (const PaperResult& result : results) {
    const PaperLine& line = *result.line;
    const auto paper = [&](const char* column) {
      return line.row.empty() ? std::nullopt : paper_figure(table.id, plan.block, line.row, column);
    };
    const bool not_run = line.missing.empty() && result.test.evaluations.empty();
    if (!line.missing.empty() || not_run) absent.push_back(fmt::format("{}: {}", line.name, not_run ? "not run" : line.missing));
    if (result.test.evaluations.empty()) {
      rows.push_back({line.name, "missing", "", "", with_paper("-", paper("metric")), with_paper("-", paper("worst")),
                      with_paper("-", paper("ece"))});
      continue;
    }
    const Line& test = result.test;
    std::vector<double> floors;
    for (const Evaluation& evaluation : test.evaluations) floors.push_back(evaluation.summary.main_ece().floor);
    const std::vector<std::string> gates = gate_text(test);
    rows.push_back(
        {line.name + (test.complete() ? "" : fmt::format(" ({} of {} seeds)", test.evaluations.size(), test.keys.size())),
         active_text(test, paper("active")), gates[1], gates[2],
         with_paper(figure_text(test.mean(plan.measure).mean), paper("metric")),
         with_paper(figure_text(test.worst(plan.measure)), paper("worst")),
         with_paper(figure_text(test.mean(Measure::ece).mean), paper("ece")), figure_text(seed_interval(floors).mean),
         figure_text(test.mean(Measure::nll).mean),
         figure_text(test.mean(plan.measure == Measure::auc ? Measure::accuracy : Measure::auc).mean)});
    if (robust) rows.back().push_back(result.rob_mu ? with_paper(figure_text(*result.rob_mu), paper("rob_mu")) : "-");
    for (size_t i = 0; timed && i < result.latency_us.size(); ++i) {
      const std::string us = result.latency_us[i] ? figure_text(*result.latency_us[i], 2) : "-";
      rows.back().push_back(result.latency_us[i] && i == 0 ? with_paper(us, paper("latency"), 2) : us);
    }
  }
  std::string text = fmt::format("### {}\n\n{}", table.title, markdown_table(head, rows));
  if (timed) text += timing_text(plan.timing);
  if (!absent.empty()) text += "\nMissing:\n\n- " + join(absent, "\n- ") + "\n";
  return text + conditions_markdown(table, results, measure, inputs);
}

namespace {

nlohmann::json object_in(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return nullptr;
  return nlohmann::json::parse(read_file(file), nullptr, false);
}

std::string said(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? "unknown" : found->is_string() ? found->get<std::string>() : found->dump();
}

// "catboost 1.2.10, numpy 2.4.6, python 3.11.2".
std::string versions_of(const nlohmann::json& summary) {
  std::vector<std::string> names;
  const nlohmann::json versions = summary.value("versions", nlohmann::json::object());
  for (const auto& [name, version] : versions.items())
    names.push_back(name + " " + (version.is_string() ? version.get<std::string>() : version.dump()));
  return join(names, ", ");
}

}  // namespace

std::string machines_markdown(const std::vector<StudyCell>& cells, const StudyFolder& folder) {
  std::map<std::string, std::set<std::string>> machines, libraries;
  for (const StudyCell& cell : cells) {
    const nlohmann::json environment = object_in(folder.run(cell.key) / "environment.json"),
                         peer = object_in(folder.product(cell.key, "peer"));
    if (environment.is_object()) {
      machines[fmt::format("{}, {} of {} cores ({}), LibTorch {}", said(environment, "device"), said(environment, "threads"),
                           said(environment, "cores"), said(environment, "processor"), said(environment, "libtorch"))]
          .insert(cell.key);
    }
    if (peer.is_object()) libraries[fmt::format("{}: {}", said(peer, "method"), versions_of(peer))].insert(cell.key);
  }
  std::string text;
  for (const auto& [machine, keys] : machines) text += fmt::format("- {} cells: {}\n", keys.size(), machine);
  for (const auto& [versions, keys] : libraries) text += fmt::format("- {} cells of {}\n", keys.size(), versions);
  return text.empty() ? "" : "Where they were computed:\n\n" + text;
}

nlohmann::json paper_json(const PaperTable& table, const std::vector<PaperResult>& results) {
  nlohmann::json json = {{"table", table.id}, {"title", table.title}, {"lines", nlohmann::json::array()}};
  for (const PaperResult& result : results) {
    nlohmann::json line = result.test.to_json();
    line["name"] = result.line->name;
    if (!result.line->missing.empty()) line["missing"] = result.line->missing;
    if (result.rob_mu) line["rob_mu"] = {{"mean", *result.rob_mu}, {"values", result.rob_mu_by_seed}};
    json["lines"].push_back(line);
  }
  return json;
}

}  // namespace l0gm
