// The options of a gate, as in the section [gate] of a configuration.
//   GateOptions options;
//   options.target_active = 0.125;  // keep 12.5 % of the units open
//   resolve_control(options, false);  // l0gm/gate_control.h: target_active implies control = target
#pragma once

#include <optional>

#include "l0gm/options.h"

namespace l0gm {

enum class UnitKind { dimension, group, fine, none };
enum class LogitKind { global, instance, fixed };
enum class Noise { example, batch };
enum class TestRule { threshold, median, louizos };
enum class Attach { interface, input, heads, ffn, layers, hidden };
enum class ControlKind { lambda, target, top_k };
enum class StaticBy { gradient, magnitude, random, first, last, alternate };
enum class UnitCost { unit, memory, flops, latency, serving };
enum class UnitWorth { automatic, gradient, measured };

template <>
inline constexpr auto enum_names<UnitKind> = std::to_array<std::string_view>({"dimension", "group", "fine", "none"});
template <>
inline constexpr auto enum_names<LogitKind> = std::to_array<std::string_view>({"global", "instance", "static"});
template <>
inline constexpr auto enum_names<Noise> = std::to_array<std::string_view>({"example", "batch"});
template <>
inline constexpr auto enum_names<TestRule> = std::to_array<std::string_view>({"threshold", "median", "louizos"});
template <>
inline constexpr auto enum_names<Attach> =
    std::to_array<std::string_view>({"interface", "input", "heads", "ffn", "layers", "hidden"});
template <>
inline constexpr auto enum_names<ControlKind> = std::to_array<std::string_view>({"lambda", "target", "top-k"});
template <>
inline constexpr auto enum_names<StaticBy> =
    std::to_array<std::string_view>({"gradient", "magnitude", "random", "first", "last", "alternate"});
template <>
inline constexpr auto enum_names<UnitWorth> = std::to_array<std::string_view>({"auto", "gradient", "measured"});
template <>
inline constexpr auto enum_names<UnitCost> = std::to_array<std::string_view>({"unit", "memory", "flops", "latency", "serving"});

struct GateOptions {
  UnitKind unit = UnitKind::dimension;
  LogitKind logits = LogitKind::global;
  Noise noise = Noise::example;
  EnumSet<Attach> attach = Attach::interface;
  ControlKind control = ControlKind::lambda;
  std::optional<double> lambda;
  std::optional<double> target_active;
  std::optional<int64_t> k;
  std::optional<double> target_speedup;
  UnitCost cost = UnitCost::unit;
  UnitWorth worth = UnitWorth::automatic;
  TestRule test_rule = TestRule::threshold;
  double pi = 0.5;
  double gamma = -0.1;
  double zeta = 1.1;
  double init_open = 0.9;
  int64_t map_rank = 0;
  StaticBy static_by = StaticBy::gradient;
  int64_t static_rounds = 1;

  static constexpr double default_lambda = 1e-3;
  // Whether some gates are on parts of the encoder: a text's attention heads, feed-forward neurons, layers.
  bool on_structure() const { return attach.has(Attach::heads) || attach.has(Attach::ffn) || attach.has(Attach::layers); }
  // Whether units are ranked by what warm-up shows of them.
  bool ranks_units() const {
    return logits == LogitKind::fixed && (static_by == StaticBy::gradient || static_by == StaticBy::magnitude);
  }

  template <class Visitor>
  void visit(Visitor& v) {
    v("unit", unit,
      "what one gate opens or closes: an interface dimension, a source column, a category value's dimension, nothing (dense); "
      "graphs: a channel, a block of "
      "channels (`graph.blocks`), a channel of each layer, nothing");
    v("logits", logits, "one learned logit per unit, one per unit and example, or a mask picked once after warm-up and frozen");
    v("noise", noise,
      "fresh noise for every example, or one draw per step; heads, neurons and layers always have one draw per step");
    v("attach", attach,
      "where the gate sits: at the interface between encoder and head, or on the input (tables: a unit is a field, a column or a "
      "value, whatever its width); tables: also on the `hidden` neurons of the deep branch, alone or as `input+hidden`; texts: "
      "also on "
      "attention `heads`, on the neurons of feed-forward parts (`ffn`) and on whole "
      "`layers`, such as `heads+ffn+layers`: what is closed there is not computed");
    v("control", control, "what sets the sparsity; follows from naming `lambda`, `target_active`, `target_speedup` or `k`");
    v("lambda", lambda, "price of one open unit in the loss (1e-3 when `control` is `lambda` and nothing is named)", at_least(0));
    v("target_active", target_active, "share of the units' cost that stays open", Limit{0, 1, true, false});
    v("k", k, "number of units that stay open (top-k)", at_least(1));
    v("target_speedup", target_speedup,
      "texts: how many times as fast as the dense model the trained one is to be, by `gate.cost`; unless they are named, gates "
      "are "
      "on `heads+ffn+layers` and `gate.cost` is `latency`",
      Limit{1, unbounded, true, true});
    v("cost", cost,
      "what a budget or a price buys: `unit`, every column or block costs one (a budget of columns is a number of columns); "
      "`memory`, each costs its dimensions. Gates on heads, neurons and layers: `memory`, parameters; `flops`, operations of a "
      "text "
      "of the training texts' lengths (the default there); `latency`, time as measured on this device when training starts. "
      "Tables: `serving`, nanoseconds that a row takes when the compact file is served; units of kind `dimension` are then what "
      "is looked up at once, a column's table or one statistic");
    v("worth", worth,
      "with `target_active` or `k`, how it is found out what a unit is worth: at every step by the `gradient` of its gate, or "
      "`measured`, by closing it and looking at the validation loss, from time to time, until the budget is met; auto: measured "
      "where units are columns or blocks, at most 256 of them");
    v("test_rule", test_rule, "how evaluation and compaction read a gate");
    v("pi", pi, "threshold of the `threshold` rule: open when sigmoid(logit) > pi", inside(0, 1));
    v("gamma", gamma, "lower end of the stretch", below(0));
    v("zeta", zeta, "upper end of the stretch", above(1));
    v("init_open", init_open, "sigmoid of the logits at the start", inside(0, 1));
    v("map_rank", map_rank, "`instance` logits: rank of the map from the interface to the logits; 0: full", at_least(0));
    v("static_by", static_by,
      "`static` logits: what ranks the units at the end of warm-up; `first`, `last` and `alternate` keep units by their place");
    v("static_rounds", static_rounds,
      "`static` logits by gradient or magnitude: in how many rounds units are closed, evenly spread over annealing and ranked "
      "anew for each; "
      "1: "
      "all at the end of warm-up",
      between(1, 1000));
  }
};

}  // namespace l0gm
