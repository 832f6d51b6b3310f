#pragma once

#include <cstdint>

#include "runtime/table_net.h"

namespace l0gm {

// The net's logits of one encoded row, in double precision, written for readability: the packed net is compared with it.
// codes, slopes: the row as RowEncoder writes it; logits: net.logits() numbers.
void reference_logits(const TableNet<Matrix>& net, const int32_t* codes, const float* slopes, double* logits);

}  // namespace l0gm
