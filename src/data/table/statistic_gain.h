#pragma once

#include "data/table/statistic_groups.h"

namespace l0gm {

// What a key alone tells of the label, out of fold, in nats: the mean over training rows of log(smoothed share of the row's class
// among the other folds' rows of its key) - log(the class's share of the other folds' rows). A key of many values does not win by
// overfitting. The same bits in any order of rows.
struct Gain {
  double mean = 0,
         error = 0;  // error: the mean's standard error where the key tells nothing; rows of a key use each other's labels
  // `candidates`: of how many this is one; the best of many that tell nothing lies further out.
  bool beyond_noise(size_t candidates = 1) const;
};
Gain gain_of(const FoldedLabels& labels, const Groups& groups, double smoothing);

}  // namespace l0gm
