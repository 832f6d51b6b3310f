#pragma once

#include <map>
#include <string>
#include <vector>

#include "l0gm/gate_control.h"

namespace l0gm {

// Chooses among units that are few enough to be tried one by one. From time to time the units that are worth least are closed: a
// unit's worth is the rise of the loss, on examples that weights are not trained on, when it alone is closed. Near the end open
// and closed units are exchanged where that lowers the loss. In between, training closes an open unit now and then and opens a
// closed one, so that the weights know every choice that will be tried, and a closed unit can come back.
//   UnitSearch search({&site}, 0.25, false);
//   search.start();
//   if (search.is_due(step, steps)) search.look(double(step) / steps, losses);  // steps: of annealing
// Whoever can judge whole sets is asked once, when as many are closed as have to be, unless units differ in cost; where that gave
// a better set, units do not change places after it.
class UnitSearch {
 public:
  // share: of the cost, or with `by_count` of the units, that stays open in the end.
  UnitSearch(std::vector<const GateSite*> sites, double share, bool by_count);

  static constexpr double tau = 0.1;  // gates are nearly always open or closed: the weights learn what is measured
  void start();                       // all units open
  bool is_due(int64_t step, int64_t steps) const;
  // `losses`: of the measured examples, with the gates as the logits say. `better`: may be empty.
  void look(double progress, const UnitLosses& losses, const BetterUnits& better = {});

  int64_t measurements() const;            // about how often `losses` will be asked
  double price() const { return price_; }  // rise of the loss per cost, of the unit that was closed last
  const std::vector<Exchange>& exchanges() const { return exchanges_; }
  torch::Tensor memory() const;  // of fixed size
  void restore(const torch::Tensor& memory);

 private:
  double slack() const;               // what a set of units may cost more than is allowed: rounding
  using Mask = std::vector<uint8_t>;  // over the units of all sites
  // What a change of some units does to the loss, and the standard error of that.
  struct Trial {
    std::vector<size_t> units;
    double rise = 0;       // over all examples
    double rise_even = 0;  // over every other example: what is chosen among many by these …
    double rise_odd = 0;   // … is confirmed by the others, which had no say in it
    double error_odd = 0;
    double cost = 1;  // of the unit; where units share costs, what the change saves or adds
  };
  Mask open_units() const;  // by the logits
  double cost_of(const Mask& open) const;
  double allowed_cost(double progress) const;
  bool may_close(const Mask& open, size_t unit) const;  // the last unit of a site may not
  std::vector<double> measured(const Mask& open, const UnitLosses& losses) const;
  // Each change of `open`, measured; by rising loss per cost.
  std::vector<Trial> tried(const Mask& open, const std::vector<std::vector<size_t>>& changes, const UnitLosses& losses) const;
  std::vector<Trial> closing(const Mask& open, const UnitLosses& losses) const;
  void close_least(Mask& open, const std::vector<Trial>& order, double allowed);
  // True: two changed places.
  bool exchange(Mask& open, const std::vector<Trial>& order, double allowed, bool only_measure, const UnitLosses& losses);
  bool take_better(Mask& open, const BetterUnits& better);
  void set_logits(const Mask& open, const std::vector<Trial>& order);

  std::vector<const GateSite*> sites_;
  bool by_count_, shares_costs_ = false, by_number_ = false;
  bool asked_better_ = false, took_better_ = false;
  std::vector<double> cost_;     // of all units, one site after the other
  std::vector<size_t> site_of_;  // each unit's
  double total_ = 0, target_ = 0, price_ = 0;
  std::vector<Exchange> exchanges_;
};

}  // namespace l0gm
