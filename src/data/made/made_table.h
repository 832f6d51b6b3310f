#pragma once

#include <cstdint>
#include <vector>

#include "data/splits.h"
#include "data/table/table_dataset.h"

// Shared by made tables and texts: draws, effects, and the scores of a model that predicts the true probabilities.
namespace l0gm {

double probability_of(double logit);

// Scores of the true probabilities themselves: every row counts as yes by p and as no by 1 - p, so they do not depend on drawn
// labels.
struct BayesScores {
  double auc = 0, nll = 0;
};
BayesScores bayes_scores(std::vector<double> probabilities);

// A rank 0 … count-1 whose share falls as (rank + 1)^-exponent: the integral of x^-exponent over [1, count + 1], inverted.
// Needs no table, however many values there are. `exponent` is not 1.
int64_t zipf_rank(double uniform, int64_t count, double exponent);

// The effect of a value of a field, a standard normal number: the same for every seed.
double value_effect(uint64_t field, int64_t value);

// A split of 60 / 20 / 20 %.
SplitRows draw_made_rows(int64_t rows, uint64_t seed);
void draw_made_split(TableDataset& dataset, uint64_t seed);

}  // namespace l0gm
