#include "data/made/made_table.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace l0gm {

double probability_of(double logit) { return 1 / (1 + std::exp(-logit)); }

BayesScores bayes_scores(std::vector<double> probabilities) {
  std::sort(probabilities.begin(), probabilities.end());
  const auto entropy = [](double p) { return p > 0 && p < 1 ? -p * std::log(p) - (1 - p) * std::log1p(-p) : 0; };
  double no_below = 0, yes = 0, concordant = 0, nll = 0;
  for (size_t i = 0; i < probabilities.size();) {
    double tied_yes = 0, tied_no = 0;
    for (const double p = probabilities[i]; i < probabilities.size() && probabilities[i] == p; ++i) {
      tied_yes += p;
      tied_no += 1 - p;
      nll += entropy(p);
    }
    concordant += tied_yes * (no_below + 0.5 * tied_no);
    no_below += tied_no;
    yes += tied_yes;
  }
  return {concordant / (yes * no_below), nll / static_cast<double>(probabilities.size())};
}

int64_t zipf_rank(double uniform, int64_t count, double exponent) {
  const double power = 1 - exponent;
  const double end = std::pow(static_cast<double>(count) + 1, power);
  const double x = std::pow(1 + uniform * (end - 1), 1 / power);
  return std::clamp(static_cast<int64_t>(x) - 1, int64_t{0}, count - 1);
}

double value_effect(uint64_t field, int64_t value) {
  constexpr uint64_t effects_key = 0x6D616465;  // arbitrary, independent of the seeds of tables
  return RandomStream(mix_key(effects_key, field), static_cast<uint64_t>(value)).normal();
}

SplitRows draw_made_rows(int64_t rows, uint64_t seed) {
  const std::vector<int64_t> order = RandomStream(seed, 2).permutation(rows);
  const auto train_end = order.begin() + rows * 6 / 10, valid_end = order.begin() + rows * 8 / 10;
  SplitRows split{{order.begin(), train_end}, {train_end, valid_end}, {valid_end, order.end()}};
  for (auto* part : {&split.train, &split.valid, &split.test}) std::sort(part->begin(), part->end());
  return split;
}

void draw_made_split(TableDataset& dataset, uint64_t seed) {
  SplitRows split = draw_made_rows(dataset.table.rows(), seed);
  dataset.train = std::move(split.train);
  dataset.valid = std::move(split.valid);
  dataset.test = std::move(split.test);
}

}  // namespace l0gm
