#include "run/gate_units.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <numeric>

namespace l0gm {
namespace {

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

// "age" of "age[3]"; the name itself where it does not end like that.
std::string_view without_index(std::string_view name) {
  const size_t open = name.rfind('[');
  if (open == name.npos || open == 0 || !name.ends_with(']')) return name;
  return all_digits(name.substr(open + 1, name.size() - open - 2)) ? name.substr(0, open) : name;
}

// "layer 2" of "layer 2 head 3", "" of "channel 3"; none where it does not end in a word and a number.
std::optional<std::string_view> without_counted_word(std::string_view name) {
  const size_t number = name.rfind(' ');
  if (number == name.npos || !all_digits(name.substr(number + 1))) return std::nullopt;
  const size_t word = name.substr(0, number).rfind(' ');
  return word == name.npos ? std::string_view() : name.substr(0, word);
}

// Rounded: a picture needs no more, and the file stays small.
double rounded(double probability) { return std::round(probability * 1e4) / 1e4; }

// The groups with the most open units stay; a unit of another one has the place -1.
void keep_most_open(SiteUnits& site, std::vector<int64_t>& group_of) {
  if (std::ssize(site.groups) <= most_told_groups) return;
  std::vector<size_t> order(site.groups.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return site.groups[a].open > site.groups[b].open; });
  order.resize(most_told_groups);
  std::sort(order.begin(), order.end());
  std::vector<int64_t> place(site.groups.size(), -1);
  std::vector<UnitGroup> kept;
  for (const size_t group : order) {
    place[group] = std::ssize(kept);
    kept.push_back(site.groups[group]);
  }
  for (int64_t& group : group_of) group = place[static_cast<size_t>(group)];
  site.groups = std::move(kept);
}

}  // namespace

GateHistogram gate_histogram(std::string site, std::span<const double> open_probability) {
  GateHistogram histogram{std::move(site), std::vector<int64_t>(gate_histogram_bins, 0), 0, 0, 0, 0};
  if (open_probability.empty()) return histogram;
  histogram.smallest = histogram.largest = open_probability[0];
  for (const double p : open_probability) {
    const int bin = std::clamp(static_cast<int>(p * gate_histogram_bins), 0, gate_histogram_bins - 1);
    ++histogram.counts[static_cast<size_t>(bin)];
    histogram.sum += p;
    histogram.sum_of_squares += p * p;
    histogram.smallest = std::min(histogram.smallest, p);
    histogram.largest = std::max(histogram.largest, p);
  }
  return histogram;
}

std::vector<std::string> group_names(std::span<const std::string> unit_names, const std::string& site) {
  const bool counted =
      std::all_of(unit_names.begin(), unit_names.end(), [](const std::string& name) { return without_counted_word(name); });
  std::vector<std::string> groups;
  for (const std::string& name : unit_names) {
    const std::string_view group = counted ? *without_counted_word(name) : without_index(name);
    groups.emplace_back(group.empty() ? std::string_view(site) : group);
  }
  return groups;
}

SiteUnits site_units(const std::string& site, const std::string& noun, const std::function<std::string(int64_t)>& unit_name,
                     std::span<const double> open_probability, std::span<const double> values) {
  SiteUnits result;
  result.site = site;
  result.noun = noun;
  result.units = std::ssize(open_probability);
  result.open_units = std::count_if(values.begin(), values.end(), [](double value) { return value > 0; });
  result.histogram = gate_histogram(site, open_probability).counts;
  if (result.units > most_grouped_units) return result;
  std::vector<std::string> names;
  for (int64_t i = 0; i < result.units; ++i) names.push_back(unit_name ? unit_name(i) : site + " " + std::to_string(i));
  std::map<std::string, int64_t> place;
  std::vector<int64_t> group_of;
  const std::vector<std::string> groups = group_names(names, site);
  for (size_t i = 0; i < groups.size(); ++i) {
    const auto [found, fresh] = place.emplace(groups[i], std::ssize(result.groups));
    if (fresh) result.groups.push_back({groups[i], 0, 0, 0});
    UnitGroup& group = result.groups[static_cast<size_t>(found->second)];
    ++group.units;
    group.open += values[i] > 0 ? 1 : 0;
    group.mean += (open_probability[i] - group.mean) / static_cast<double>(group.units);
    group_of.push_back(found->second);
  }
  result.groups_in_all = std::ssize(result.groups);
  keep_most_open(result, group_of);
  if (result.units > most_named_units) return result;
  result.names = std::move(names);
  result.group_of = std::move(group_of);
  result.probability.emplace();
  result.open.emplace();
  for (size_t i = 0; i < groups.size(); ++i) {
    result.probability->push_back(rounded(open_probability[i]));
    result.open->push_back(values[i] > 0 ? 1 : 0);
  }
  return result;
}

}  // namespace l0gm
