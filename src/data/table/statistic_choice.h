#pragma once

#include <vector>

#include "data/table/options.h"
#include "data/table/statistic_groups.h"

namespace l0gm {

// A statistic that was chosen: its key. Its counts are not known yet.
struct ChosenKey {
  KeyPart first, second;
};

// One key for each column that has a categorical, exact or hashed field (the first such field), but for one whose values map one
// to one to an earlier column's; with Statistics::pairs also of pairs of these columns: of the most informative ones (gain_of),
// as many columns as `max_pairs` allows.
std::vector<ChosenKey> choose_keys(const Schema& schema, const EncodedTable& rows, const KeyColumns& columns,
                                   const TableOptions& options);

}  // namespace l0gm
