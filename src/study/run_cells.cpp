#include "study/run_cells.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"
#include "base/version.h"
#include "training/modality.h"

namespace l0gm {

namespace fs = std::filesystem;

namespace {

// The bytes of a file; each is read once.
const std::string& hash_of(const fs::path& file, std::map<std::string, std::string>& hashes) {
  std::string& hash = hashes[file.string()];
  if (hash.empty()) hash = sha256_file(file);
  return hash;
}

// Names and bytes of all files of a folder.
std::string hash_of_folder(const fs::path& folder, std::map<std::string, std::string>& hashes) {
  std::vector<std::string> lines;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file())
      lines.push_back(entry.path().lexically_relative(folder).generic_string() + " " + hash_of(entry.path(), hashes));
  }
  std::sort(lines.begin(), lines.end());
  return key_of_text(join(lines, "\n"));
}

// Where datasets and caches lie does not count.
bool says_where(const std::string& key) { return key == "data.dir" || key == "graph.cache"; }

// What a path stands for: a file is its bytes, a run its weights, a folder of data or weights all its files. Runs of this study
// count by their place, which is their key.
std::string identity_of(const fs::path& path, const StudyFolder& folder, std::map<std::string, std::string>& hashes) {
  const fs::path within = path.lexically_relative(folder.path() / "cells");
  if (!within.empty() && *within.begin() != "..") return within.generic_string();
  std::error_code ignored;
  for (const fs::path& file : {path, path / "checkpoint" / "best.safetensors"}) {
    if (fs::is_regular_file(file, ignored)) return hash_of(file, hashes);
  }
  return fs::is_directory(path, ignored) ? hash_of_folder(path, hashes) : "";
}

}  // namespace

std::string configuration_key(const Modality& modality, Config config, const StudyFolder& folder,
                              std::map<std::string, std::string>& hashes) {
  const OptionList options = OptionList::of(config);
  const nlohmann::json all = options.json();
  std::vector<std::string> left_open = config.left_open;
  std::sort(left_open.begin(), left_open.end());
  nlohmann::json counted = {{"l0gm", version},
                            {"named", nlohmann::json::array()},
                            {"rules", modality.resolved_defaults()},
                            {"values", {}}};
  for (const Option& option : options.options()) {
    if (says_where(option.key) || options.unmet(option, modality.name()) != nullptr) continue;
    if (!std::binary_search(left_open.begin(), left_open.end(), option.key)) counted["named"].push_back(option.key);
    if (!all.contains(option.key) || all[option.key].is_null()) continue;
    const bool path = option.is_path && !all[option.key].get<std::string>().empty();
    counted["values"][option.key] =
        path ? nlohmann::json(identity_of(all[option.key].get<std::string>(), folder, hashes)) : all[option.key];
  }
  return key_of_text(counted.dump());
}

RunCells::RunCells(const std::vector<const Modality*>& modalities, fs::path config, std::vector<std::string> assignments,
                   const StudyFolder& folder)
    : modalities_(modalities), config_(fs::absolute(config)), assignments_(std::move(assignments)), folder_(folder) {}

std::vector<std::string> RunCells::all(const std::vector<std::string>& assignments, int64_t seed) const {
  std::vector<std::string> out = assignments_;
  out.insert(out.end(), assignments.begin(), assignments.end());
  out.push_back(fmt::format("train.seed={}", seed));
  return out;
}

Config RunCells::config(const std::vector<std::string>& assignments, int64_t seed) const {
  return read_config(modalities_, config_, all(assignments, seed));
}

RunCells RunCells::with(const std::vector<std::string>& assignments) const {
  RunCells out = *this;
  out.assignments_.insert(out.assignments_.end(), assignments.begin(), assignments.end());
  return out;
}

std::string RunCells::key(const std::vector<std::string>& assignments, int64_t seed) const {
  const Config read = config(assignments, seed);
  return configuration_key(modality_of(modalities_, read.data), read, folder_, hashes_);
}

StudyCell RunCells::cell(const std::string& label, const std::vector<std::string>& assignments, int64_t seed,
                         std::vector<std::string> needs) const {
  StudyCell cell{label, key(assignments, seed), {}, std::move(needs)};
  Step train{"train", {"{l0gm}", "--json", "train", config_.string(), "--out", "{cell}/run", "--resume"}};
  for (const std::string& assignment : all(assignments, seed)) train.words.insert(train.words.end(), {"--set", assignment});
  train.words.insert(train.words.end(), {"--device", "{device}", "--threads", "{threads}"});
  cell.steps.push_back(std::move(train));
  return cell;
}

StudyCell RunCells::rows(const std::vector<std::string>& assignments, int64_t seed, bool perturb) const {
  StudyCell cell{fmt::format("rows of seed {}", seed), "", {}, {}};
  cell.key = key_of_text(fmt::format("export {} {}", key(assignments, seed), perturb));
  Step step{"export", {"{l0gm}", "--json", "data", "export", config_.string(), "--out", "{cell}/data"}};
  for (const std::string& assignment : all(assignments, seed)) step.words.insert(step.words.end(), {"--set", assignment});
  if (perturb) step.words.push_back("--perturb");
  cell.steps.push_back(std::move(step));
  return cell;
}

void judge_on_test_rows(StudyCell& cell, Perturbed perturbed) {
  Step step{perturbed != Perturbed::no ? "perturbed" : "test", {"{l0gm}", "--json", "eval", "{cell}/run", "--split", "test"}};
  if (perturbed != Perturbed::no) step.words.push_back("--perturb");
  if (perturbed == Perturbed::kept) step.words.push_back("--keep-predictions");
  step.words.insert(step.words.end(), {"--device", "{device}", "--threads", "{threads}"});
  cell.steps.push_back(std::move(step));
}

}  // namespace l0gm
