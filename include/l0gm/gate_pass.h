#pragma once

#include <functional>
#include <string>
#include <vector>

#include "l0gm/hard_concrete.h"

namespace l0gm {

// A place in a model where units can be opened or closed. Control, objective, report and compaction know nothing else of a model.
struct GateSite {
  std::string name;  // "interface"
  HardConcrete gate{nullptr};
  torch::Tensor index;                            // groups: the unit of each dimension; else undefined
  std::function<std::string(int64_t)> unit_name;  // on demand: sites can have millions of units
};

// One forward pass: where training stands, which draw, which examples. It remembers what each site did, so that expected cost and
// open probabilities are asked of the pass and not of hidden state.
class GatePass {
 public:
  GatePass(GateState state, uint64_t seed, int64_t step, torch::Tensor example_ids);
  static GatePass evaluation(GateState state, torch::Tensor example_ids) { return {state, 0, 0, std::move(example_ids)}; }

  // `index`: fine units, [examples, width]; else the site's own. `ids`: what keys the noise where rows are not the examples
  // (inside an encoder); undefined: the examples' own.
  torch::Tensor apply(const GateSite& site, const torch::Tensor& r, const torch::Tensor& index = {},
                      const torch::Tensor& ids = {});
  // Dropout by the same counter-based numbers, so that a resumed run and a split batch draw the same masks.
  torch::Tensor dropout(const torch::Tensor& x, double share, int64_t place, const torch::Tensor& ids = {}) const;

  const GateState& state() const { return state_; }
  const torch::Tensor& example_ids() const { return example_ids_; }

  struct Record {
    const GateSite* site;
    Gated gated;
    torch::Tensor representation;  // what came in, detached
    torch::Tensor probe;  // ones whose gradient tells what closing would do, per dimension, fine units: per element; only
                          // while ranking units
    torch::Tensor index;  // the unit of each dimension, or of each element; undefined: one unit per dimension
  };
  const std::vector<Record>& records() const { return records_; }
  torch::Tensor expected_cost() const;  // over all sites, a scalar; undefined without sites
  torch::Tensor cost_fraction() const;  // the same as a share of the cost of everything open

  bool probing = false;  // rank units by gradient (static masks)

 private:
  GateState state_;
  uint64_t seed_;
  int64_t step_;
  torch::Tensor example_ids_;
  std::vector<Record> records_;
};

}  // namespace l0gm
