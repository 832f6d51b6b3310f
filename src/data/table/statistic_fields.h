#pragma once

#include <vector>

#include "data/table/statistics.h"

namespace l0gm {

// Adds statistics and their fields to a schema, without counts: log odds, then rows, of one statistic side by side. Names:
// "<column>: odds", "<column> x <column>: rows", with several classes "…: odds of <class>"; a cut is "<column>/<ranges>".
void add_statistic_fields(Schema& schema, const std::vector<ChosenStatistic>& chosen);

// For each statistic its first field and the one behind its last: the fields of a statistic are adjacent.
struct FieldSpan {
  size_t begin = 0, end = 0;
};
std::vector<FieldSpan> fields_of_statistics(const Schema& schema);

}  // namespace l0gm
