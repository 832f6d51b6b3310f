#pragma once

#include <cstdint>
#include <vector>

#include "data/table/encoded.h"
#include "data/table/options.h"
#include "data/table/statistic_choice.h"
#include "encode/table/schema.h"

namespace l0gm {

// Adds the target statistics that `options` ask for to a schema, from encoded training rows with labels, and their slopes to
// these rows; recomputes class_rows. `texts`: what the rows were encoded from; without them numeric columns are not cut.
// `with_pairs`: whether Statistics::automatic may take pairs. Which statistics: statistic_ranking.h (automatic),
// statistic_choice.h (columns, pairs). Uses training rows only; the schema does not depend on their order.
void fit_statistics(Schema& schema, EncodedTable& train, const TableOptions& options, const TextTable* texts = nullptr,
                    bool with_pairs = true);

// A chosen statistic, and the scale of its inputs: part of the choice, so that with the choice given nothing that a row reads
// depends on its own label.
struct ChosenStatistic {
  KeyPart first, second;
  double odds_deviation = 1;  // a power of two: that nearest to the root of the mean square of its log odds
  bool with_rows = true;      // the number of rows is an input as well
};

// The statistics themselves. A training row's own statistics, prior included, are those of the rows outside its fold (one of ten,
// by row number): no row sees its own label. Rows encoded later get the statistics of all training rows. Fields: two classes: log
// odds of class 1, then log(1 + rows); more classes: log odds of each (of the 20 most frequent, with a warning, when there are
// more; the counts are kept of all), then log(1 + rows). Training rows: the count outside the fold, scaled up to all folds. Log
// odds have the mean 0, the prior; means and deviations of rows are those of all training rows, which no label decides; a
// deviation is at least .2.
void add_statistics(Schema& schema, EncodedTable& train, const std::vector<ChosenStatistic>& chosen,
                    const TextTable* texts = nullptr);

// The out-of-fold slopes of training rows again, for a schema that has statistics; `train` are the same training rows, in any
// order, with or without room for the slopes of statistics; `texts` as above.
void fill_out_of_fold(const Schema& schema, EncodedTable& train, const TextTable* texts = nullptr);

inline constexpr int64_t most_classes_with_odds = 20;

}  // namespace l0gm
