#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace l0gm {

struct ContentsOptions {
  std::set<std::string> path_keys;  // options of a configuration that are paths
  bool with_paths = false;          // else no path of the machine is told
  bool brief = false;               // one of many: no single units, fewer points of curves
};

// What a page shows of a run, out of its folder alone: evaluations, metrics, gates, configuration, environment, latency. What is
// not there, or damaged, is a note with the command that makes it. `shown`: how the page calls the run. UserError when it is no
// run, or cannot be trusted.
nlohmann::json run_contents(const std::filesystem::path& run, const std::string& shown, const ContentsOptions& options);

}  // namespace l0gm
