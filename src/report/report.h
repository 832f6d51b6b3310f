#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

// A page about runs, out of their folders alone:
//   const Report report = make_report({"runs/bank"}, options);
//   write_file_atomically("bank.html", report.html);
namespace l0gm {

struct ReportOptions {
  std::set<std::string> path_keys;  // options of a configuration that are paths
  bool with_paths = false;          // else no path of the machine is in the page
  std::string plotly;               // a plotly.min.js; "": where it is known to lie; "none": plain drawings
  size_t most_bytes = 5'000'000;    // of the page: of many runs less is told, and the page says what is left out
};

struct Report {
  std::string html;
  size_t runs = 0;
  std::string plots;  // who draws: "plotly.js 3.4.0", or why it is not Plotly
};

// One run: its own page. Several, or folders of runs: they are compared. UserError when there is no run.
Report make_report(const std::vector<std::filesystem::path>& paths, const ReportOptions& options);

// The data of a page, as its script reads it.
nlohmann::json report_data(const std::vector<std::filesystem::path>& paths, const ReportOptions& options);

}  // namespace l0gm
