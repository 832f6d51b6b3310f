#include "report/pareto_sketch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "report/pareto_front.h"

namespace l0gm {
namespace {

constexpr int height = 11, narrowest = 24, widest = 72;
constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789";

double active_of(const Evaluation& e) { return !e.gates || e.gates->test_rule == "none" ? 1 : e.gates->active_fraction; }

// The results that can be drawn together: of one dataset, each with a value.
bool comparable(const std::vector<Evaluation>& evaluations, bool by_auc) {
  std::set<std::string> datasets;
  int gated = 0;
  for (const Evaluation& e : evaluations) {
    if (!e.facts || !e.gates || !std::isfinite(by_auc ? e.summary.raw.auc : e.summary.raw.accuracy)) return false;
    datasets.insert(e.facts->dataset);
    gated += e.gates->test_rule != "none" ? 1 : 0;
  }
  return evaluations.size() >= 3 && evaluations.size() <= letters.size() && gated >= 2 && datasets.size() == 1;
}

}  // namespace

std::string pareto_sketch(const std::vector<Evaluation>& evaluations, int columns) {
  const bool by_auc = comparable(evaluations, true);
  if (!by_auc && !comparable(evaluations, false)) return "";
  std::vector<FrontPoint> points;
  for (const Evaluation& e : evaluations) points.push_back({active_of(e), by_auc ? e.summary.raw.auc : e.summary.raw.accuracy});
  const auto by_value = [](const FrontPoint& a, const FrontPoint& b) { return a.value < b.value; };
  const double low = std::min_element(points.begin(), points.end(), by_value)->value;
  const double high = std::max_element(points.begin(), points.end(), by_value)->value;
  const int width = std::clamp(columns - 12, narrowest, widest);
  std::vector<std::string> grid(height, std::string(static_cast<size_t>(width), ' '));
  const std::vector<size_t> front = pareto_front(points, true);
  std::string names;
  for (size_t i = 0; i < points.size(); ++i) {
    const double share = high > low ? (points[i].value - low) / (high - low) : 0.5;
    const auto row = static_cast<size_t>(std::lround((1 - share) * (height - 1)));
    const auto column = static_cast<size_t>(std::lround(points[i].active_fraction * (width - 1)));
    char& cell = grid[row][column];
    cell = cell == ' ' ? letters[i] : '*';  // several lie there
    const bool on_front = std::find(front.begin(), front.end(), i) != front.end();
    names += fmt::format("  {} {}{}{}\n", letters[i], std::filesystem::path(evaluations[i].run).filename().string(),
                         on_front ? ", on the front" : "",
                         evaluations[i].facts->converged
                             ? ""
                             : fmt::format(", NOT CONVERGED, {} projected", evaluations[i].facts->projected_units));
  }
  std::string text = fmt::format("\n{} against active fraction\n", by_auc ? "AUC" : "accuracy");
  for (int row = 0; row < height; ++row) {
    const bool labelled = row == 0 || row == height - 1;
    const std::string& line = grid[static_cast<size_t>(row)];
    text += fmt::format("{:>8} │{}\n", labelled ? fmt::format("{:.4f}", row == 0 ? high : low) : "",
                        line.substr(0, line.find_last_not_of(' ') + 1));
  }
  text += "         └";
  for (int i = 0; i < width; ++i) text += "─";
  std::string ticks(static_cast<size_t>(width), ' ');
  ticks.replace(0, 3, "0 %");
  ticks.replace(static_cast<size_t>(width / 2 - 2), 4, "50 %");
  ticks.replace(static_cast<size_t>(width - 5), 5, "100 %");
  return text + "\n          " + ticks + "\n" + names;
}

}  // namespace l0gm
