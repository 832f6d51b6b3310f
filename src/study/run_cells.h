#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "study/cell.h"
#include "training/config.h"

namespace l0gm {

// What a configuration is, in 16 digits: the resolved value of every option that something reads, whether it was named or is a
// default; which ones were named (the data may set the others, by the modality's rules, which count as well); the bytes of the
// files that it names; the version of the program. So a default that changes, and a new option that is read, make other keys:
// nothing is taken for what it is not. Where files lie does not count; a folder within the study's counts by its place there.
// `hashes` of files are computed once.
std::string configuration_key(const Modality& modality, Config config, const StudyFolder& folder,
                              std::map<std::string, std::string>& hashes);

// Makes the cells of one configuration.
//   const StudyCell cell = RunCells(modalities(), "bank.toml", {"train.epochs=5"}, folder).cell("dense", {"gate.unit=none"}, 0);
class RunCells {
 public:
  RunCells(const std::vector<const Modality*>& modalities, std::filesystem::path config, std::vector<std::string> assignments,
           const StudyFolder& folder);

  // Trains: KEY/train.json is the evaluation on validation rows. The configuration is read here: what is wrong with it is a
  // UserError before anything is started. `needs`: cells whose folders the assignments name.
  StudyCell cell(const std::string& label, const std::vector<std::string>& assignments, int64_t seed,
                 std::vector<std::string> needs = {}) const;
  // The rows as files for other programs: KEY/export.json, the files in KEY/data. `perturb`: with perturbed copies of the test
  // rows.
  StudyCell rows(const std::vector<std::string>& assignments, int64_t seed, bool perturb) const;
  Config config(const std::vector<std::string>& assignments, int64_t seed) const;
  RunCells with(const std::vector<std::string>& assignments) const;  // the same, with these behind its own
  const std::vector<const Modality*>& modalities() const { return modalities_; }
  const StudyFolder& folder() const { return folder_; }

 private:
  std::vector<std::string> all(const std::vector<std::string>& assignments, int64_t seed) const;
  std::string key(const std::vector<std::string>& assignments, int64_t seed) const;
  const std::vector<const Modality*>& modalities_;
  std::filesystem::path config_;
  std::vector<std::string> assignments_;
  const StudyFolder& folder_;
  mutable std::map<std::string, std::string> hashes_;
};

// On perturbed copies of the test rows: not at all, figures alone, or with what was predicted for every row.
enum class Perturbed { no, figures, kept };

// Judges the run on test rows as well: KEY/test.json, on perturbed copies KEY/perturbed.json.
void judge_on_test_rows(StudyCell& cell, Perturbed perturbed);

}  // namespace l0gm
