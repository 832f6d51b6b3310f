#include "study/paper_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "l0gm/error.h"

namespace l0gm {

extern const std::string_view paper_plans_json;  // the texts of the two files beside this one
extern const std::string_view paper_figures_json;

namespace {

std::vector<PlannedLine> planned_lines(const nlohmann::json& json) {
  std::vector<PlannedLine> lines;
  for (const nlohmann::json& line : json) {
    lines.push_back({line.at("name").get<std::string>(), line.at("settings").get<std::vector<std::string>>()});
  }
  return lines;
}

PlannedTiming timing_of(const nlohmann::json& json) {
  PlannedTiming timing{json.at("command").get<std::vector<std::string>>(), {}};
  for (const nlohmann::json& shown : json.at("shown"))
    timing.shown.push_back({shown.at("name").get<std::string>(), shown.at("batch").get<int64_t>()});
  return timing;
}

PaperPlan plan_of(const nlohmann::json& json, const nlohmann::json& timings) {
  PaperPlan plan;
  plan.name = json.at("name").get<std::string>();
  plan.title = json.at("title").get<std::string>();
  plan.modality = json.at("modality").get<std::string>();
  plan.timing = timing_of(timings.at(plan.modality));
  plan.block = json.at("block").get<std::string>();
  const auto& measures = enum_names<Measure>;
  plan.measure =
      static_cast<Measure>(std::find(measures.begin(), measures.end(), json.at("measure").get<std::string>()) - measures.begin());
  plan.config = json.at("config").get<std::string>();
  const auto texts = [&](const char* key) { return json.at(key).get<std::vector<std::string>>(); };
  plan.quick = texts("quick");
  plan.standalone = texts("standalone");
  plan.integrated = texts("integrated");
  plan.narrow = texts("narrow");
  plan.target = json.at("target").get<double>();
  plan.moderate = json.at("moderate").get<double>();
  plan.high = json.at("high").get<double>();
  plan.lambdas = json.at("lambdas").get<std::vector<double>>();
  plan.backbones = planned_lines(json.at("backbones"));
  plan.ticket = texts("ticket");
  plan.neurons = planned_lines(json.at("neurons"));
  plan.peer_flags = texts("peer_flags");
  plan.peers = json.at("peers").get<std::map<std::string, std::string>>();
  if (json.contains("sensitivity")) plan.sensitivity = texts("sensitivity");
  if (json.contains("priced")) plan.priced = texts("priced");
  plan.keep_perturbed = json.value("keep_perturbed", true);
  plan.note = json.value("note", "");
  plan.recommended = planned_lines(json.value("recommended", nlohmann::json::array()));
  for (const nlohmann::json& line : json.value("left_out", nlohmann::json::array()))
    plan.left_out.push_back({line.at("name").get<std::string>(), line.at("why").get<std::string>()});
  if (!json.contains("tuning")) return plan;
  plan.tuning = json.at("tuning").get<std::string>();
  plan.tuned = planned_lines(json.at("tuned"));
  for (const nlohmann::json& line : json.at("tuned_peers")) {
    plan.tuned_peers.push_back({line.at("name").get<std::string>(), line.at("peer").get<std::string>(),
                                line.at("settings").get<std::vector<std::string>>()});
  }
  return plan;
}

const nlohmann::json& all_paper_figures() {
  static const nlohmann::json figures = nlohmann::json::parse(paper_figures_json);
  return figures;
}

}  // namespace

const std::vector<PaperPlan>& paper_plans() {
  static const std::vector<PaperPlan> plans = [] {
    std::vector<PaperPlan> out;
    const nlohmann::json all = nlohmann::json::parse(paper_plans_json);
    for (const nlohmann::json& json : all.at("plans")) out.push_back(plan_of(json, all.at("timing")));
    return out;
  }();
  return plans;
}

std::vector<std::string> paper_modalities() {
  std::vector<std::string> names;
  for (const PaperPlan& plan : paper_plans()) {
    if (std::find(names.begin(), names.end(), plan.modality) == names.end()) names.push_back(plan.modality);
  }
  return names;
}

std::vector<std::string> names_of_plans(const std::string& modality) {
  std::vector<std::string> names;
  for (const PaperPlan& plan : paper_plans()) {
    if (modality.empty() || plan.modality == modality) names.push_back(plan.name);
  }
  return names;
}

const PaperPlan& paper_plan(const std::string& name) {
  for (const PaperPlan& plan : paper_plans()) {
    if (plan.name == name) return plan;
  }
  const std::vector<std::string> names = names_of_plans();
  throw UserError(fmt::format("--data is '{}'.{} There are plans for: {}", name, did_you_mean(name, names), join(names, ", ")));
}

std::string with_weights_folder(std::string text) {
  constexpr std::string_view begin = "weights/";
  const char* folder = std::getenv("L0GM_WEIGHTS");
  if (folder == nullptr || *folder == 0) return text;
  for (size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at)) {
    const std::string place = std::string(folder) + "/";
    text.replace(at, begin.size(), place);
    at += place.size();
  }
  return text;
}

std::vector<std::string> with_weights_folder(std::vector<std::string> settings) {
  for (std::string& setting : settings) setting = with_weights_folder(std::move(setting));
  return settings;
}

std::optional<PaperFigure> paper_figure(const std::string& table, const std::string& block, const std::string& row,
                                        const std::string& column) {
  const nlohmann::json& figures = all_paper_figures();
  if (!figures.contains(table) || !figures[table].contains(block)) return std::nullopt;
  const nlohmann::json& found = figures[table][block];
  if (!found["rows"].contains(row) || !found["rows"][row].contains(column)) return std::nullopt;
  return PaperFigure{found["rows"][row][column].get<double>(), found["placeholder"].get<bool>()};
}

std::vector<std::string> paper_remarks() { return all_paper_figures().at("remarks").get<std::vector<std::string>>(); }

}  // namespace l0gm
