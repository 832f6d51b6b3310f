#include "gate/counter_dropout.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <torch/autograd.h>

#include "base/random.h"
#include "gate/in_parallel.h"
#include "gate/noise.h"
#include "gate/saved_key.h"
#ifdef L0GM_HAS_CUDA
#include "gate/cuda/noise.h"
#include "gate/cuda/stream.h"
#endif

namespace l0gm {

namespace {

constexpr int64_t numbers_at_a_time = 16384;  // small enough to stay in the cache

// A function of its own: with its arguments in view, a compiler makes vectors of the loop.
template <class T>
void mask_numbers(const T* __restrict x, const float* __restrict u, int64_t count, float share, T scale, T* __restrict out) {
  for (int64_t i = 0; i < count; ++i) out[i] = x[i] * (u[i] >= share ? scale : T{0});
}

template <class T>
void mask_rows(const T* x, const int64_t* ids, int64_t rows, int64_t width, uint64_t key, float share, T scale, T* out) {
  const int64_t block = std::max<int64_t>(1, numbers_at_a_time / std::max<int64_t>(1, width)),
                blocks = (rows + block - 1) / block;
  const int64_t parts = std::min(blocks, worthwhile_parts(rows * width * 8));
  in_parallel(parts, [&](int64_t part) {
    std::vector<float> u(static_cast<size_t>(block * width));
    for (int64_t b = blocks * part / parts; b < blocks * (part + 1) / parts; ++b) {
      const int64_t begin = b * block, count = std::min(block, rows - begin);
      fill_uniform(key, ids + begin, count, width, u.data());
      mask_numbers(x + begin * width, u.data(), count * width, share, scale, out + begin * width);
    }
  });
}

torch::Tensor masked(const torch::Tensor& given, const torch::Tensor& ids, NoiseKey key, double share) {
  const torch::Tensor x = given.contiguous();
  const int64_t rows = x.size(0), width = rows == 0 ? 0 : x.numel() / rows;
  torch::Tensor out = at::empty_like(x);
  if (x.numel() == 0) return out;
  const double scale = 1 / (1 - share);
#ifdef L0GM_HAS_CUDA
  if (x.is_cuda() && x.scalar_type() == torch::kFloat32) {
    cuda::mask_rows(x.data_ptr<float>(), ids.data_ptr<int64_t>(), rows, width, key, static_cast<float>(share),
                    static_cast<float>(scale), out.data_ptr<float>(), cuda::current_stream(x.device().index()));
    cuda::check_launch();
    return out;
  }
#endif
  if (!x.is_cpu()) throw std::logic_error("counter_dropout: no kernel for this device");
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "counter_dropout", [&] {
    mask_rows(x.data_ptr<scalar_t>(), ids.data_ptr<int64_t>(), rows, width, key_now(key), static_cast<float>(share),
              static_cast<scalar_t>(scale), out.data_ptr<scalar_t>());
  });
  return out;
}

class Dropout : public torch::autograd::Function<Dropout> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& x, const torch::Tensor& ids,
                               const SavedKey& key, double share) {
    context->save_for_backward({ids});
    key.save(*context);
    context->saved_data["share"] = share;
    return masked(x, ids, key.key, share);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const NoiseKey key = SavedKey::of(*context);
    return {masked(gradients[0], context->get_saved_variables()[0], key, context->saved_data["share"].toDouble()), {}, {}, {}};
  }
};

}  // namespace

torch::Tensor counter_dropout(const torch::Tensor& x, double share, NoiseKey key, const torch::Tensor& given) {
#ifdef L0GM_HAS_CUDA
  const bool has_kernel = x.is_cpu() || (x.is_cuda() && x.scalar_type() == torch::kFloat32);
#else
  const bool has_kernel = x.is_cpu();
#endif
  if (has_kernel) {
    const torch::Tensor ids = given.to(x.device(), torch::kInt64).contiguous();
    return Dropout::apply(x, ids, SavedKey{key}, share);
  }
  const torch::Tensor u = uniform_of_key(key.value, given, x.numel() / x.size(0), x.device());
  return x * u.ge(share).to(x.scalar_type()).mul(1 / (1 - share)).view(x.sizes());
}

torch::Tensor counter_dropout(const torch::Tensor& x, double share, const Draw& draw) {
  return counter_dropout(x, share, key_of(draw), draw.example_ids);
}

}  // namespace l0gm
