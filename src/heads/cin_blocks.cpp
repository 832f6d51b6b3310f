#include "heads/cin_blocks.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <array>
#include <vector>

#include "gate/in_parallel.h"

namespace l0gm {

namespace {

constexpr int64_t products_at_a_time = 1 << 16;  // a quarter of a megabyte
constexpr int64_t least_elements = 16;           // fewer rows would be a slow matrix product

// How elements are divided: into blocks, and blocks into parts, one for each thread.
struct Blocks {
  int64_t elements, size, count, parts;

  Blocks(const torch::Tensor& previous, const torch::Tensor& weight) : elements(previous.size(0)) {
    const int64_t products = weight.size(0) * weight.size(1);
    size = std::max(least_elements, products_at_a_time / std::max<int64_t>(1, products));
    count = (elements + size - 1) / size;
    parts = std::min(count, worthwhile_parts(elements * products * weight.size(2)));
  }
  // Calls work(first element, number of elements) for the blocks of a part.
  template <class Work>
  void each(int64_t part, const Work& work) const {
    for (int64_t b = count * part / parts; b < count * (part + 1) / parts; ++b) {
      work(b * size, std::min(size, elements - b * size));
    }
  }
};

// out[e, j, i] = base[e, j] * previous[e, i].
template <class T>
void multiply(const T* previous, const T* base, int64_t elements, int64_t maps, int64_t fields, T* out) {
  for (int64_t e = 0; e < elements; ++e, previous += maps, base += fields) {
    for (int64_t j = 0; j < fields; ++j, out += maps) {
      for (int64_t i = 0; i < maps; ++i) out[i] = base[j] * previous[i];
    }
  }
}

template <class T>
T dot(const T* a, const T* b, int64_t count) {
  constexpr int64_t chains = 8;  // independent sums, which the compiler computes side by side
  std::array<T, chains> sums{};
  int64_t i = 0;
  for (; i + chains <= count; i += chains) {
    for (int64_t c = 0; c < chains; ++c) sums[static_cast<size_t>(c)] += a[i + c] * b[i + c];
  }
  T total = 0;
  for (; i < count; ++i) total += a[i] * b[i];
  for (const T sum : sums) total += sum;
  return total;
}

// The way back through multiply().
template <class T>
void multiply_back(const T* previous, const T* base, const T* gradient, int64_t elements, int64_t maps, int64_t fields,
                   T* to_previous, T* to_base) {
  for (int64_t e = 0; e < elements; ++e, previous += maps, base += fields, to_previous += maps, to_base += fields) {
    std::fill_n(to_previous, maps, T{0});
    for (int64_t j = 0; j < fields; ++j, gradient += maps) {
      for (int64_t i = 0; i < maps; ++i) to_previous[i] += base[j] * gradient[i];
      to_base[j] = dot(gradient, previous, maps);
    }
  }
}

}  // namespace

torch::Tensor cin_forward(const torch::Tensor& previous, const torch::Tensor& base, const torch::Tensor& weight) {
  const int64_t fields = weight.size(0), maps = weight.size(1);
  const Blocks blocks(previous, weight);
  const torch::Tensor flat = weight.detach().view({fields * maps, weight.size(2)});
  torch::Tensor out = at::empty({previous.size(0), weight.size(2)}, previous.options());
  in_parallel(blocks.parts, [&](int64_t part) {
    c10::InferenceMode inference;  // the mode of the caller is not that of its threads
    const torch::Tensor products = at::empty({blocks.size, fields * maps}, previous.options());
    blocks.each(part, [&](int64_t begin, int64_t count) {
      AT_DISPATCH_FLOATING_TYPES(previous.scalar_type(), "cin_forward", [&] {
        multiply(previous.const_data_ptr<scalar_t>() + begin * maps, base.const_data_ptr<scalar_t>() + begin * fields, count,
                 maps, fields, products.data_ptr<scalar_t>());
      });
      torch::Tensor to = out.narrow(0, begin, count);
      at::mm_out(to, products.narrow(0, 0, count), flat);
    });
  });
  return out;
}

CinGradients cin_backward(const torch::Tensor& previous, const torch::Tensor& base, const torch::Tensor& weight,
                          const torch::Tensor& gradient) {
  const int64_t fields = weight.size(0), maps = weight.size(1);
  const Blocks blocks(previous, weight);
  const torch::Tensor flat = weight.detach().view({fields * maps, weight.size(2)});
  const torch::Tensor to_previous = at::empty_like(previous), to_base = at::empty_like(base);
  torch::Tensor of_parts = at::zeros({std::max<int64_t>(1, blocks.parts), fields * maps, weight.size(2)}, weight.options());
  in_parallel(blocks.parts, [&](int64_t part) {
    c10::InferenceMode inference;
    const torch::Tensor products = at::empty({blocks.size, fields * maps}, previous.options());
    torch::Tensor to_weight = of_parts.select(0, part);
    blocks.each(part, [&](int64_t begin, int64_t count) {
      const torch::Tensor given = gradient.narrow(0, begin, count);
      torch::Tensor block = products.narrow(0, 0, count);
      AT_DISPATCH_FLOATING_TYPES(previous.scalar_type(), "cin_backward", [&] {
        const scalar_t* x = previous.const_data_ptr<scalar_t>() + begin * maps;
        const scalar_t* v = base.const_data_ptr<scalar_t>() + begin * fields;
        multiply(x, v, count, maps, fields, products.data_ptr<scalar_t>());
        to_weight.addmm_(block.t(), given);
        at::mm_out(block, given, flat.t());  // the products' gradient takes their place
        multiply_back(x, v, block.const_data_ptr<scalar_t>(), count, maps, fields,
                      to_previous.data_ptr<scalar_t>() + begin * maps, to_base.data_ptr<scalar_t>() + begin * fields);
      });
    });
  });
  return {to_previous, to_base, of_parts.sum(0).view(weight.sizes())};
}

}  // namespace l0gm
