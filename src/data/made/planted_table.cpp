#include "data/made/planted_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "base/progress.h"
#include "base/random.h"
#include "data/made/made_table.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

constexpr int field_count = 30;
constexpr double decoy_correlation = 0.5;
enum class Part { linear, u_shaped, category, product, selector, set_a, set_b, decoy, noise };

// A slot is a field before it is assigned to a column of the table. A decoy's `like` is the slot it is correlated with.
struct Slot {
  Part part = Part::noise;
  int levels = 0;  // 0: numeric
  int like = -1;
};

struct Plan {
  PlantedVariant variant;
  std::vector<Slot> slots;
  std::array<int, field_count> place;       // slot -> field number
  std::array<int, field_count> decoy_of{};  // slot -> its decoy's slot, or -1
};
using Row = std::array<double, field_count>;  // by slot; a category is its level's number

Plan make_plan(PlantedVariant variant) {
  Plan plan{.variant = variant, .slots = {}, .place = {}};
  std::vector<int> noise_levels = {2, 3, 4, 5, 5, 5, 5, 8, 12, 20};
  std::array<int, 4> decoys{};
  if (variant == PlantedVariant::global) {
    plan.slots = {{Part::linear}, {Part::u_shaped}, {Part::category, 5}, {Part::category, 5}, {Part::product}, {Part::product}};
    decoys = {0, 1, 4, 5};
    plan.place = {17, 4, 22, 9, 27, 12, 2, 19, 8, 24, 0, 29, 6, 14, 21, 11, 3, 26, 16, 7, 28, 1, 13, 20, 5, 23, 10, 18, 25, 15};
  } else {
    plan.slots = {{Part::selector, 2}, {Part::set_a}, {Part::set_a}, {Part::set_a}, {Part::set_b}, {Part::set_b}, {Part::set_b}};
    decoys = {1, 2, 4, 5};
    noise_levels.erase(noise_levels.begin());
    plan.place = {0, 17, 4, 22, 9, 27, 12, 2, 19, 8, 24, 29, 6, 14, 21, 11, 3, 26, 16, 7, 28, 1, 13, 20, 5, 23, 10, 18, 25, 15};
  }
  for (int like : decoys) plan.slots.push_back({Part::decoy, 0, like});
  for (int i = 0; i < 10; ++i) plan.slots.push_back({Part::noise});
  for (int levels : noise_levels) plan.slots.push_back({Part::noise, levels});
  plan.decoy_of.fill(-1);
  for (int slot = 0; slot < field_count; ++slot) {
    if (plan.slots[slot].like >= 0) plan.decoy_of[plan.slots[slot].like] = slot;
  }
  return plan;
}

std::string field_name(int number) { return fmt::format("f{:02}", number); }
std::string level_name(const Slot& slot, int level) {
  if (slot.part == Part::selector) return level == 0 ? "a" : "b";
  return fmt::format("{}{}", static_cast<char>('k' + slot.levels % 10), level);
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
// Uniform on [-1, 1], high at both ends: non-monotone, yet symmetric about 0 like every other term.
double u_shape(double x) { return 4 * std::abs(0.5 * std::erfc(-x * std::sqrt(0.5)) - 0.5) - 1; }

// The coefficients were tuned so that the Bayes AUC is .90 and hiding a field (or the pair) costs .01 - .05 of it.
double logit_of(const Plan& plan, const Row& row) {
  if (plan.variant == PlantedVariant::instance) {
    const int first = row[0] == 0 ? 1 : 4;
    return 1.5 * row[first] - 1.5 * row[first + 1] + 1.5 * row[first + 2];
  }
  constexpr std::array<double, 5> first_effects = {0.78, -1.56, 0, 1.56, -0.78}, second_effects = {-0.78, 0.78, 1.56, -1.56, 0};
  return 1.3 * row[0] + 1.95 * u_shape(row[1]) + first_effects[static_cast<size_t>(row[2])] +
         second_effects[static_cast<size_t>(row[3])] + 1.25 * row[4] * row[5];
}

void draw_row(const Plan& plan, RandomStream& random, Row& row, int slots) {
  for (int slot = 0; slot < slots; ++slot) {
    const Slot& what = plan.slots[slot];
    if (what.levels > 0) {
      row[slot] = static_cast<double>(random.below(what.levels));
      continue;
    }
    double value = random.normal();
    if (what.like >= 0) value = decoy_correlation * row[what.like] + std::sqrt(1 - decoy_correlation * decoy_correlation) * value;
    // As it will be written (and never "-0.0000"): the true probability is that of the rounded value.
    row[slot] = std::round(value * 1e4) / 1e4 + 0.0;
  }
}

std::vector<int> slots_named(const Plan& plan, const std::vector<std::string>& names) {
  std::vector<int> slots;
  for (const std::string& name : names) {
    const auto found = std::find_if(plan.place.begin(), plan.place.end(), [&](int number) { return field_name(number) == name; });
    if (found == plan.place.end()) {
      throw UserError(fmt::format("planted-table has no field '{}': its fields are f00 to f{}.", name, field_count - 1));
    }
    slots.push_back(static_cast<int>(found - plan.place.begin()));
  }
  return slots;
}

// P(yes | all but the hidden slots): a sum over the values of each hidden slot, given its decoy unless that is hidden too.
double marginal_probability(const Plan& plan, Row& row, std::span<const int> hidden, const std::vector<bool>& is_hidden) {
  if (hidden.empty()) return sigmoid(logit_of(plan, row));
  const int slot = hidden.front();
  const double kept = row[slot];
  double sum = 0, weights = 0;
  const auto add = [&](double value, double weight) {
    row[slot] = value;
    sum += weight * marginal_probability(plan, row, hidden.subspan(1), is_hidden);
    weights += weight;
  };
  if (const int levels = plan.slots[slot].levels; levels > 0) {
    for (int level = 0; level < levels; ++level) add(level, 1);
  } else {
    const int decoy = plan.decoy_of[slot];
    const bool informed = decoy >= 0 && !is_hidden[decoy];
    const double mean = informed ? decoy_correlation * row[decoy] : 0;
    const double deviation = informed ? std::sqrt(1 - decoy_correlation * decoy_correlation) : 1;
    for (int k = -12; k <= 12; ++k) {  // for a normal weight the trapezoidal rule is as accurate as Gaussian quadrature
      const double z = 0.4 * k;
      add(mean + deviation * z, std::exp(-0.5 * z * z));
    }
  }
  row[slot] = kept;
  return sum / weights;
}

// AUC of scores that are the true probabilities: every row counts as yes by p and as no by 1 - p.
double auc_of_probabilities(std::vector<double> probabilities) {
  std::sort(probabilities.begin(), probabilities.end());
  double no_below = 0, yes = 0, concordant = 0;
  for (size_t i = 0; i < probabilities.size();) {
    double tied_yes = 0, tied_no = 0;
    for (const double p = probabilities[i]; i < probabilities.size() && probabilities[i] == p; ++i) {
      tied_yes += p;
      tied_no += 1 - p;
    }
    concordant += tied_yes * (no_below + 0.5 * tied_no);
    no_below += tied_no;
    yes += tied_yes;
  }
  return concordant / (yes * no_below);
}

}  // namespace

std::vector<std::string> PlantedRoles::informative() const {
  std::vector<std::string> names;
  if (!selector.empty()) names.push_back(selector);
  for (const auto* part : {&linear, &u_shaped, &categories, &product, &sets[0], &sets[1]}) {
    names.insert(names.end(), part->begin(), part->end());
  }
  std::sort(names.begin(), names.end());
  return names;
}

PlantedRoles planted_roles(PlantedVariant variant) {
  const Plan plan = make_plan(variant);
  PlantedRoles roles;
  for (int slot = 0; slot < field_count; ++slot) {
    const std::string name = field_name(plan.place[slot]);
    switch (plan.slots[slot].part) {
      case Part::linear:
        roles.linear.push_back(name);
        break;
      case Part::u_shaped:
        roles.u_shaped.push_back(name);
        break;
      case Part::category:
        roles.categories.push_back(name);
        break;
      case Part::product:
        roles.product.push_back(name);
        break;
      case Part::selector:
        roles.selector = name;
        break;
      case Part::set_a:
        roles.sets[0].push_back(name);
        break;
      case Part::set_b:
        roles.sets[1].push_back(name);
        break;
      case Part::decoy:
        roles.decoys.push_back(name);
        break;
      case Part::noise:
        roles.noise.push_back(name);
        break;
    }
  }
  return roles;
}

PlantedTable make_planted(int64_t rows, uint64_t seed, PlantedVariant variant) {
  const Plan plan = make_plan(variant);
  PlantedTable made{.dataset = {}, .roles = planted_roles(variant), .probabilities = {}};
  std::vector<std::string> names;
  for (int number = 0; number < field_count; ++number) names.push_back(field_name(number));
  names.push_back("label");
  std::array<std::vector<std::string>, field_count> levels;
  for (int slot = 0; slot < field_count; ++slot) {
    for (int level = 0; level < plan.slots[slot].levels; ++level) levels[slot].push_back(level_name(plan.slots[slot], level));
  }

  TextTable table(std::move(names));
  RandomStream random(seed, 1);
  Row row{};
  std::vector<std::string_view> cells(field_count + 1);
  std::array<std::array<char, 16>, field_count> texts;
  made.probabilities.reserve(static_cast<size_t>(rows));
  Progress progress("making rows", rows, {"rows"});
  for (int64_t i = 0; i < rows; ++i) {
    progress.update(i);
    draw_row(plan, random, row, field_count);
    for (int slot = 0; slot < field_count; ++slot) {
      std::string_view& cell = cells[plan.place[slot]];
      if (plan.slots[slot].levels > 0) {
        cell = levels[slot][static_cast<size_t>(row[slot])];
      } else {
        const auto end = fmt::format_to_n(texts[slot].data(), texts[slot].size(), "{:.4f}", row[slot]);
        cell = {texts[slot].data(), end.size};
      }
    }
    made.probabilities.push_back(sigmoid(logit_of(plan, row)));
    cells[field_count] = random.uniform() < made.probabilities.back() ? "yes" : "no";
    table.add_row(cells);
  }
  made.dataset.name = fmt::format("planted-table/{}/{}", name_of_enum(variant), seed);
  made.dataset.table = std::move(table);
  made.dataset.label = field_count;
  made.dataset.planted = made.roles.informative();
  made.dataset.bayes_auc = planted_bayes_auc(variant);
  draw_made_split(made.dataset, seed);
  return made;
}

TableDataset make_planted_table(int64_t rows, uint64_t seed, PlantedVariant variant) {
  return make_planted(rows, seed, variant).dataset;
}

// By Monte Carlo over 10 million rows (standard error below .0001); a test computes them again.
double planted_bayes_auc(PlantedVariant variant) { return variant == PlantedVariant::global ? 0.9020 : 0.9007; }

double planted_bayes_auc_without(PlantedVariant variant, const std::vector<std::string>& hidden, int64_t samples, uint64_t seed) {
  const Plan plan = make_plan(variant);
  std::vector<int> all_hidden = slots_named(plan, hidden);
  std::sort(all_hidden.begin(), all_hidden.end());
  all_hidden.erase(std::unique(all_hidden.begin(), all_hidden.end()), all_hidden.end());
  std::vector<bool> is_hidden(field_count, false);
  std::vector<int> integrate;  // decoys and noise are not in the logit: hiding them needs no sum
  for (int slot : all_hidden) {
    is_hidden[slot] = true;
    if (plan.slots[slot].part != Part::decoy && plan.slots[slot].part != Part::noise) integrate.push_back(slot);
  }
  const int needed = static_cast<int>(
      std::count_if(plan.slots.begin(), plan.slots.end(), [](const Slot& slot) { return slot.part != Part::noise; }));
  RandomStream random(seed, 3);
  Row row{};
  std::vector<double> probabilities(static_cast<size_t>(samples));
  for (double& probability : probabilities) {
    draw_row(plan, random, row, needed);
    probability = marginal_probability(plan, row, integrate, is_hidden);
  }
  return auc_of_probabilities(std::move(probabilities));
}

}  // namespace l0gm
