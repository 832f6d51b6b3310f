#include "report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/log.h"
#include "base/version.h"
#include "l0gm/error.h"
#include "report/page.h"
#include "report/pareto_front.h"
#include "report/run_contents.h"
#include "report/shown_options.h"
#include "report/study_tables.h"
#include "run/run_folder.h"

namespace l0gm {

namespace fs = std::filesystem;

namespace {

constexpr int deepest = 4;  // folders below the one that is named
constexpr const char* front_metrics[] = {"auc", "accuracy", "macro_f1", "nll"};

struct FoundRun {
  fs::path path;
  std::string shown;
};

std::string last_name(const fs::path& path) {
  const fs::path whole = fs::absolute(path).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

// As a command names it where that tells nothing of the machine, else its own name.
std::string shown_path(const fs::path& path, bool with_paths) {
  const fs::path plain = path.lexically_normal();
  const bool inside = plain.is_relative() && !plain.empty() && *plain.begin() != "..";
  const fs::path shown = plain.has_filename() ? plain : plain.parent_path();
  return (with_paths || inside) && shown != "." ? shown.string() : last_name(path);
}

void find_runs(const fs::path& folder, const std::string& shown, int depth, std::vector<FoundRun>& found) {
  if (RunFolder::is_run(folder)) found.push_back({folder, shown});
  if (depth == deepest) return;
  std::error_code error;
  std::vector<fs::path> inner;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_directory(error) && !entry.is_symlink(error)) inner.push_back(entry.path());
  }
  std::sort(inner.begin(), inner.end());
  for (const fs::path& path : inner) {
    const std::string name = path.filename().string();
    find_runs(path, shown.empty() ? name : shown + "/" + name, depth + 1, found);
  }
}

// For each split, dataset and measure: which runs are on the front.
nlohmann::json fronts_of(const nlohmann::json& runs) {
  nlohmann::json fronts = nlohmann::json::object();
  for (const char* split : {"test", "valid"}) {
    std::map<std::string, std::vector<size_t>> by_group;
    for (size_t i = 0; i < runs.size(); ++i) {
      if (runs[i]["evaluations"].contains(split)) by_group[runs[i]["group"].get<std::string>()].push_back(i);
    }
    for (const auto& [group, members] : by_group) {
      for (const char* metric : front_metrics) {
        std::vector<FrontPoint> points;
        for (const size_t i : members) {
          const nlohmann::json& figures = runs[i]["evaluations"][split];
          const double value = figures[metric].is_number() ? figures[metric].get<double>() : std::nan("");
          points.push_back({figures.value("test_rule", "none") == "none" ? 1.0 : figures.value("active_fraction", 1.0), value});
        }
        nlohmann::json& front = fronts[split][group][metric] = nlohmann::json::array();
        for (const size_t place : pareto_front(points, metric != std::string_view("nll"))) front.push_back(members[place]);
      }
    }
  }
  return fronts;
}

nlohmann::json one_run(const FoundRun& run, const ReportOptions& options, bool brief) {
  return run_contents(run.path, run.shown, {options.path_keys, options.with_paths, brief});
}

nlohmann::json several_runs(const std::vector<FoundRun>& found, const std::string& title, const ReportOptions& options) {
  nlohmann::json runs = nlohmann::json::array(), notes = nlohmann::json::array();
  for (const FoundRun& run : found) {
    try {
      runs.push_back(one_run(run, options, true));
    } catch (const UserError& error) {
      log_warning(error.what());
      notes.push_back({{"text", fmt::format("{} is left out: it cannot be read.", run.shown)}, {"command", ""}});
    }
  }
  if (runs.empty()) throw UserError("none of the runs can be read; the warnings above say why");
  return {{"kind", "runs"}, {"title", title}, {"runs", runs}, {"notes", notes}, {"fronts", fronts_of(runs)}};
}

// Too many runs for one page: what only the side-by-side shows goes first.
std::string page_that_fits(nlohmann::json& data, const PlotlyScript& plotly, size_t most_bytes) {
  std::string html = report_html(data, plotly);
  for (const std::string_view part : {"curves", "gates", "reliability", "options"}) {
    if (html.size() <= most_bytes || data["kind"] == "run") break;
    for (nlohmann::json& run : data["runs"]) {
      if (part == "curves") run["metrics"] = nullptr;
      if (part == "gates") run["gates"] = nullptr;
      if (part == "options") run["config"] = nlohmann::json::array();
      for (nlohmann::json& figures : run["evaluations"]) {
        if (part == "reliability") figures.erase("reliability_shown");
      }
    }
    data["notes"].push_back(
        {{"text", fmt::format("{} runs are many: what is side by side below goes without {}.", data["runs"].size(), part)},
         {"command", ""}});
    html = report_html(data, plotly);
  }
  if (html.size() > most_bytes) {
    log_warning(fmt::format("the page has {:.1f} MB; fewer runs make it smaller", 1e-6 * static_cast<double>(html.size())));
  }
  return html;
}

}  // namespace

nlohmann::json report_data(const std::vector<fs::path>& paths, const ReportOptions& options) {
  std::vector<FoundRun> found;
  for (const fs::path& path : paths) {
    if (!fs::exists(path)) throw UserError(fmt::format("{} does not exist", path.string()));
    const bool run = RunFolder::is_run(path);
    if (run) {
      found.push_back({path, shown_path(path, options.with_paths)});
    } else {
      find_runs(path, paths.size() > 1 ? last_name(path) : "", 0, found);
    }
  }
  if (found.empty()) {
    throw UserError(
        fmt::format("there is no run in {}: wanted a folder with run.json, or one with such folders in it. Train one "
                    "with `l0gm train CONFIG.toml --out RUN`.",
                    paths.front().string()));
  }
  const bool own_page = paths.size() == 1 && RunFolder::is_run(paths[0]);
  const std::string title = paths.size() == 1 ? last_name(paths[0]) : fmt::format("{} runs", found.size());
  nlohmann::json data =
      own_page ? nlohmann::json{{"kind", "run"}, {"runs", nlohmann::json::array({one_run(found[0], options, false)})}}
               : several_runs(found, title, options);
  data["studies"] = paths.size() == 1 ? study_tables(paths[0]) : nlohmann::json::array();
  data["made_by"] = fmt::format("l0gm {} ({})", version, commit);
  return data;
}

Report make_report(const std::vector<fs::path>& paths, const ReportOptions& options) {
  nlohmann::json data = report_data(paths, options);
  const PlotlyScript plotly = find_plotly(options.plotly);
  data["plots"] = plotly.packed.empty() ? plotly.why : fmt::format("Figures by plotly.js {} (MIT licence).", plotly.version);
  return {page_that_fits(data, plotly, options.most_bytes), data["runs"].size(),
          plotly.packed.empty() ? "plain drawings" : "plotly.js " + plotly.version};
}

}  // namespace l0gm
