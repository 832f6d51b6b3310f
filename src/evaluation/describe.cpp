#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "evaluation/evaluate.h"

namespace l0gm {

namespace {

std::string number(const nlohmann::json& result, const char* key, int digits = 4) {
  const auto found = result.find(key);
  if (found == result.end() || found->is_null()) return "-";
  return fmt::format("{:.{}f}", found->get<double>(), digits);
}

std::string percent(const nlohmann::json& result, const char* key) {
  return result.contains(key) ? fmt::format("{:.1f} %", 100 * result[key].get<double>()) : "-";
}

std::string count(const nlohmann::json& result, const char* key) {
  return result.contains(key) ? with_thousands(result[key].get<int64_t>()) : "-";
}

// Two classes are judged on P(class 1), more on the top class.
std::string ece_key(const nlohmann::json& result) { return result.value("classes", 0) == 2 ? "ece_binary" : "ece"; }

size_t shown_width(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> width(rows[0].size(), 0);
  for (const auto& row : rows) {
    for (size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], shown_width(row[c]));
  }
  std::string text;
  for (const auto& row : rows) {
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string blanks(width[c] - shown_width(row[c]), ' ');
      text += c == 0 ? row[c] + blanks : "  " + blanks + row[c];
    }
    text += '\n';
  }
  return text;
}

std::string names_of(const nlohmann::json& columns, size_t most) {
  std::vector<std::string> names;
  for (const auto& column : columns)
    names.push_back(fmt::format("{} ({})", column["name"].get<std::string>(), column["open_dimensions"].get<int64_t>()));
  return list_some(names, most);
}

std::string names_alone(const nlohmann::json& columns, size_t most) {
  std::vector<std::string> names;
  for (const auto& column : columns) names.push_back(column["name"].get<std::string>());
  return list_some(names, most);
}

std::string planted_of(const nlohmann::json& result) {
  const auto& planted = result["planted"];
  return fmt::format("{} of {}{}", planted["found"].size(), planted["planted"].size(),
                     planted["wrong"].empty() ? "" : fmt::format(", {} others", planted["wrong"].size()));
}

// The perturbations that every one of the results with any was judged under.
std::vector<std::string> common_conditions(const std::vector<nlohmann::json>& results) {
  std::vector<std::string> common;
  bool first = true;
  for (const auto& r : results) {
    if (!r.contains("conditions")) continue;
    if (first) {
      for (const auto& [name, unused] : r["conditions"].items()) common.push_back(name);
    }
    first = false;
    std::erase_if(common, [&](const std::string& name) { return !r["conditions"].contains(name); });
  }
  return common;
}

std::string mean_auc(const nlohmann::json& result, const std::vector<std::string>& conditions) {
  if (!result.contains("conditions") || conditions.empty()) return "-";
  double sum = 0;
  for (const std::string& name : conditions) {
    const auto& auc = result["conditions"][name]["auc"];
    if (auc.is_null()) return "-";
    sum += auc.get<double>();
  }
  return fmt::format("{:.4f}", sum / static_cast<double>(conditions.size()));
}

// What has to be known to read the column: over what the mean is, and whether all saw the same copies.
std::string robustness_note(const std::vector<nlohmann::json>& results, const std::vector<std::string>& conditions) {
  const nlohmann::json* reference = nullptr;
  bool same = true, fewer = false;
  for (const auto& r : results) {
    if (!r.contains("conditions")) continue;
    if (reference == nullptr) reference = &r["conditions"];
    fewer = fewer || r["conditions"].size() > conditions.size() || r.contains("missing_conditions");
    for (const std::string& name : conditions) same = same && r["conditions"][name]["sha256"] == (*reference)[name]["sha256"];
  }
  std::string text;
  if (fewer) text += fmt::format("Rob μ is over the {} conditions that all have: {}\n", conditions.size(), list_some(conditions));
  if (!same) text += "Rob μ: the perturbed copies are not the same for all (another seed, split or choice of columns)\n";
  return text;
}

}  // namespace

std::string describe(const nlohmann::json& r) {
  const std::string ece = ece_key(r);
  std::string text = fmt::format("{}  ({}, {} {}, {} classes)\n", r.value("run", ""), r.value("split", ""), count(r, "rows"),
                                 r.contains("mrr")          ? "pairs of nodes"
                                 : r.contains("attributes") ? "nodes"
                                                            : "rows",
                                 r.value("classes", 0));
  text += fmt::format("  accuracy {}   AUC {}   macro-F1 {}\n", number(r, "accuracy"), number(r, "auc"), number(r, "macro_f1"));
  text += fmt::format("  raw         NLL {}   Brier {}   ECE {}  (a perfectly calibrated model of this size: {} ± {})\n",
                      number(r, "nll"), number(r, "brier"), number(r, ece.c_str()), number(r, (ece + "_floor").c_str()),
                      number(r, (ece + "_floor_sd").c_str()));
  text += fmt::format("  calibrated  NLL {}   Brier {}   ECE {}  ({}{})\n", number(r, "nll_scaled"), number(r, "brier_scaled"),
                      number(r, (ece + "_scaled").c_str()), r.value("calibrator", "none"),
                      r.contains("temperature") && !r["temperature"].is_null() ? ", T = " + number(r, "temperature", 3) : "");
  if (r.contains("units")) {
    text += fmt::format("  gate        {} of {} units open ({}), {} of {} parameters remain, rule {}{}\n", count(r, "open_units"),
                        count(r, "units"), percent(r, "active_fraction"), count(r, "parameters"), count(r, "parameters_dense"),
                        r.value("test_rule", ""), r.value("converged", true) ? "" : ", NOT CONVERGED");
    if (r.contains("open_columns")) {
      const bool graph = r.contains("attributes");
      text += fmt::format("  {}  {} of {} are read{}: {}\n", graph ? "attributes" : "columns   ", r["open_columns"].size(),
                          count(r, "columns"), graph ? "" : " (open dimensions)",
                          graph ? names_alone(r["open_columns"], 20) : names_of(r["open_columns"], 20));
    }
  }
  if (r.contains("mrr")) {
    text += fmt::format("  ranking     MRR {}   hits@1 {}   hits@10 {}   hits@50 {}  (each link against {} pairs without one)\n",
                        number(r, "mrr"), number(r, "hits_1"), number(r, "hits_10"), number(r, "hits_50"),
                        count(r, "ranked_negatives"));
  }
  if (r.contains("rob_mu")) {
    text += fmt::format("  robust      mean over {} perturbed copies: accuracy {}   AUC {}   NLL {}\n", r["conditions"].size(),
                        number(r["rob_mu"], "accuracy"), number(r["rob_mu"], "auc"), number(r["rob_mu"], "nll"));
  }
  if (r.contains("planted")) {
    const size_t wrong = r["planted"]["wrong"].size();
    text += fmt::format("  planted     {} of {} informative {} found{}{}\n", r["planted"]["found"].size(),
                        r["planted"]["planted"].size(), r.contains("attributes") ? "attributes" : "columns",
                        wrong == 0 ? "" : fmt::format(", and {} that {} not informative", wrong, wrong == 1 ? "is" : "are"),
                        r.contains("bayes_auc") ? "; the best possible AUC is " + number(r, "bayes_auc") : "");
    if (r["planted"].contains("right_set_open")) {
      text += fmt::format(
          "  per row     the columns that matter for the row are open on {}, those of the other set closed on {} of the rows\n",
          percent(r["planted"], "right_set_open"), percent(r["planted"], "wrong_set_closed"));
    }
  }
  return text;
}

std::string compare(const std::vector<nlohmann::json>& results) {
  const auto any = [&](const char* key) {
    return std::any_of(results.begin(), results.end(), [&](const auto& r) { return r.contains(key); });
  };
  const bool gates = any("units"), planted = any("planted"), robust = any("rob_mu");
  const std::vector<std::string> conditions = common_conditions(results);
  std::vector<std::string> head = {"run"};
  if (gates) head.insert(head.end(), {"active", "open units", "parameters", "columns"});
  head.insert(head.end(), {"accuracy", "AUC", "NLL", "ECE", "floor", "NLL cal.", "ECE cal."});
  if (robust) head.emplace_back("Rob μ AUC");
  if (planted) head.emplace_back("planted found");
  std::vector<std::vector<std::string>> rows = {head};
  for (const auto& r : results) {
    const std::string ece = ece_key(r);
    std::vector<std::string> row = {r.value("run", "") + (r.value("converged", true) ? "" : " (NOT CONVERGED)")};
    if (gates) {
      row.insert(row.end(),
                 {percent(r, "active_fraction"), count(r, "open_units"), count(r, "parameters"),
                  r.contains("open_columns") ? fmt::format("{} of {}", r["open_columns"].size(), count(r, "columns")) : "-"});
    }
    row.insert(row.end(), {number(r, "accuracy"), number(r, "auc"), number(r, "nll"), number(r, ece.c_str()),
                           number(r, (ece + "_floor").c_str()), number(r, "nll_scaled"), number(r, (ece + "_scaled").c_str())});
    if (robust) row.push_back(mean_auc(r, conditions));
    if (planted) row.push_back(r.contains("planted") ? planted_of(r) : "-");
    rows.push_back(row);
  }
  return table(rows) + (robust ? robustness_note(results, conditions) : "");
}

}  // namespace l0gm
