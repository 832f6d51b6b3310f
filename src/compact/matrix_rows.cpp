#include "compact/matrix_rows.h"

#include <ATen/Functions.h>

#include <algorithm>

namespace l0gm {

void copy_rows(const torch::Tensor& from, Matrix& to, int64_t first_row) {
  const torch::Tensor plain = from.to(torch::kFloat64).contiguous();
  std::copy(plain.data_ptr<double>(), plain.data_ptr<double>() + plain.numel(), to.row(first_row));
}

}  // namespace l0gm
