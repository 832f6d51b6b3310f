#pragma once

#include <cstdint>
#include <vector>

namespace l0gm {

// What a batch ensemble does beside its products, on the processor. A row holds one example, the numbers of all members side by
// side; every number is read and written once. An element that is closed, by the rectifier or by dropout, is written as -0: the
// way back finds it there, and no mask has to be kept or drawn again.

// out = max(0, z * scale + bias), dropped out, times next.
template <class T>
struct MemberActivation {
  int64_t count = 0;         // numbers of a row
  const T* scale = nullptr;  // [count], as all vectors here
  const T* bias = nullptr;
  const T* next = nullptr;  // null: 1
  float share = 0;          // that is dropped, of the uniform numbers in [0, 1)
  T kept_scale = 1;         // of what is not
};

// Its gradient, in the columns [begin, end) of all rows: a column's sums do not depend on how columns are divided among threads.
template <class T>
struct MemberActivationBack {
  MemberActivation<T> of;
  int64_t rows = 0;
  const T* z = nullptr;         // [rows, count], as what follows
  const T* out = nullptr;       // of the way there
  const T* gradient = nullptr;  // of out
  T* to_z = nullptr;
  T* to_scale = nullptr;  // [count]: added to
  T* to_bias = nullptr;
  T* to_next = nullptr;  // null: not wanted
};

// The way back through x[r, j] * factors[m, j]: to_x[r, j] = sum over m of gradient[r, m, j] * factors[m, j], and
// to_factors[m, j] = sum over r of gradient[r, m, j] * x[r, j], in the columns [begin, end).
template <class T>
struct MemberInputsBack {
  int64_t rows = 0, members = 0, width = 0;
  const T* x = nullptr;
  const T* factors = nullptr;
  const T* gradient = nullptr;
  T* to_x = nullptr;
  T* to_factors = nullptr;  // added to
};

// The way back through weight[i, j] * factors[m, i]: to_weight[i, j] = sum over m of gradient[i, m, j] * factors[m, i], and
// to_factors[m, i] = sum over j of gradient[i, m, j] * weight[i, j], in the rows i of [begin, end).
template <class T>
struct MemberWeightsBack {
  int64_t rows = 0, members = 0, width = 0;
  const T* weight = nullptr;
  const T* factors = nullptr;
  const T* gradient = nullptr;
  T* to_weight = nullptr;
  T* to_factors = nullptr;
};

template <class T>
struct MemberKernels {
  const char* name;
  // One row; `uniform` null: nothing is dropped. `out` may be `z`.
  void (*activate)(const MemberActivation<T>& activation, const T* z, const float* uniform, T* out);
  void (*activate_back)(const MemberActivationBack<T>& back, int64_t begin, int64_t end);
  void (*inputs_back)(const MemberInputsBack<T>& back, int64_t begin, int64_t end);
  void (*weights_back)(const MemberWeightsBack<T>& back, int64_t begin, int64_t end);
};

// The kernels that this processor can run, the fastest first; for float and double.
template <class T>
std::vector<MemberKernels<T>> usable_member_kernels();

template <class T>
const MemberKernels<T>& member_kernels() {
  static const MemberKernels<T> best = usable_member_kernels<T>().front();
  return best;
}

}  // namespace l0gm
