#pragma once

#include <cstdint>

#include "gate/in_parallel.h"

namespace l0gm {

// The first row of part `part` of `parts` that have about the same number of edges plus rows.
inline int64_t first_row_of_part(const int64_t* offsets, int64_t rows, int64_t part, int64_t parts) {
  if (part == parts) return rows;
  const int64_t wanted = (offsets[rows] - offsets[0] + rows) * part / parts;
  int64_t low = 0, high = rows;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (offsets[middle] - offsets[0] + middle < wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Calls work(begin, end) for all rows of a sparse matrix, one range per thread. `operations`: per edge, to decide how many
// threads pay.
template <class Work>
void for_rows(const int64_t* offsets, int64_t rows, int64_t operations, const Work& work) {
  const int64_t parts = worthwhile_parts((offsets[rows] - offsets[0] + rows) * operations);
  in_parallel(parts, [&](int64_t part) {
    const int64_t begin = first_row_of_part(offsets, rows, part, parts), end = first_row_of_part(offsets, rows, part + 1, parts);
    if (begin < end) work(begin, end);
  });
}

}  // namespace l0gm
