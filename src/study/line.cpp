#include "study/line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/files.h"
#include "base/text.h"
#include "study/markdown.h"

namespace l0gm {

namespace {

double mean_of_values(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? undefined_figure : sum / static_cast<double>(values.size());
}

// "92", or "88-95" over seeds.
std::string range_of(const std::vector<int64_t>& values) {
  if (values.empty()) return "-";
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return *least == *most ? with_thousands(*least) : with_thousands(*least) + "-" + with_thousands(*most);
}

}  // namespace

double figure_of(const Evaluation& evaluation, Measure measure) {
  const MetricsSummary& summary = evaluation.summary;
  switch (measure) {
    case Measure::accuracy:
      return summary.raw.accuracy;
    case Measure::auc:
      return summary.raw.auc;
    case Measure::nll:
      return summary.raw.nll;
    case Measure::brier:
      return summary.raw.brier;
    case Measure::ece:
      return summary.main_ece().value;
  }
  return undefined_figure;
}

std::vector<double> Line::figures(Measure measure) const {
  std::vector<double> out;
  for (const Evaluation& evaluation : evaluations) out.push_back(figure_of(evaluation, measure));
  return out;
}

MeanInterval Line::mean(Measure measure) const { return seed_interval(figures(measure)); }

double Line::worst(Measure measure) const {
  const std::vector<double> values = figures(measure);
  if (values.empty()) return undefined_figure;
  return larger_is_better(measure) ? *std::min_element(values.begin(), values.end())
                                   : *std::max_element(values.begin(), values.end());
}

std::vector<double> Line::active_fractions() const {
  std::vector<double> out;
  for (const Evaluation& evaluation : evaluations) out.push_back(evaluation.gates ? evaluation.gates->active_fraction : 1);
  return out;
}

double Line::active_fraction() const { return mean_of_values(active_fractions()); }

int64_t Line::most_projected() const {
  int64_t most = 0;
  for (const Evaluation& evaluation : evaluations)
    most = std::max(most, evaluation.facts ? evaluation.facts->projected_units : 0);
  return most;
}

int64_t Line::not_converged() const {
  return std::count_if(evaluations.begin(), evaluations.end(),
                       [](const Evaluation& e) { return e.facts && !e.facts->converged; });
}

nlohmann::json Line::to_json() const {
  nlohmann::json json = {{"name", name}, {"runs", evaluations.size()}, {"wanted", keys.size()}, {"cells", keys}};
  const auto finite = [](double value) { return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(); };
  for (const Measure measure : {Measure::accuracy, Measure::auc, Measure::nll, Measure::brier, Measure::ece}) {
    const MeanInterval found = mean(measure);
    nlohmann::json values = nlohmann::json::array();
    for (const double value : figures(measure)) values.push_back(finite(value));
    json["figures"][std::string(name_of_enum(measure))] = {{"mean", finite(found.mean)},
                                                           {"low", finite(found.low)},
                                                           {"high", finite(found.high)},
                                                           {"worst", finite(worst(measure))},
                                                           {"values", values}};
  }
  nlohmann::json units = nlohmann::json::array(), parameters = nlohmann::json::array();
  for (const Evaluation& evaluation : evaluations) {
    if (!evaluation.gates) continue;
    units.push_back(evaluation.gates->open_units);
    parameters.push_back(evaluation.gates->parameters);
  }
  json["active_fraction"] = active_fractions();
  json["open_units"] = units;
  json["parameters"] = parameters;
  json["most_projected_units"] = most_projected();
  json["not_converged"] = not_converged();
  return json;
}

Line read_line(std::string name, std::vector<std::string> keys, const StudyFolder& folder, const std::string& step,
               const std::string& or_else) {
  Line line{std::move(name), std::move(keys), {}};
  for (size_t seed = 0; seed < line.keys.size(); ++seed) {
    for (const std::string& found : {step, or_else}) {
      if (found.empty() || !std::filesystem::exists(folder.product(line.keys[seed], found))) continue;
      line.evaluations.push_back(folder.evaluation(line.keys[seed], found));
      line.seeds.push_back(seed);
      break;
    }
  }
  return line;
}

Line of_seeds(const Line& line, const std::vector<size_t>& seeds) {
  Line out{line.name, {}, {}};
  for (size_t i = 0; i < line.seeds.size(); ++i) {
    if (std::find(seeds.begin(), seeds.end(), line.seeds[i]) == seeds.end()) continue;
    out.seeds.push_back(out.keys.size());
    out.keys.push_back(line.keys[line.seeds[i]]);
    out.evaluations.push_back(line.evaluations[i]);
  }
  return out;
}

std::vector<std::string> gate_head() { return {"active", "open units", "projected", "parameters"}; }

std::vector<std::string> gate_text(const Line& line) {
  std::vector<int64_t> open, parameters, all;
  for (const Evaluation& evaluation : line.evaluations) {
    if (!evaluation.gates) continue;
    open.push_back(evaluation.gates->open_units);
    all.push_back(evaluation.gates->units);
    parameters.push_back(evaluation.gates->parameters);
  }
  if (open.empty()) return {"-", "-", "-", "-"};
  const int64_t failed = line.not_converged();
  const std::string projected =
      with_thousands(line.most_projected()) + (failed == 0 ? "" : fmt::format(", {} NOT CONVERGED", failed));
  return {fmt::format("{:.1f} %", 100 * line.active_fraction()), range_of(open) + " of " + range_of(all), projected,
          range_of(parameters)};
}

std::vector<std::string> figure_head(Measure worst_of) {
  return {"accuracy", "AUC", "NLL", "ECE (floor)", fmt::format("worst {}", name_of_enum(worst_of))};
}

std::vector<std::string> figure_texts(const Line& line, Measure worst_of) {
  std::vector<double> floors;
  for (const Evaluation& evaluation : line.evaluations) floors.push_back(evaluation.summary.main_ece().floor);
  return {figure_text(line.mean(Measure::accuracy).mean), figure_text(line.mean(Measure::auc).mean),
          figure_text(line.mean(Measure::nll).mean),
          fmt::format("{} ({})", figure_text(line.mean(Measure::ece).mean), figure_text(mean_of_values(floors))),
          figure_text(line.worst(worst_of))};
}

namespace {

std::optional<PairedDifference> computed_difference(const Line& first, const Line& second, const StudyFolder& folder,
                                                    const std::vector<std::string>& files, Measure measure, int64_t comparisons) {
  std::vector<RowDifferences> differences;
  for (size_t seed = 0; seed < std::min(first.keys.size(), second.keys.size()); ++seed) {
    const auto of_first = folder.run(first.keys[seed]) / "predictions", of_second = folder.run(second.keys[seed]) / "predictions";
    RowDifferences mean;
    for (const std::string& file : files) {
      if (!std::filesystem::exists(of_first / file) || !std::filesystem::exists(of_second / file)) return std::nullopt;
      const RowDifferences found =
          row_differences(read_predictions(of_first / file), read_predictions(of_second / file), measure);
      if (mean.rows.empty()) mean = {found.rows, std::vector<double>(found.rows.size(), 0.0)};
      if (found.rows != mean.rows) return std::nullopt;  // not copies of the same rows
      for (size_t i = 0; i < found.values.size(); ++i) mean.values[i] += found.values[i] / static_cast<double>(files.size());
    }
    differences.push_back(std::move(mean));
  }
  if (differences.empty()) return std::nullopt;
  // Tails that are cut off have some fifty draws, however many comparisons there are.
  return paired_bootstrap(differences, 0, static_cast<int>(2000 * std::min<int64_t>(comparisons, 50)), joint_level(comparisons));
}

std::optional<PairedDifference> kept_difference(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return std::nullopt;
  try {
    const nlohmann::json kept = nlohmann::json::parse(read_file(file));
    return PairedDifference{kept.at("mean").get<double>(), kept.at("low").get<double>(), kept.at("high").get<double>(),
                            kept.at("rows").get<int64_t>(), kept.at("runs").get<int64_t>()};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;  // damaged: as if it were not there
  }
}

}  // namespace

std::optional<PairedDifference> compare_lines(const Line& first, const Line& second, const StudyFolder& folder, Split split,
                                              Measure measure, const std::vector<std::string>& conditions, int64_t comparisons) {
  std::vector<std::string> files;
  for (const std::string& name : conditions) files.push_back(fmt::format("{}-{}.csv", name_of_enum(split), name));
  if (conditions.empty()) files.push_back(std::string(name_of_enum(split)) + ".csv");
  const std::string asked = fmt::format("{} less {}: {} of {}, {} at once", join(first.keys, " "), join(second.keys, " "),
                                        name_of_enum(measure), join(files, " "), comparisons);
  const std::filesystem::path file = folder.path() / "differences" / (key_of_text(asked) + ".json");
  const auto found = computed_difference(first, second, folder, files, measure, comparisons);
  if (!found) return kept_difference(file);
  if (std::isfinite(found->mean) && std::isfinite(found->low) && std::isfinite(found->high)) {
    std::filesystem::create_directories(file.parent_path());
    write_file_atomically(file, nlohmann::json{{"of", asked},
                                               {"mean", found->mean},
                                               {"low", found->low},
                                               {"high", found->high},
                                               {"rows", found->rows},
                                               {"runs", found->runs}}
                                        .dump(1) +
                                    "\n");
  }
  return found;
}

}  // namespace l0gm
