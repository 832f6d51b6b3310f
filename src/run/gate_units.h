#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json_fields.h"

// P(open) of a gate's units, as a run keeps it for those who look at it:
//   record.gates.push_back(gate_histogram("interface", probabilities));   // while training
//   fields_to_json(site_units("interface", "columns", names, probabilities, values));  // at its end: RUN/gates.json
namespace l0gm {

constexpr int gate_histogram_bins = 30;

// How P(open) is spread over the units of a site.
struct GateHistogram {
  std::string site;
  std::vector<int64_t> counts;  // equal bins over [0, 1]
  double sum = 0, sum_of_squares = 0, smallest = 0, largest = 0;
};
GateHistogram gate_histogram(std::string site, std::span<const double> open_probability);

// Units that belong together: the dimensions of a field, the heads of a layer.
struct UnitGroup {
  using HasFields = void;
  std::string name;
  int64_t units = 0, open = 0;
  double mean = 0;  // of P(open)
  template <class Visitor>
  void visit(Visitor& v) {
    v("name", name);
    v("units", units);
    v("open", open);
    v("mean", mean);
  }
};

// The units of one site once gates are fixed. Sites may have millions: single ones are told up to `most_named_units`, groups up
// to `most_told_groups`, those with the most open units.
constexpr int64_t most_named_units = 4096, most_grouped_units = 200'000, most_told_groups = 512;
struct SiteUnits {
  using HasFields = void;
  std::string site, noun;
  int64_t units = 0, open_units = 0, groups_in_all = 0;
  std::vector<int64_t> histogram;  // as GateHistogram::counts
  std::vector<UnitGroup> groups;   // in the order of the model
  // One each; none of them where there are too many.
  std::optional<std::vector<std::string>> names;
  std::optional<std::vector<double>> probability;
  std::optional<std::vector<int64_t>> open;      // 0 or 1
  std::optional<std::vector<int64_t>> group_of;  // place in `groups`
  template <class Visitor>
  void visit(Visitor& v) {
    v("site", site);
    v("noun", noun);
    v("units", units);
    v("open_units", open_units);
    v("groups_in_all", groups_in_all);
    v("histogram", histogram);
    v("groups", groups);
    v("names", names);
    v("probability", probability);
    v("open", open);
    v("group_of", group_of);
  }
};
// `values`: what the test rule makes of each unit; above 0 it is open.
SiteUnits site_units(const std::string& site, const std::string& noun, const std::function<std::string(int64_t)>& unit_name,
                     std::span<const double> open_probability, std::span<const double> values);

// The group of each unit by its name: what stands before "[3]", or before "channel 3" where all names end like that.
std::vector<std::string> group_names(std::span<const std::string> unit_names, const std::string& site);

}  // namespace l0gm
