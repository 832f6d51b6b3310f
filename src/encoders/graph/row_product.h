#pragma once

#include <torch/types.h>

#include "batches/graph/adjacency.h"

namespace l0gm {

// A product with the adjacency or its transpose; undefined factors are 1. All tensors have the type and
// device of x.
struct RowProduct {
  bool transposed = false;
  torch::Tensor weights;  // [edges, heads], by the edge's number in the adjacency; undefined: the adjacency's own, for one head
  torch::Tensor target, source;  // of the rows that are written, of those that are read
  torch::Tensor self;            // [targets, heads]: factor of a target's own row, which is added; undefined: not added
};

// x [rows, heads, width] -> [rows of the product, heads, width].
torch::Tensor row_product(const Adjacency& adjacency, const RowProduct& product, const torch::Tensor& x);
// The same for one head with messages rounded to bfloat16; sums are kept in float32 and rounded once. CUDA only.
torch::Tensor row_product_bfloat16(const Adjacency& adjacency, const RowProduct& product, const torch::Tensor& x);

// The two implementations of row_product: on the processor, and elsewhere with torch's CSR products.
torch::Tensor row_product_by_kernels(const Adjacency& adjacency, const RowProduct& product, const torch::Tensor& x);
torch::Tensor row_product_by_matrix(const Adjacency& adjacency, const RowProduct& product, const torch::Tensor& x,
                                    torch::Dtype message);

}  // namespace l0gm
