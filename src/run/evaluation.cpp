#include "run/evaluation.h"

#include <algorithm>
#include <cmath>

#include "metrics/calibration.h"
#include "metrics/scores.h"

namespace l0gm {

PlantedReport compare_with_planted(const std::vector<std::string>& planted, const std::vector<OpenInput>& open) {
  PlantedReport report;
  report.planted = planted;
  for (const OpenInput& input : open) {
    const bool informative = std::find(planted.begin(), planted.end(), input.name) != planted.end();
    (informative ? report.found : report.wrong).push_back(input.name);
  }
  const auto found = static_cast<double>(report.found.size());
  report.precision = open.empty() ? 0 : found / static_cast<double>(open.size());
  report.recall = found / static_cast<double>(planted.size());
  return report;
}

ConditionFigures condition_figures(const Predictions& predictions, const std::string& sha256) {
  return {sha256, accuracy(predictions), auc(predictions), nll(predictions),
          predictions.class_count() == 2 ? ece_binary(predictions) : ece(predictions)};
}

RobustnessReport robustness_report(std::map<std::string, ConditionFigures> conditions) {
  RobustnessReport report;
  const auto mean_of = [&](double ConditionFigures::* measure) {
    double sum = 0;
    int64_t count = 0;
    for (const auto& [name, figures] : conditions) {
      if (!std::isfinite(figures.*measure)) continue;
      sum += figures.*measure;
      ++count;
    }
    return count > 0 ? sum / static_cast<double>(count) : undefined_figure;
  };
  report.rob_mu = {mean_of(&ConditionFigures::accuracy), mean_of(&ConditionFigures::auc), mean_of(&ConditionFigures::nll)};
  report.conditions = std::move(conditions);
  return report;
}

nlohmann::json Evaluation::to_json() const {
  nlohmann::json json = further;
  json_fields_detail::Writer writer(json);
  const_cast<Evaluation*>(this)->visit(writer);
  return json;
}

Evaluation Evaluation::from_json(const nlohmann::json& json) {
  Evaluation evaluation;
  json_fields_detail::Reader reader(json);
  evaluation.visit(reader);
  const nlohmann::json known = evaluation.to_json();
  for (const auto& [key, value] : json.items()) {
    if (!known.contains(key)) evaluation.further[key] = value;
  }
  return evaluation;
}

}  // namespace l0gm
