#include "report/run_contents.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/files.h"
#include "metrics/share_interval.h"
#include "report/run_curves.h"
#include "report/shown_options.h"
#include "run/evaluation.h"
#include "run/gate_units.h"
#include "run/run_folder.h"

namespace l0gm {

namespace fs = std::filesystem;

namespace {

constexpr int64_t most_confused_classes = 100;

// A file of the run; null where it is not there, or is no JSON.
nlohmann::json json_of(const fs::path& file) {
  if (!fs::is_regular_file(file)) return nullptr;
  const nlohmann::json json = nlohmann::json::parse(read_file(file), nullptr, false);
  return json.is_discarded() ? nlohmann::json(nullptr) : json;
}

nlohmann::json bins_of(const Nullable<std::vector<ReliabilityBin>>& bins) {
  if (!bins.value) return nullptr;
  nlohmann::json result = nlohmann::json::array();
  for (const ReliabilityBin& bin : *bins.value) {
    nlohmann::json item = fields_to_json(bin);
    if (bin.count > 0) {
      const Interval interval = share_interval(bin.accuracy, static_cast<double>(bin.count));
      item["interval"] = {interval.low, interval.high};
    }
    result.push_back(item);
  }
  return result;
}

// What the page of several runs shows of each.
constexpr const char* brief_keys[] = {"rows",
                                      "classes",
                                      "class_names",
                                      "nouns",
                                      "dataset",
                                      "accuracy",
                                      "auc",
                                      "macro_f1",
                                      "nll",
                                      "nll_scaled",
                                      "ece",
                                      "ece_floor",
                                      "ece_scaled",
                                      "ece_binary",
                                      "ece_binary_floor",
                                      "ece_binary_scaled",
                                      "units",
                                      "open_units",
                                      "units_are",
                                      "active_fraction",
                                      "projected_units",
                                      "converged",
                                      "parameters",
                                      "test_rule",
                                      "rob_mu",
                                      "conditions",
                                      "reliability_shown"};

nlohmann::json brief_evaluation(const nlohmann::json& json) {
  nlohmann::json kept = nlohmann::json::object();
  for (const char* key : brief_keys) {
    if (json.contains(key)) kept[key] = json[key];
  }
  return kept;
}

// As many digits as a figure can show: pages of many runs stay small.
void round_numbers(nlohmann::json& json) {
  if (json.is_number_float()) {
    const double value = json.get<double>();
    const double scale = value == 0 ? 1 : std::pow(10, 6 - std::ceil(std::log10(std::abs(value))));
    if (std::isfinite(value) && std::isfinite(scale)) json = std::round(value * scale) / scale;
  } else if (json.is_structured()) {
    for (nlohmann::json& item : json) round_numbers(item);
  }
}

// The figures of a split without what no page shows.
nlohmann::json shown_evaluation(Evaluation evaluation, const ContentsOptions& options) {
  const MetricsSummary& s = evaluation.summary;
  const bool two = s.classes == 2;
  const nlohmann::json bins = {{"raw", bins_of(two ? s.raw.reliability_binary : s.raw.reliability)},
                               {"calibrated", bins_of(two ? s.calibrated.reliability_binary : s.calibrated.reliability)}};
  if (evaluation.robustness) {
    for (auto& [name, figures] : evaluation.robustness->conditions) figures.sha256.clear();
  }
  if (evaluation.facts && !options.with_paths) evaluation.facts->dataset = without_machine_path(evaluation.facts->dataset);
  nlohmann::json json = evaluation.to_json();
  for (const char* key : {"run", "split", "calibrator_parameters", "exchanges", "reliability", "reliability_binary",
                          "reliability_scaled", "reliability_binary_scaled"}) {
    json.erase(key);
  }
  json["reliability_shown"] = bins;
  if (s.classes > most_confused_classes) json.erase("confusion");
  return options.brief ? brief_evaluation(json) : json;
}

class Contents {
 public:
  Contents(const fs::path& path, const std::string& shown, const ContentsOptions& options)
      : folder_(RunFolder::open(path)), options_(options), command_(shown) {
    out_ = {{"name", shown},
            {"command_name", command_},
            {"modality", folder_.modality()},
            {"state", folder_.finished()  ? "finished"
                      : folder_.started() ? "still training, or interrupted"
                                          : "never started"},
            {"evaluations", nlohmann::json::object()},
            {"summary", nlohmann::json::object()},
            {"notes", nlohmann::json::array()}};
  }
  nlohmann::json collect() {
    read_config();
    read_evaluations();
    read_summary();
    read_gates();
    out_["metrics"] = run_curves(folder_.metrics(), folder_.gate_history(), options_.brief ? 100 : 400);
    out_["phases"] = phases_of_training(config_, out_["summary"], out_["metrics"]);
    out_["environment"] = environment();
    out_["latency"] = latency();
    return out_;
  }

 private:
  void note(const std::string& text, const std::string& command) {
    out_["notes"].push_back({{"text", text}, {"command", command}});
  }
  std::string eval_command(const char* arguments = "") const { return fmt::format("l0gm eval {}{}", command_, arguments); }

  void read_config() {
    config_ = shown_options(read_file(folder_.config()), options_.path_keys, options_.with_paths);
    out_["config"] = config_;
    for (const auto& [key, value] : config_) {
      if (key == "data.source") out_["dataset"] = value;
      if (key == "train.seed") out_["seed"] = std::strtoll(value.c_str(), nullptr, 10);
    }
  }

  void read_evaluations() {
    for (const Split split : {Split::test, Split::valid}) {
      const std::string name(name_of_enum(split));
      const fs::path file = folder_.evaluation(split);
      if (!fs::is_regular_file(file)) continue;
      try {
        const Evaluation evaluation = Evaluation::from_json(json_of(file).at("evaluation"));
        out_["evaluations"][name] = shown_evaluation(evaluation, options_);
        if (evaluation.facts) out_["dataset"] = out_["evaluations"][name]["dataset"];
      } catch (const nlohmann::json::exception&) {
        note(fmt::format("The figures of evaluation/{}.json are damaged, or of another version.", name),
             eval_command(split == Split::valid ? " --split valid --again" : " --again"));
      }
    }
    if (!folder_.finished()) {
      note("Training has not finished: there are no figures yet.", "");
    } else if (out_["evaluations"].empty()) {
      note("Nobody has judged this run yet.", eval_command());
    } else if (!out_["evaluations"].contains("test")) {
      note("These are figures of validation rows, which chose the weights; test rows have not been looked at.", eval_command());
    }
  }

  void read_summary() {
    const nlohmann::json summary = json_of(folder_.summary());
    if (!summary.is_object()) return;
    for (const char* key : {"best_step", "best_valid_nll", "steps", "planned_steps", "stopped_early", "seconds"}) {
      const auto found = summary.find(key);
      if (found != summary.end() && (found->is_number() || found->is_boolean())) out_["summary"][key] = *found;
    }
  }

  void read_gates() {
    out_["gates"] = nullptr;
    const nlohmann::json json = json_of(folder_.gates());
    if (!json.is_object() || !json.contains("sites")) return;
    try {
      nlohmann::json sites = nlohmann::json::array();
      for (const nlohmann::json& item : json["sites"]) {
        SiteUnits site = fields_from_json<SiteUnits>(item);
        if (std::ssize(site.histogram) != gate_histogram_bins) return;
        if (options_.brief) {
          site.groups.clear();
          site.names.reset();
          site.probability.reset();
          site.open.reset();
          site.group_of.reset();
        }
        sites.push_back(fields_to_json(site));
      }
      out_["gates"] = sites;
    } catch (const nlohmann::json::exception&) {  // damaged, or of another version: the page says how to make it again
    }
  }

  nlohmann::json environment() const {
    const nlohmann::json json = json_of(folder_.environment());
    nlohmann::json shown = nlohmann::json::object();
    if (!json.is_object()) return shown;
    for (const auto& [key, value] : json.items()) {
      if (value.is_string() && !options_.with_paths) {
        shown[key] = without_machine_path(value.get<std::string>());
      } else if (value.is_primitive()) {
        shown[key] = value;
      }
    }
    if (options_.with_paths) shown["run"] = fs::absolute(folder_.path()).lexically_normal().string();
    return shown;
  }

  // Only what the table shows, so that no path comes along.
  nlohmann::json latency() const {
    const nlohmann::json json = json_of(folder_.latency());
    if (!json.is_object() || !json.contains("results") || !json["results"].is_array()) return nullptr;
    nlohmann::json shown = {{"results", nlohmann::json::array()}};
    for (const char* key : {"threads", "runs", "warmup", "memory_bytes"}) {
      if (json.contains(key) && json[key].is_number()) shown[key] = json[key];
    }
    for (const nlohmann::json& result : json["results"]) {
      nlohmann::json item = nlohmann::json::object();
      for (const char* key : {"input", "tokens", "batch", "median_us", "p99_us"}) {
        if (result.is_object() && result.contains(key) && result[key].is_primitive()) item[key] = result[key];
      }
      shown["results"].push_back(item);
    }
    return shown;
  }

  RunFolder folder_;
  const ContentsOptions& options_;
  std::string command_;
  ShownOptions config_;
  nlohmann::json out_;
};

}  // namespace

nlohmann::json run_contents(const fs::path& run, const std::string& shown, const ContentsOptions& options) {
  nlohmann::json contents = Contents(run, shown, options).collect();
  if (options.brief) round_numbers(contents);
  const std::string dataset = contents.value("dataset", ""), modality = contents.value("modality", "");
  contents["group"] = modality.empty() ? dataset : fmt::format("{} ({})", dataset, modality);
  return contents;
}

}  // namespace l0gm
