#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

// Matrix products of oneDNN, an optional part. Its shared library is loaded when the first text model is opened and not before:
// programs that serve tables do without it. It would start threads of its own; here every product stays on the thread that
// asks for it.
namespace l0gm::onednn {

// Why it cannot be used here, for a message; "": it can.
const std::string& obstacle();

// Of inputs and weights. Products of int8 are unsigned inputs times signed weights, summed in int32; the others in float32.
enum class Numbers { float32, bfloat16, int8 };
bool is_fast(Numbers numbers);  // whether this processor has instructions for them

// Memory and state that a thread multiplies with.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  struct State;
  State& state() const { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

// out = in * transposed weights (+ bias), for blocks of at most most_rows rows. Several threads may multiply at once, each with a
// scratch of its own.
class MatrixProduct {
 public:
  static constexpr int64_t most_rows = 128;
  static constexpr int64_t row_step = 8;  // so many rows, or a multiple, are read and written: buffers have room for that

  struct Shape {
    Numbers numbers = Numbers::float32;
    int64_t outputs = 0, inputs = 0;
    int64_t in_stride = 0, out_stride = 0;  // elements from row to row; fastest where there is nothing between rows
  };
  // weights: a row of `inputs` numbers per output, weight_stride elements apart. bias: `outputs` floats that outlive the product,
  // or nullptr; not for int8.
  MatrixProduct(const Shape& shape, const void* weights, int64_t weight_stride, const float* bias);
  ~MatrixProduct();
  MatrixProduct(MatrixProduct&&) noexcept;
  MatrixProduct& operator=(MatrixProduct&&) noexcept;

  void multiply(const void* in, int64_t rows, void* out, Scratch& scratch) const;
  size_t bytes() const;  // of the weights as they are kept

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace l0gm::onednn
