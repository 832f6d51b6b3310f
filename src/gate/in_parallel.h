#pragma once

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorIterator.h>

#include <algorithm>
#include <cstdint>

namespace l0gm {

// Calls work(part) for the parts 0 … parts - 1 in torch's threads. at::parallel_for would be serial here: as a header
// it needs the caller to be compiled with OpenMP. A tensor iterator runs its loop inside the library, in the threads that all
// other operations use.
template <class Work>
void in_parallel(int64_t parts, const Work& work) {
  if (parts <= 1) {
    if (parts == 1) work(0);
    return;
  }
  const at::Tensor numbers = at::arange(parts, at::kLong);
  at::TensorIterator iterator =
      at::TensorIteratorConfig().check_all_same_dtype(false).resize_outputs(false).add_output(numbers).build();
  iterator.for_each(
      [&](char** data, const int64_t* strides, int64_t inner, int64_t outer) {
        for (int64_t i = 0; i < inner * outer; ++i) {
          work(*reinterpret_cast<const int64_t*>(data[0] + i % inner * strides[0] + i / inner * strides[1]));
        }
      },
      1);
}

// How many parts to split work of so many operations into: one per thread, fewer if it is small.
inline int64_t worthwhile_parts(int64_t operations) {
  constexpr int64_t enough = 1 << 15;
  return at::in_parallel_region() ? 1 : std::clamp<int64_t>(operations / enough, 1, at::get_num_threads());
}

}  // namespace l0gm
