#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "metrics/row_values.h"

// What the paper's tables are made of for one dataset: data (paper_plans.json), so that no code knows a modality.
namespace l0gm {

struct PlannedLine {
  std::string name;
  std::vector<std::string> settings;
  std::string missing = {};  // why it cannot be run
};

struct PlannedPeer {
  std::string name, peer;
  std::vector<std::string> settings;  // the library's own
  std::string missing = {};
};

struct LeftOut {
  std::string name, why;
};

// How the models of Q2 are timed: a command of this program, and which of the figures that it prints are shown.
struct PlannedTiming {
  struct Shown {
    std::string name;   // "a row alone"
    int64_t batch = 0;  // the median of this batch; 0: of inference over everything at once
  };
  std::vector<std::string> command;  // {file} is the compact file, {run} the run that it was made of
  std::vector<Shown> shown;
};

struct PaperPlan {
  std::string name, title;
  std::string modality;
  std::string block;                         // of the paper's tables; "": the paper has none
  Measure measure = Measure::accuracy;       // the paper's "Acc/AUC"
  std::string config;                        // TOML
  std::vector<std::string> quick;            // settings that make it short
  std::vector<std::string> standalone;       // the backbone of Q1 and of the sensitivity tables
  std::vector<std::string> integrated;       // of Q2
  std::vector<std::string> sensitivity;      // beside `standalone`, for F1 - F3 and the ablation: shorter trainings
  double target = 0.125;                     // share that stays open in Q1, Q2 and the ablation
  double moderate = 0, high = 0;             // prices of F3
  std::vector<double> lambdas;               // of F1
  std::vector<std::string> priced;           // beside a price: gates that a few steps of annealing cannot close want more of them
  std::vector<std::string> narrow;           // a dense model of about the gated one's size; empty: there is none
  std::vector<PlannedLine> backbones;        // trained dense
  std::vector<std::string> ticket;           // lottery tickets are trained twice: as many steps more
  std::vector<PlannedLine> neurons;          // gates elsewhere than at the interface, and pruned structure
  std::map<std::string, std::string> peers;  // name in the table -> name of the peer
  std::vector<std::string> peer_flags;       // for all of them
  std::string note;                          // what else there is to say; "": nothing
  std::vector<PlannedLine> recommended;      // what we would take, in Q1
  std::string tuning;                        // what found the settings of the two lists below; "": they are empty
  std::vector<PlannedLine> tuned;            // of ours, in Q1
  std::vector<PlannedPeer> tuned_peers;
  std::vector<LeftOut> left_out;  // lines that would run but are not worth it for this dataset
  bool keep_perturbed = true;     // whether what is predicted for perturbed copies is kept, row by row
  PlannedTiming timing;
};

// A path below weights/ is below $L0GM_WEIGHTS where that is set.
std::string with_weights_folder(std::string text);
std::vector<std::string> with_weights_folder(std::vector<std::string> settings);

const std::vector<PaperPlan>& paper_plans();
const PaperPlan& paper_plan(const std::string& name);                       // UserError naming those there are
std::vector<std::string> paper_modalities();                                // that there are plans of
std::vector<std::string> names_of_plans(const std::string& modality = {});  // of this one; "": all

// What the paper says: "metric", "worst", "ece", "rob_mu", "latency", "active".
struct PaperFigure {
  double value = 0;
  bool placeholder = false;
};
std::optional<PaperFigure> paper_figure(const std::string& table, const std::string& block, const std::string& row,
                                        const std::string& column);
std::vector<std::string> paper_remarks();

}  // namespace l0gm
