#pragma once

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.h"
#include "data/graph/options.h"
#include "data/options.h"
#include "data/table/options.h"
#include "encoders/text/options.h"
#include "l0gm/coupling.h"
#include "l0gm/gate_options.h"
#include "l0gm/schedule.h"
#include "model/options.h"
#include "training/options.h"
#include "training/prune_options.h"

namespace l0gm {

// Everything a run is made from. What is not here does not influence the result (but device and threads).
struct Config {
  DataOptions data;
  TableOptions table;
  std::map<std::string, ColumnOptions> columns;
  GraphOptions graph;
  LinkOptions link;
  EncoderOptions encoder;
  ModelOptions model;
  FmOptions fm;
  CinOptions cin;
  DistillOptions distill;
  GateOptions gate;
  ScheduleOptions schedule;
  CouplingOptions coupling;
  TrainOptions train;
  PruneOptions prune;
  ServeOptions serve;

  // Options that neither a file nor the command line named: the modality may set them when the data is known (Modality::settle).
  // Not an option itself; empty where a configuration was made by a program.
  std::vector<std::string> left_open;
  bool is_open(std::string_view key) const { return std::find(left_open.begin(), left_open.end(), key) != left_open.end(); }

  template <class Visitor>
  void visit(Visitor& v) {
    v.section("data", data);
    v.section("table", table, "modality = table");
    v.family("columns", columns, "NAME", "modality = table");
    v.section("graph", graph, "modality = graph");
    v.section("link", link, "graph.task = links");
    v.section("encoder", encoder, "modality = text");
    v.section("model", model);
    v.section("fm", fm, "modality = table");
    v.section("cin", cin, "modality = table");
    v.section("distill", distill);
    v.section("gate", gate);
    v.section("schedule", schedule);
    v.section("coupling", coupling);
    v.section("train", train);
    v.section("prune", prune);
    v.section("serve", serve);
  }
};

class Modality;

// All options, and the keys of earlier versions that files may still hold.
OptionList options_of(Config& config);
// File, then --set assignments in order; checked and resolved by the modality that reads data.source.
Config read_config(const std::vector<const Modality*>& modalities, const std::filesystem::path& path,
                   const std::vector<std::string>& assignments);
// A run's own configuration, in which options that were not there when it was trained mean what was done then.
Config read_run_config(const Modality& modality, const std::filesystem::path& path);
std::string to_toml(Config config);
// UserError unless it is one of the modality's models.
void check_model_name(const Modality& modality, const std::string& name);
// Whether the option is read under this configuration, and nobody named it: its default may be replaced.
bool may_be_set(const Modality& modality, Config config, const std::string& key);
// What is set to other than its default and read by nothing under this configuration: a sentence for each.
std::vector<std::string> unread_options(const Modality& modality, Config config);
std::string options_page(const std::vector<const Modality*>& modalities);  // docs/options.md

}  // namespace l0gm
