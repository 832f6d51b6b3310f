#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fields.h"
#include "base/split.h"
#include "metrics/summary.h"

// Everything `l0gm eval --json` says, typed; stored in a run as evaluation/SPLIT.json:
//   Evaluation e = Evaluation::from_json(json);  e.summary->raw.nll;  e.gates->open_units;  e.to_json();
namespace l0gm {

// What the gates of a run let through, over the rows of a split.
struct GateReport {
  struct Quantiles {
    using HasFields = void;
    double p05 = 0, p50 = 0, p95 = 0;
    template <class Visitor>
    void visit(Visitor& v) {
      v("p05", p05);
      v("p50", p50);
      v("p95", p95);
    }
  };
  int64_t units = 0, open_units = 0, ever_open_units = 0;
  double active_fraction = 1, active_cost_fraction = 1, expected_active_fraction = 1, undecided_fraction = 0;
  std::optional<Quantiles> active_fraction_quantiles;  // over rows, where gates depend on the row
  int64_t parameters = 0, parameters_dense = 0;        // that remain; of the model as it was trained
  std::string test_rule;
  std::optional<double> served_microseconds, served_microseconds_dense;  // gate.cost = serving: promised, of a row
  std::optional<std::string> units_are;  // what a user calls them, where there is a better word: "columns"

  template <class Visitor>
  void visit(Visitor& v) {
    v("units", units);
    v("open_units", open_units);
    v("ever_open_units", ever_open_units);
    v("active_fraction", active_fraction);
    v("active_cost_fraction", active_cost_fraction);
    v("expected_active_fraction", expected_active_fraction);
    v("undecided_fraction", undecided_fraction);
    v("active_fraction_quantiles", active_fraction_quantiles);
    v("parameters", parameters);
    v("parameters_dense", parameters_dense);
    v("test_rule", test_rule);
    v("served_microseconds", served_microseconds);
    v("served_microseconds_dense", served_microseconds_dense);
    v("units_are", units_are);
  }
};

// An input (a column, an attribute, a head) that is still read.
struct OpenInput {
  using HasFields = void;
  std::string name;
  int64_t open_dimensions = 0;          // of the interface that it feeds
  std::optional<double> share_of_rows;  // for which it is read
  // By how much the NLL of validation rows rises when its cells are shuffled among the rows, and when its units are closed.
  std::optional<double> worth_shuffled, worth_closed;
  template <class Visitor>
  void visit(Visitor& v) {
    v("name", name);
    v("open_dimensions", open_dimensions);
    v("share_of_rows", share_of_rows);
    v("worth_shuffled", worth_shuffled);
    v("worth_closed", worth_closed);
  }
};

struct InputReport {
  int64_t columns = 0;  // that there are
  std::vector<OpenInput> open;
  template <class Visitor>
  void visit(Visitor& v) {
    v("columns", columns);
    v("open_columns", open);
  }
};

// Made data knows its truth: which informative inputs are still read, and which others.
struct PlantedReport {
  using HasFields = void;
  std::vector<std::string> planted, found, wrong;
  double precision = 0, recall = 0;
  std::optional<std::vector<std::string>> product;         // those that tell something together only
  std::optional<double> right_set_open, wrong_set_closed;  // shares of rows, where each row has its own set
  template <class Visitor>
  void visit(Visitor& v) {
    v("planted", planted);
    v("found", found);
    v("wrong", wrong);
    v("precision", precision);
    v("recall", recall);
    v("product", product);
    v("right_set_open", right_set_open);
    v("wrong_set_closed", wrong_set_closed);
  }
};
PlantedReport compare_with_planted(const std::vector<std::string>& planted, const std::vector<OpenInput>& open);

// Figures on one perturbed copy of a split. Who has the same hash was judged on the same inputs.
struct ConditionFigures {
  using HasFields = void;
  std::string sha256;
  double accuracy = undefined_figure, auc = undefined_figure, nll = undefined_figure;
  double ece = undefined_figure;  // ece_binary with two classes
  template <class Visitor>
  void visit(Visitor& v) {
    v("sha256", sha256);
    v("accuracy", accuracy);
    v("auc", auc);
    v("nll", nll);
    v("ece", ece);
  }
};
ConditionFigures condition_figures(const Predictions& predictions, const std::string& sha256);

// How a model does on perturbed copies of a split (data/perturbation.h), raw probabilities.
struct RobustnessReport {
  struct Means {
    using HasFields = void;
    double accuracy = undefined_figure, auc = undefined_figure, nll = undefined_figure;
    template <class Visitor>
    void visit(Visitor& v) {
      v("accuracy", accuracy);
      v("auc", auc);
      v("nll", nll);
    }
  };
  Means rob_mu;  // over the conditions; undefined where every condition's figure is
  std::map<std::string, ConditionFigures> conditions;
  std::optional<std::vector<std::string>> missing_conditions;  // that a peer has not
  template <class Visitor>
  void visit(Visitor& v) {
    v("rob_mu", rob_mu);
    v("conditions", conditions);
    v("missing_conditions", missing_conditions);
  }
};
RobustnessReport robustness_report(std::map<std::string, ConditionFigures> conditions);

// What a modality calls its rows and inputs.
struct Nouns {
  using HasFields = void;
  std::string rows = "rows", columns = "columns";
  template <class Visitor>
  void visit(Visitor& v) {
    v("rows", rows);
    v("columns", columns);
  }
};

// An open unit and the closed one that could best stand in for it: how certain the choice is.
struct UnitExchange {
  using HasFields = void;
  std::string open, closed;
  double rise = 0, error = 0;  // of the validation NLL if they changed places, as measured before gates were fixed
  template <class Visitor>
  void visit(Visitor& v) {
    v("open", open);
    v("closed", closed);
    v("rise", rise);
    v("error", error);
  }
};

// Where a run came from and how its gates were fixed.
struct RunFacts {
  std::string dataset;
  int64_t seed = 0;
  int64_t projected_units = 0;
  bool converged = true;
  std::optional<int64_t>
      late_changes;  // units that changed sides in the last tenth of annealing; none: nothing was chosen by gates
  std::optional<double> logit_spread;                  // of the logits before they were fixed
  std::optional<std::vector<UnitExchange>> exchanges;  // where units were measured: of the open ones that are worth least
  std::optional<double> nonzero_weight_fraction;       // of a run whose weights were pruned
  template <class Visitor>
  void visit(Visitor& v) {
    v("dataset", dataset);
    v("seed", seed);
    v("projected_units", projected_units);
    v("converged", converged);
    v("late_changes", late_changes);
    v("logit_spread", logit_spread);
    v("exchanges", exchanges);
    v("nonzero_weight_fraction", nonzero_weight_fraction);
  }
};

struct Evaluation {
  std::string run;                   // path, or file of predictions
  std::optional<std::string> split;  // none: a single file of predictions
  Nouns nouns;
  MetricsSummary summary;
  std::optional<RunFacts> facts;  // a run's; predictions of other programs have none of the following
  std::optional<GateReport> gates;
  std::optional<InputReport> inputs;
  std::optional<PlantedReport> planted;
  std::optional<double> bayes_auc;  // what the best possible model scores on made data
  std::optional<RobustnessReport> robustness;
  nlohmann::json further = nlohmann::json::object();  // a modality's own figures, beside the others in JSON

  nlohmann::json to_json() const;
  static Evaluation from_json(const nlohmann::json& json);

  template <class Visitor>
  void visit(Visitor& v) {
    v("run", run);
    v("split", split);
    v("nouns", nouns);
    summary.visit(v);
    v.flat(facts, "projected_units");
    v.flat(gates, "units");
    v.flat(inputs, "open_columns");
    v("planted", planted);
    v("bayes_auc", bayes_auc);
    v.flat(robustness, "rob_mu");
  }
};

}  // namespace l0gm
