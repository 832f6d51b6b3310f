#include "data/made/messy_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/progress.h"
#include "base/random.h"

namespace l0gm {
namespace {

constexpr uint64_t product_field = 1, city_field = 2;  // keys of their effects
constexpr int64_t cities = 300;
constexpr double city_exponent = 1.05;
constexpr double intercept = -0.95;  // about four rows in ten are yes

// One row while it is made: every add_… function draws, writes its cells in the order of `names` and adds its part of the logit,
// computed from the number as written.
struct Row {
  RandomStream random;
  std::vector<std::string> cells;
  double logit = intercept;

  bool happens(double share) { return random.uniform() < share; }
  double log_normal(double median, double deviation) { return median * std::exp(deviation * random.normal()); }
  // Writes `value` with `decimals` and returns it as a reader gets it back.
  double write(double value, int decimals) {
    const double unit = std::pow(10.0, decimals);
    const double rounded = std::round(value * unit) / unit + 0.0;  // never "-0.00"
    cells.push_back(fmt::format("{:.{}f}", rounded, decimals));
    return rounded;
  }
};

const std::vector<std::string> names = {"price",    "discount",    "days_since", "volume",       "weight",      "weight_gross",
                                        "position", "temperature", "items",      "rating",       "account_age", "product",
                                        "city",     "channel",     "plan",       "noise_amount", "noise_code",  "label"};

void add_price(Row& row) {
  constexpr std::array<double, 3> spikes = {9.99, 19.99, 49.00}, shares = {0.12, 0.10, 0.05}, effects = {1.5, -1.6, 1.3};
  double price = row.log_normal(25, 0.8), draw = row.random.uniform();
  for (size_t i = 0; i < spikes.size(); ++i) {
    if (draw >= 0 && draw < shares[i]) price = spikes[i];
    draw -= shares[i];
  }
  price = row.write(std::max(price, 0.01), 2);
  double effect = 0.35 * std::log(price / 25);
  for (size_t i = 0; i < spikes.size(); ++i) {
    if (std::abs(price - spikes[i]) < 0.001) effect = effects[i];
  }
  row.logit += effect;
}

void add_discount(Row& row) {
  const double amount = row.log_normal(4, 1.1);
  const double discount = row.write(row.happens(0.55) ? 0 : std::max(amount, 0.01), 2);
  row.logit += discount == 0 ? -0.5 : 0.6 + 0.8 * std::tanh(std::log(discount / 4));
}

void add_days_since(Row& row) {
  const double days = std::min(std::floor(-70 * std::log(row.random.uniform())), 730.0);
  const double written = row.write(row.happens(0.15) ? 999 : days, 0);
  row.logit += written == 999 ? 1.0 : 0.6 - std::min(written / 70, 3.0) * 0.6;
}

void add_volume(Row& row) {
  const double volume = row.write(std::pow(row.random.uniform(), -1.25), 2);
  row.logit += 0.9 * std::tanh(1.5 * (std::log10(volume) - 0.5));
}

void add_weights(Row& row) {
  const double weight = row.write(std::max(row.log_normal(2, 1.3), 0.001), 3);
  row.write(std::max(weight * row.log_normal(1.03, 0.02), 0.001), 3);
  row.logit += 0.5 * std::log(weight / 2);
}

void add_position(Row& row) { row.logit += 1.1 * std::sin(2 * std::numbers::pi * row.write(100 * row.random.uniform(), 2) / 40); }

void add_temperature(Row& row) { row.logit += row.write(12 + 9 * row.random.normal(), 2) > 13.37 ? 0.8 : -0.6; }

void add_items(Row& row) {
  constexpr std::array<double, 8> effects = {0.3, -0.9, 0.8, -0.5, 1.1, -1.0, 0.6, -0.4};
  const int64_t items = 1 + zipf_rank(row.random.uniform(), 8, 0.8);
  row.cells.push_back(std::to_string(items));
  row.logit += effects[static_cast<size_t>(items - 1)];
}

void add_rating(Row& row) {
  const auto rating = static_cast<int64_t>(1 + row.random.below(5));
  const bool missing = row.happens(0.10);
  row.cells.push_back(missing ? "" : std::to_string(rating));
  row.logit += missing ? 0 : 0.4 * static_cast<double>(rating - 3);
}

void add_account_age(Row& row) {
  const double years = -3 * std::log(row.random.uniform());
  if (row.happens(0.22)) {
    row.cells.emplace_back();
    row.logit += 1.2;
  } else {
    row.logit -= 0.35 * std::min(row.write(years, 2) / 3, 4.0);
  }
}

// The effect of a missing city, so that its absence is uninformative.
double mean_city_effect() {
  const auto below = [](int64_t rank) { return std::pow(static_cast<double>(rank) + 1, 1 - city_exponent); };
  double sum = 0;
  for (int64_t city = 0; city < cities; ++city) sum += (below(city + 1) - below(city)) * value_effect(city_field, city);
  return sum / (below(cities) - below(0));
}

void add_product_and_city(Row& row) {
  static const double absent_city = mean_city_effect();
  const int64_t product = zipf_rank(row.random.uniform(), 800, 1.1),
                city = zipf_rank(row.random.uniform(), cities, city_exponent);
  row.cells.push_back(fmt::format("P{:04}", product * 331 % 800));  // a number that does not reveal the rank
  row.logit += 0.9 * value_effect(product_field, product);
  const bool missing = row.happens(0.05);
  row.cells.push_back(missing ? "NA" : fmt::format("city-{}", city * 77 % cities + 100));
  row.logit += 0.5 * (missing ? absent_city : value_effect(city_field, city));
}

// A Latin square: each channel has every effect with exactly one plan, and vice versa.
void add_pair(Row& row) {
  constexpr std::array<const char*, 4> channels = {"web", "shop", "phone", "partner"},
                                       plans = {"basic", "plus", "family", "trial"};
  constexpr std::array<double, 4> effects = {1.3, -0.5, -1.3, 0.5};
  const size_t channel = row.random.below(4), plan = row.random.below(4);
  row.cells.emplace_back(channels[channel]);
  row.cells.emplace_back(plans[plan]);
  row.logit += effects[(channel + plan) % 4];
}

void add_noise(Row& row) {
  const double amount = row.log_normal(100, 1);
  if (row.happens(0.10)) {
    row.cells.emplace_back();
  } else {
    row.write(amount, 2);
  }
  row.cells.push_back(fmt::format("x{}", zipf_rank(row.random.uniform(), 200, 1.05) * 57 % 200));
}

Row make_row(uint64_t rows_key, int64_t number) {
  Row row{.random = RandomStream(rows_key, static_cast<uint64_t>(number)), .cells = {}};
  row.cells.reserve(names.size());
  for (const auto add : {add_price, add_discount, add_days_since, add_volume, add_weights, add_position, add_temperature,
                         add_items, add_rating, add_account_age, add_product_and_city, add_pair, add_noise}) {
    add(row);
  }
  return row;
}

uint64_t rows_key(uint64_t seed) { return mix_key(seed, 0x6D657373); }

}  // namespace

std::vector<std::string> messy_uninformative() { return {"weight_gross", "noise_amount", "noise_code"}; }

MessyTable make_messy(int64_t rows, uint64_t seed) {
  MessyTable made;
  made.probabilities.reserve(static_cast<size_t>(rows));
  TextTable table(names);
  std::vector<std::string_view> cells;
  const uint64_t key = rows_key(seed);
  Progress progress("making rows", rows, {"rows"});
  for (int64_t i = 0; i < rows; ++i) {
    progress.update(i);
    Row row = make_row(key, i);
    made.probabilities.push_back(probability_of(row.logit));
    row.cells.emplace_back(row.happens(made.probabilities.back()) ? "yes" : "no");
    cells.assign(row.cells.begin(), row.cells.end());
    table.add_row(cells);
  }
  made.dataset.name = fmt::format("messy-table/{}", seed);
  made.dataset.table = std::move(table);
  made.dataset.label = static_cast<int64_t>(names.size()) - 1;
  const std::vector<std::string> without = messy_uninformative();
  std::copy_if(names.begin(), names.end() - 1, std::back_inserter(made.dataset.planted),
               [&](const std::string& name) { return std::find(without.begin(), without.end(), name) == without.end(); });
  made.dataset.bayes_auc = messy_bayes().auc;
  made.dataset.bayes_nll = messy_bayes().nll;
  draw_made_split(made.dataset, seed);
  return made;
}

TableDataset make_messy_table(int64_t rows, uint64_t seed) { return make_messy(rows, seed).dataset; }

// By sampling 10 million rows (standard errors below .0001); a test computes them again.
BayesScores messy_bayes() { return {0.8958, 0.3998}; }

BayesScores messy_bayes_by_sampling(int64_t samples, uint64_t seed) {
  std::vector<double> probabilities(static_cast<size_t>(samples));
  const uint64_t key = rows_key(seed);
  for (int64_t i = 0; i < samples; ++i) probabilities[static_cast<size_t>(i)] = probability_of(make_row(key, i).logit);
  return bayes_scores(std::move(probabilities));
}

}  // namespace l0gm
