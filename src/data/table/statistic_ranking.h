#pragma once

#include <vector>

#include "data/table/options.h"
#include "data/table/statistic_choice.h"

namespace l0gm {

// Keys of columns and of pairs of columns, at several resolutions, ranked by what each alone tells of the label (gain_of), the
// best first; only those that tell something beyond noise, and of pairs only those that tell more than either column alone. At
// most as many as are worth their inputs: table.max_statistics; 240 inputs together (with many classes fewer statistics); an
// input for each 20 training rows; where table.rows_per_input asks for more, to 960; 2 GiB of inputs; ten million counts to keep.
// Uses training rows only. Adds to `schema` the cuts that the keys need.
//   columns   categorical and hashed ones by their code; numeric ones cut into 12, 48 and 150 ranges, fewer where they have
//             fewer values
//   pairs     both columns at the same resolution. Columns are paired in the order of what they tell alone, as many as 2,000
//             pairs, a billion look-ups and a gigabyte of codes allow; not those where most rows have a value of their own
// `with_pairs`: pairs, too.
std::vector<ChosenKey> rank_keys(Schema& schema, const EncodedTable& rows, const KeyColumns& columns, const TableOptions& options,
                                 bool with_pairs);

}  // namespace l0gm
