#include "report/run_curves.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "base/files.h"
#include "base/text.h"
#include "run/gate_units.h"

namespace l0gm {
namespace {

constexpr const char* numbers[] = {
    "step", "epoch", "tau", "lambda", "mu", "train_loss", "valid_nll", "active_fraction", "expected_active_fraction", "seconds"};

bool is_complete(const nlohmann::json& line) {
  if (!line.contains("phase") || !line["phase"].is_string()) return false;
  if (!line.contains("step") || !line["step"].is_number_integer()) return false;
  return std::all_of(std::begin(numbers), std::end(numbers),
                     [&](const char* key) { return line.contains(key) && (line[key].is_number() || line[key].is_null()); });
}

// What is no JSON, such as a line that was cut off, is left out.
std::vector<nlohmann::json> lines_of(const std::filesystem::path& file) {
  std::vector<nlohmann::json> lines;
  if (!std::filesystem::is_regular_file(file)) return lines;
  std::istringstream text(read_file(file));
  for (std::string line; std::getline(text, line);) {
    nlohmann::json parsed = nlohmann::json::parse(line, nullptr, false);
    if (parsed.is_object()) lines.push_back(std::move(parsed));
  }
  return lines;
}

// Over all sites; null where the line does not tell it.
nlohmann::json all_gates(const nlohmann::json& line) {
  if (!line.contains("sites") || !line["sites"].is_object()) return nullptr;
  std::vector<int64_t> sum(gate_histogram_bins, 0);
  for (const auto& [site, counts] : line["sites"].items()) {
    if (!counts.is_array() || counts.size() != sum.size()) return nullptr;
    for (size_t i = 0; i < sum.size(); ++i) {
      if (!counts[i].is_number_integer()) return nullptr;
      sum[i] += counts[i].get<int64_t>();
    }
  }
  return sum;
}

// By step.
std::map<int64_t, nlohmann::json> gates_of_steps(const std::filesystem::path& history) {
  std::map<int64_t, nlohmann::json> gates;
  for (const nlohmann::json& line : lines_of(history)) {
    if (line.contains("step") && line["step"].is_number_integer()) gates[line["step"].get<int64_t>()] = all_gates(line);
  }
  return gates;
}

double number_in(const ShownOptions& config, const std::string& key) {
  const auto found = std::find_if(config.begin(), config.end(), [&](const auto& option) { return option.first == key; });
  return found == config.end() ? -1 : parse_double(found->second).value_or(-1);
}

}  // namespace

nlohmann::json run_curves(const std::filesystem::path& metrics, const std::filesystem::path& gate_history, int64_t most_lines) {
  std::vector<nlohmann::json> lines = lines_of(metrics);
  std::erase_if(lines, [](const nlohmann::json& line) { return !is_complete(line); });
  if (lines.empty()) return nullptr;
  const std::map<int64_t, nlohmann::json> gates_at = gates_of_steps(gate_history);
  const auto every = static_cast<size_t>((std::ssize(lines) + most_lines - 1) / most_lines);
  nlohmann::json curves, gates = nlohmann::json::array();
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i % every != 0 && i + 1 != lines.size()) continue;
    for (const char* key : numbers) curves[key].push_back(lines[i][key]);
    curves["phase"].push_back(lines[i]["phase"]);
    const auto found = gates_at.find(lines[i]["step"].get<int64_t>());
    gates.push_back(found == gates_at.end() ? nlohmann::json() : found->second);
  }
  const bool told = std::none_of(gates.begin(), gates.end(), [](const nlohmann::json& counts) { return counts.is_null(); });
  curves["gates"] = told ? gates : nlohmann::json(nullptr);
  return curves;
}

nlohmann::json phases_of_training(const ShownOptions& config, const nlohmann::json& summary, const nlohmann::json& curves) {
  nlohmann::json phases = nlohmann::json::array();
  if (!curves.is_object()) return phases;
  const auto &steps = curves["step"], &names = curves["phase"];
  const auto last = steps.back().get<double>();
  if (std::find(names.begin(), names.end(), "dense") != names.end()) return phases;
  const double warmup = number_in(config, "schedule.warmup"), until = number_in(config, "schedule.anneal_until");
  const double planned = summary.value("planned_steps", -1.0);
  const bool scheduled =
      std::find(config.begin(), config.end(), std::pair<std::string, std::string>("schedule.kind", "anneal")) != config.end();
  if (scheduled && planned > 0 && warmup >= 0 && until > warmup) {
    phases = {{{"name", "warm-up"}, {"from", 0}, {"to", warmup * planned}},
              {{"name", "anneal"}, {"from", warmup * planned}, {"to", std::min(last, until * planned)}}};
    if (until * planned < last) phases.push_back({{"name", "harden"}, {"from", until * planned}, {"to", last}});
    return phases;
  }
  double begin = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i + 1 < names.size() && names[i + 1] == names[i]) continue;
    const double end = steps[i].get<double>();
    phases.push_back({{"name", names[i] == "warmup" ? "warm-up" : names[i].get<std::string>()}, {"from", begin}, {"to", end}});
    begin = end;
  }
  return phases;
}

}  // namespace l0gm
