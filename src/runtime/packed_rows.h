#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/safetensors.h"
#include "runtime/table_net.h"

namespace l0gm {

// Rows of numbers as kernels read them: float32, bfloat16, int8 (times a scale per row) or float64; every row begins on a 64-byte
// boundary and is padded with zeros, so that whole vectors can be read.
class PackedRows {
 public:
  PackedRows() = default;
  // From a file's tensor (checked by the caller: dtype f32, bf16, i8 or f64, rows * columns elements, any alignment);
  // scales: one per row for i8, else empty.
  PackedRows(int64_t rows, int64_t columns, DType type, const void* elements, std::vector<float> scales);

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  int64_t stride() const { return stride_; }  // elements from row to row
  DType type() const { return type_; }
  const void* data() const { return bytes_.get(); }
  template <class T>
  const T* row(int64_t i) const {
    return static_cast<const T*>(data()) + i * stride_;
  }
  const float* scales() const { return scales_.data(); }
  double value(int64_t i, int64_t j) const;  // for tests and checks, not for speed
  size_t bytes() const;                      // of memory

 private:
  struct Free {
    void operator()(std::byte* bytes) const;
  };
  int64_t rows_ = 0, columns_ = 0, stride_ = 0;
  DType type_ = DType::f32;
  std::unique_ptr<std::byte[], Free> bytes_;
  std::vector<float> scales_;
};

// A matrix rounded for a file: the bytes of its tensor and, for int8, a scale per row (largest magnitude / 127; 1 for a row of
// zeros).
struct RoundedMatrix {
  DType type = DType::f32;
  std::vector<std::byte> elements;  // rows x columns, no padding
  std::vector<float> scales;
};
DType dtype_of(ArrayKind kind, WeightType weights);
RoundedMatrix round_matrix(const Matrix& matrix, DType type);  // to nearest, ties to even
PackedRows pack(const RoundedMatrix& rounded, int64_t rows, int64_t columns);

// The whole net, rounded and packed as if it had been read from a file of this weight type.
TableNet<PackedRows> pack(const TableNet<Matrix>& net, WeightType weights);
// Back to numbers, so that reference_logits can be computed for the rounded weights.
TableNet<Matrix> unpack(const TableNet<PackedRows>& net);

}  // namespace l0gm
