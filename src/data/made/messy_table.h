#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/made/made_table.h"
#include "data/table/table_dataset.h"

// `messy-table`: a made table with typical problems of real ones, to test encodings. The true logit is a sum over the cells as
// written (a missing cell included), so a model that reads the file has all information.
//   price           9.99, 19.99 and 49.00 are spikes with effects of their own; else log-normal, a weak trend
//   discount        zero in 55 % of the rows, with an effect of its own; else log-normal, saturating
//   days_since      days up to 730, falling; 999 is a code for "never" (15 %), unlike the trend's end
//   volume          Pareto, more than five orders of magnitude; saturating in its logarithm
//   weight          log-normal, linear in its logarithm; weight_gross is nearly the same number and adds no information
//   position        uniform, a sine of two and a half periods
//   temperature     normal, a step at 13.37
//   items           1 … 8, an effect per value without order
//   rating          1 … 5, linear; missing at random in 10 %; an absent one counts as the middle
//   account_age     exponential, falling; missing in 22 %, which itself raises the logit
//   product, city   800 and 300 values with long tails, an effect per value; city is "NA" at random in 5 %: the mean effect
//   channel, plan   four values each; only the pair is informative (class of the sum modulo 4), neither alone is
//   noise_amount    log-normal, missing in 10 %; noise_code: 200 values with a long tail; both are uninformative
// A row is a pure function of (seed, row number); effects are the same for every seed.
namespace l0gm {

struct MessyTable {
  TableDataset dataset;               // 17 columns and `label` (no, yes); split 60 / 20 / 20
  std::vector<double> probabilities;  // the true P(yes) of each row
};
MessyTable make_messy(int64_t rows, uint64_t seed);
TableDataset make_messy_table(int64_t rows, uint64_t seed);

// The columns without signal of their own: weight_gross and the two noise columns.
std::vector<std::string> messy_uninformative();

BayesScores messy_bayes();  // in the limit of many rows
BayesScores messy_bayes_by_sampling(int64_t samples, uint64_t seed);

}  // namespace l0gm
