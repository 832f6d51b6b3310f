#include "compact/matrix_rows.h"

#include <ATen/Functions.h>

#include <algorithm>

namespace l0gm {

void copy_rows(const torch::Tensor& from, Matrix& to, int64_t first_row) {
  const torch::Tensor plain = from.to(torch::kFloat64).contiguous();
  for (int64_t i = 0; i < plain.size(0); ++i) {
    const double* row = plain.data_ptr<double>() + i * plain.size(1);
    std::copy(row, row + plain.size(1), to.row(first_row + i));
  }
}

}  // namespace l0gm
