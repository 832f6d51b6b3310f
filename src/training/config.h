#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/options.h"
#include "data/graph/options.h"
#include "data/options.h"
#include "data/table/options.h"
#include "l0gm/coupling.h"
#include "l0gm/gate_options.h"
#include "l0gm/schedule.h"
#include "model/options.h"
#include "training/options.h"

namespace l0gm {

// Everything a run is made from. What is not here does not influence the result (but device and threads).
struct Config {
  DataOptions data;
  TableOptions table;
  std::map<std::string, ColumnOptions> columns;
  GraphOptions graph;
  LinkOptions link;
  ModelOptions model;
  FmOptions fm;
  CinOptions cin;
  DistillOptions distill;
  GateOptions gate;
  ScheduleOptions schedule;
  CouplingOptions coupling;
  TrainOptions train;

  template <class Visitor>
  void visit(Visitor& v) {
    v.section("data", data);
    v.section("table", table);
    v.family("columns", columns, "NAME");
    v.section("graph", graph);
    v.section("link", link);
    v.section("model", model);
    v.section("fm", fm);
    v.section("cin", cin);
    v.section("distill", distill);
    v.section("gate", gate);
    v.section("schedule", schedule);
    v.section("coupling", coupling);
    v.section("train", train);
  }
};

inline TableModelOptions table_model_options(const Config& config) {
  return {config.model, config.fm, config.cin, config.train.class_weights == ClassWeights::balanced};
}

bool is_graph(const Config& config);  // by data.source

// File, then --set assignments in order; checked and resolved.
Config read_config(const std::filesystem::path& path, const std::vector<std::string>& assignments);
std::string to_toml(Config config);
// What is set to other than its default and read by nothing under this configuration: a sentence for each.
std::vector<std::string> unread_options(Config config);
std::string options_page();  // docs/options.md

}  // namespace l0gm
