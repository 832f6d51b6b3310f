#include "study/compare_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "base/toml_json.h"
#include "baselines/peers.h"
#include "l0gm/error.h"

namespace l0gm {

namespace {

// One table of the file: its keys are asked for one by one, and what nobody asked for is refused.
class PlanPart {
 public:
  PlanPart(const nlohmann::json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json.is_object()) throw UserError(fmt::format("{}: wanted keys and values", where_));
  }

  [[noreturn]] void refuse(const std::string& key, const std::string& why) const {
    throw UserError(fmt::format("{}: {} {}", where_, key, why));
  }

  const nlohmann::json* find(const std::string& key) {
    asked_.push_back(key);
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
  }

  std::string text(const std::string& key, bool needed = false) {
    const nlohmann::json* value = find(key);
    if (value == nullptr && needed) refuse(key, fmt::format("is missing: give it one, {} = \"...\"", key));
    if (value == nullptr) return "";
    if (!value->is_string() || trim(value->get<std::string>()).empty()) refuse(key, "is a text in quotes");
    return value->get<std::string>();
  }

  std::vector<std::string> texts(const std::string& key) {
    const nlohmann::json* value = find(key);
    if (value == nullptr) return {};
    const auto is_text = [](const nlohmann::json& item) { return item.is_string(); };
    if (!value->is_array() || !std::all_of(value->begin(), value->end(), is_text))
      refuse(key, fmt::format("is a list of texts: {} = [\"...\", \"...\"]", key));
    return value->get<std::vector<std::string>>();
  }

  std::vector<std::string> settings(const std::string& key) {
    std::vector<std::string> found = texts(key);
    for (const std::string& item : found) {
      if (item.find('=') == std::string::npos || item.starts_with('='))
        refuse(key, fmt::format("has '{}', wanted key=value, such as \"train.epochs=10\"", item));
    }
    return found;
  }

  bool flag(const std::string& key) {
    const nlohmann::json* value = find(key);
    if (value == nullptr) return false;
    if (!value->is_boolean()) refuse(key, "is true or false");
    return value->get<bool>();
  }

  void refuse_others() const {
    for (const auto& [key, unused] : json_.items()) {
      if (std::find(asked_.begin(), asked_.end(), key) != asked_.end()) continue;
      throw UserError(
          fmt::format("{}: there is no key '{}'.{} There are: {}", where_, key, did_you_mean(key, asked_), join(asked_, ", ")));
    }
  }

 private:
  const nlohmann::json& json_;
  std::string where_;
  std::vector<std::string> asked_;
};

// { "model.interface_dropout" = [0.2, 0.4] }
SearchSpace space_of_choices(PlanPart& part) {
  constexpr const char* wanted = "is a table of keys with two values at least: choose = { \"train.lr\" = [1e-3, 3e-3] }";
  const nlohmann::json* choices = part.find("choose");
  if (choices == nullptr) return {};
  if (!choices->is_object() || choices->empty()) part.refuse("choose", wanted);
  SearchSpace space;
  for (const auto& [key, values] : choices->items()) {
    if (!values.is_array() || values.size() < 2) part.refuse("choose", wanted);
    std::vector<std::string> texts;
    for (const nlohmann::json& value : values) texts.push_back(value.is_string() ? value.get<std::string>() : value.dump());
    space.push_back(axis_of(key, texts));
  }
  constexpr double most = 100;
  if (points_of(space) > most)
    part.refuse("choose", fmt::format("has {:.0f} combinations, wanted {} at most: `l0gm tune` searches larger spaces",
                                      points_of(space), most));
  return space;
}

// The parts of an array of tables, [[data]] or [[line]], each with a name of its own.
template <class Read>
void read_parts(const nlohmann::json& plan, const std::string& key, const std::string& file, const Read& read) {
  const auto found = plan.find(key);
  if (found == plan.end() || !found->is_array() || found->empty())
    throw UserError(fmt::format("{}: there is no [[{}]]: write one for each, with a name", file, key));
  std::set<std::string> names;
  for (size_t i = 0; i < found->size(); ++i) {
    const nlohmann::json& json = (*found)[i];
    const std::string name = json.is_object() && json.contains("name") && json["name"].is_string()
                                 ? fmt::format("'{}'", json["name"].get<std::string>())
                                 : std::to_string(i + 1);
    PlanPart part(json, fmt::format("{}: [[{}]] {}", file, key, name));
    if (!names.insert(part.text("name", true)).second) part.refuse("name", "was given before: each has a name of its own");
    read(part);
    part.refuse_others();
  }
}

template <class Named>
std::vector<std::string> names_in(const std::vector<Named>& list) {
  std::vector<std::string> names;
  for (const Named& item : list) names.push_back(item.name);
  return names;
}

void check_name(const std::string& where, const std::string& name, const std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  throw UserError(fmt::format("{} is '{}'.{} There are: {}", where, name, did_you_mean(name, names), join(names, ", ")));
}

void check_teacher(const ComparePlan& plan, const ComparedLine& line, const std::string& where) {
  check_name(where, line.teacher, names_in(plan.lines));
  const ComparedLine& teacher = *plan.line(line.teacher);
  if (!line.peer.empty()) throw UserError(where + " is for lines of ours: remove it, or peer");
  if (!teacher.peer.empty()) throw UserError(fmt::format("{} is the peer '{}': a teacher is a run of ours", where, teacher.name));
  if (!teacher.choose.empty())
    throw UserError(fmt::format("{} is '{}', which chooses: name a line whose settings are all given", where, teacher.name));
  for (const ComparedData& data : plan.data) {
    if (line.is_for(data.name) && !teacher.is_for(data.name))
      throw UserError(fmt::format("{} is '{}', which is not for '{}': add that to its `only`", where, teacher.name, data.name));
  }
  const ComparedLine* above = &teacher;
  for (size_t steps = 0; above != nullptr && !above->teacher.empty(); ++steps, above = plan.line(above->teacher)) {
    if (above->teacher == line.name || steps > plan.lines.size())
      throw UserError(fmt::format("{} is '{}', which learns from this line in turn: one has to come first", where, teacher.name));
  }
}

}  // namespace

bool ComparedLine::is_for(const std::string& data) const {
  return only.empty() || std::find(only.begin(), only.end(), data) != only.end();
}

const ComparedLine* ComparePlan::line(const std::string& name) const {
  const auto found = std::find_if(lines.begin(), lines.end(), [&](const ComparedLine& one) { return one.name == name; });
  return found == lines.end() ? nullptr : &*found;
}

std::vector<size_t> ComparePlan::order() const {
  std::vector<size_t> out;
  const auto add = [&](const auto& again, size_t i) -> void {
    if (std::find(out.begin(), out.end(), i) != out.end()) return;
    if (!lines[i].teacher.empty()) again(again, static_cast<size_t>(line(lines[i].teacher) - lines.data()));
    out.push_back(i);
  };
  for (size_t i = 0; i < lines.size(); ++i) add(add, i);
  return out;
}

ComparePlan read_compare_plan(const std::filesystem::path& path) {
  const nlohmann::json json = read_toml_as_json(path);
  const std::string file = path.string();
  ComparePlan plan;
  PlanPart top(json, file);
  plan.title = top.text("title");
  plan.perturb = top.flag("perturb");
  plan.spread = top.flag("spread");
  plan.set = top.settings("set");
  plan.reference = top.text("reference");
  if (const std::string layout = top.text("layout"); !layout.empty()) {
    const auto& names = enum_names<CompareLayout>;
    const auto found = std::find(names.begin(), names.end(), layout);
    if (found == names.end()) top.refuse("layout", fmt::format("is '{}', wanted lines or matrix", layout));
    plan.layout = static_cast<CompareLayout>(found - names.begin());
  }
  if (const nlohmann::json* seeds = top.find("seeds")) {
    if (!seeds->is_number_integer() || seeds->get<int64_t>() < 1 || seeds->get<int64_t>() > 1000)
      top.refuse("seeds", "is a whole number from 1 to 1000");
    plan.seeds = seeds->get<int64_t>();
  }
  plan.measures = top.texts("measure");
  if (plan.measures.empty()) {
    if (plan.layout == CompareLayout::matrix)
      plan.measures = {"nll"};
    else
      plan.measures = {"active", "open", "projected", "parameters", "accuracy", "auc", "nll", "nll_scaled", "ece", "ece_scaled"};
    if (plan.perturb) plan.measures.insert(plan.measures.end(), {"rob_mu.accuracy", "rob_mu.auc", "rob_mu.nll"});
  }
  top.find("data");
  top.find("line");
  top.refuse_others();
  read_parts(json, "data", file, [&](PlanPart& part) {
    ComparedData data{part.text("name"), part.text("config"), part.settings("set")};
    if (data.config.empty() && data.set.empty())
      part.refuse("config", "is missing: name a configuration, or say with `set` what the data is");
    if (!data.config.empty()) data.config = std::filesystem::absolute(path.parent_path() / data.config).lexically_normal();
    plan.data.push_back(std::move(data));
  });
  read_parts(json, "line", file, [&](PlanPart& part) {
    ComparedLine line{part.text("name"),    part.settings("set"),   part.text("peer"),
                      part.text("teacher"), space_of_choices(part), part.texts("only")};
    if (!line.peer.empty()) {
      try {
        peer_named(line.peer);
      } catch (const UserError& error) {
        part.refuse("peer", fmt::format("is '{}': {}", line.peer, error.what()));
      }
    }
    plan.lines.push_back(std::move(line));
  });
  for (const ComparedLine& line : plan.lines) {
    const std::string where = fmt::format("{}: [[line]] '{}': ", file, line.name);
    for (const std::string& name : line.only) check_name(where + "only", name, names_in(plan.data));
    if (!line.teacher.empty()) check_teacher(plan, line, where + "teacher");
  }
  if (!plan.reference.empty()) check_name(file + ": reference", plan.reference, names_in(plan.lines));
  return plan;
}

}  // namespace l0gm
