#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/command.h"
#include "metrics/row_values.h"
#include "study/engine.h"
#include "study/run_cells.h"

namespace l0gm {

// What the verbs that run many cells have in common.
struct StudyFlags {
  std::string config, out, shard;
  std::vector<std::string> assignments;
  Workers workers;

  void add_to(CLI::App& verb, bool with_config);
  void add_shard(CLI::App& verb);  // not for a verb whose cells follow from what others came to
  // --out. Without it studies/ and the name of the configuration, which is said.
  StudyFolder folder() const;
  Workers in_shard() const;  // those of --workers, with the part of --shard
  // Runs what is missing; what failed, or is not here, is said. Whether a table can be made: there is something for it.
  Outcome run(const std::vector<StudyCell>& cells, const StudyFolder& study) const;
};

// The table as FOLDER/NAME.json and FOLDER/NAME.md, and to standard output. Where cells failed a UserError once all is
// written.
void write_study(const Common& common, const StudyFolder& folder, const std::string& name, const nlohmann::json& json,
                 const std::string& markdown, const Outcome& outcome, const std::vector<StudyCell>& cells);

// "1e-3,3e-3" as numbers within limits; UserError naming the flag.
std::vector<double> read_numbers(const std::string& flag, const std::string& text, double low, double high);
Measure read_measure(const std::string& name);

}  // namespace l0gm
