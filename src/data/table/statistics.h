#pragma once

#include <cstdint>

#include "data/table/encoded.h"
#include "data/table/options.h"
#include "encode/table/schema.h"

namespace l0gm {

// Adds the target statistics that `options` ask for to a schema, from encoded training rows with labels, and their slopes to
// these rows; recomputes class_rows. A training row's own statistics leave out its fold (one of ten, by row number), so that no
// row sees its own label; prior, mean and deviation are those of all training rows, one number for every row. Rows encoded later
// get the statistics of all training rows. The schema does not depend on the rows' order. Single columns: each that has a
// categorical, exact or hashed field (the first such field is the key), but one whose values map one to one to an earlier
// column's. Pairs: of these columns, the most informative ones, as many columns as `max_pairs` allows. A column's
// information is its mutual information with the label, estimated out of fold: the mean of log(share of the row's class among its
// key, smoothed) - log(prior). So a column of many values does not win by overfitting. Fields: two classes: log odds
// of class 1, then log(1 + rows); more classes: log odds of each (of the 20 most frequent, with a warning, when there are more;
// the counts are kept of all), then log(1 + rows). Training rows: the count outside the fold, scaled up to all folds. A deviation
// is at least .2.
void fit_statistics(Schema& schema, EncodedTable& train, const TableOptions& options);

// The out-of-fold slopes of training rows again, for a schema that has statistics; `train` are the same training rows, in any
// order, with or without room for the slopes of statistics.
void fill_out_of_fold(const Schema& schema, EncodedTable& train);

inline constexpr int64_t statistic_folds = 10;
inline constexpr int64_t most_classes_with_odds = 20;
// The fold of a training row, a hash of its row number.
int64_t statistic_fold(int64_t row_number);

}  // namespace l0gm
