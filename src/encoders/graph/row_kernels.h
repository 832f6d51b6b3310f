#pragma once

#include <cstdint>
#include <vector>

namespace l0gm {

// The kernels of every propagation on the processor. Each row is summed in the order of its edges by one call: results do not
// depend on how rows are divided among threads.

// y[v, h] = target[v] * sum over edges e = (v, u) of weights[place(e), h] * source[u] * x[u, h]  +  self[v, h] * x[own(v), h]
// for rows v of `width` numbers in each of `heads` heads. A null pointer means 1 (weights, source, target), the identity (places,
// own), or no such term (self).
template <class T>
struct RowSums {
  const int64_t* offsets = nullptr;
  const int32_t* neighbours = nullptr;
  const T* weights = nullptr;       // [edges, heads]
  const int64_t* places = nullptr;  // [edges]: the row of the edge in `weights`
  const T* source = nullptr;
  const T* target = nullptr;
  const T* self = nullptr;  // [self_rows, heads]; further rows have no such term
  const int64_t* own = nullptr;
  int64_t self_rows = 0;
  int64_t heads = 1, width = 0;
  const T* x = nullptr;
  T* y = nullptr;
};

// dots[e, h] = sum over channels of a[v, h] * x[u, h], for the edges e = (v, u) of each row v.
template <class T>
struct RowDots {
  const int64_t* offsets = nullptr;
  const int32_t* neighbours = nullptr;
  int64_t heads = 1, width = 0;
  const T* a = nullptr;
  const T* x = nullptr;
  T* dots = nullptr;
};

// One step of a maximum over neighbours: where `candidate` is larger or NaN, best and from become candidate and `source`; NaN
// stays.
template <class T>
struct LargerRow {
  T* best;
  int32_t* from;
  const T* candidate;
  int32_t source;
  int64_t width;
};

// Its gradient: sum[j] += gradient[j] where from[j] is `source`.
template <class T>
struct TakenRow {
  T* sum;
  const T* gradient;
  const int32_t* from;
  int32_t source;
  int64_t width;
};

template <class T>
struct RowKernels {
  const char* name;
  void (*sum)(const RowSums<T>& sums, int64_t begin, int64_t end);
  void (*dot)(const RowDots<T>& dots, int64_t begin, int64_t end);
  void (*take_larger)(const LargerRow<T>& row);
  void (*add_taken)(const TakenRow<T>& row);
};

// The kernels that this processor can run, the fastest first; for float and double.
template <class T>
std::vector<RowKernels<T>> usable_row_kernels();

template <class T>
const RowKernels<T>& row_kernels() {
  static const RowKernels<T> best = usable_row_kernels<T>().front();
  return best;
}

}  // namespace l0gm
