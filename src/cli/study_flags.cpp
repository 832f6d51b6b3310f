#include "cli/study_flags.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/log.h"
#include "base/text.h"
#include "l0gm/error.h"
#include "study/line.h"

namespace l0gm {

namespace {

// Of bank.toml "bank", of bank.csv.gz as well.
std::string name_of_study(const std::string& config) {
  std::filesystem::path name = std::filesystem::path(config).filename();
  for (const char* packed : {".gz", ".xz", ".zst"}) {
    if (name.extension() == packed) name = name.stem();
  }
  return name.stem().string();
}

}  // namespace

void StudyFlags::add_to(CLI::App& verb, bool with_config) {
  if (with_config) verb.add_option("config", config, "configuration (TOML)")->required();
  const std::string folder_text = "folder of the study; what is there is kept and not run again";
  CLI::Option* const folder_option =
      verb.add_option("-o,--out", out, folder_text + (with_config ? "; default: studies/ and the configuration's name" : ""));
  folder_option->required(!with_config);
  if (with_config) verb.add_option("--set", assignments, "key=value, overrides the configuration for every run; may be repeated");
  verb.add_option("--device", workers.device, "cpu or cuda")->capture_default_str();
  verb.add_option("--workers", workers.count, "runs at a time; 0: one per core, with cuda one per GPU")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  verb.add_option("--threads", workers.threads, "threads of each; 0: the cores, shared out")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
}

void StudyFlags::add_shard(CLI::App& verb) {
  verb.add_option("--shard", shard,
                  "i/n: only the i-th of n parts, for several machines; without it the folder's tables are made");
}

StudyFolder StudyFlags::folder() const {
  if (!out.empty()) return StudyFolder(out);
  const std::filesystem::path place = std::filesystem::path("studies") / name_of_study(config);
  log_info(fmt::format("the study is in {}; --out names another folder", place.string()));
  return StudyFolder(place);
}

Workers StudyFlags::in_shard() const {
  Workers own = workers;
  if (!shard.empty()) read_shard(shard, own);
  return own;
}

Outcome StudyFlags::run(const std::vector<StudyCell>& cells, const StudyFolder& study) const {
  return run_cells(cells, study, in_shard());
}

void write_study(const Common& common, const StudyFolder& folder, const std::string& name, const nlohmann::json& json,
                 const std::string& markdown, const Outcome& outcome, const std::vector<StudyCell>& cells) {
  const std::string missing = outcome.summary(cells);
  nlohmann::json whole = json;
  if (!missing.empty()) whole["incomplete"] = missing;
  const std::string page = markdown + (missing.empty() ? "" : "\nIncomplete:\n" + missing);
  write_file_atomically(folder.path() / (name + ".json"), whole.dump(1) + "\n");
  write_file_atomically(folder.path() / (name + ".md"), page);
  print_result(common, whole, page);
  if (!outcome.failed.empty()) {
    throw UserError(fmt::format("{} of {} cells failed; the same command tries them again", outcome.failed.size(), cells.size()));
  }
}

std::vector<double> read_numbers(const std::string& flag, const std::string& text, double low, double high) {
  std::vector<double> numbers;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string part(trim(text.substr(begin, end - begin)));
    const auto number = parse_double(part);
    if (!number || !(*number >= low && *number <= high)) {
      throw UserError(fmt::format("{} has '{}', wanted numbers from {} to {} with commas between", flag, part, shortest(low),
                                  shortest(high)));
    }
    numbers.push_back(*number);
    begin = end + 1;
  }
  return numbers;
}

Measure read_measure(const std::string& name) {
  const auto& names = enum_names<Measure>;
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw UserError(fmt::format("--measure is '{}', wanted one of accuracy, auc, nll, brier, ece", name));
  return static_cast<Measure>(found - names.begin());
}

}  // namespace l0gm
