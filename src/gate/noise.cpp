#include "gate/noise.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>

#include "base/random.h"
#include "gate/in_parallel.h"
#ifdef L0GM_HAS_CUDA
#include "gate/cuda/noise.h"
#include "gate/cuda/stream.h"
#endif

namespace l0gm {

namespace {

struct Words {
  torch::Tensor high, low;
};

// 32 x 32 -> 64 bit product in int64 arithmetic, split into words (tensors hold 32-bit values).
Words multiply(const torch::Tensor& word, int64_t factor) {
  const torch::Tensor product = word * factor;  // wraps modulo 2^64, which keeps all 64 bits
  return {product.bitwise_right_shift(32).bitwise_and(0xFFFFFFFFLL), product.bitwise_and(0xFFFFFFFFLL)};
}

// The same Philox as base/random.h in tensor operations, for devices without a kernel of l0gm.
torch::Tensor philox_on_device(uint64_t key, const torch::Tensor& ids, int64_t blocks) {
  const auto integers = ids.options();
  torch::Tensor c0 = ids.bitwise_and(0xFFFFFFFFLL).unsqueeze(1).expand({ids.size(0), blocks});
  torch::Tensor c1 = ids.bitwise_right_shift(32).bitwise_and(0xFFFFFFFFLL).unsqueeze(1).expand({ids.size(0), blocks});
  torch::Tensor c2 = at::arange(blocks, integers).unsqueeze(0).expand({ids.size(0), blocks});
  torch::Tensor c3 = at::zeros_like(c2);
  auto k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const Words a = multiply(c0, 0xD2511F53LL), b = multiply(c2, 0xCD9E8D57LL);
    c0 = b.high.bitwise_xor(c1).bitwise_xor(static_cast<int64_t>(k0));
    c1 = b.low;
    c2 = a.high.bitwise_xor(c3).bitwise_xor(static_cast<int64_t>(k1));
    c3 = a.low;
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return at::stack({c0, c1, c2, c3}, 2);
}

}  // namespace

NoiseKey key_of(const Draw& draw) {
  return {mix_key(draw.seed, static_cast<uint64_t>(draw.step), static_cast<uint64_t>(draw.site)), draw.live_key};
}

torch::Tensor uniform_noise_by_tensors(const Draw& draw, int64_t width, torch::Device device) {
  return uniform_of_key_by_tensors(key_of(draw).value, draw.example_ids, width, device);
}

torch::Tensor uniform_noise(const Draw& draw, int64_t width, torch::Device device) {
  return uniform_of_key(key_of(draw).value, draw.example_ids, width, device);
}

torch::Tensor uniform_of_key_by_tensors(uint64_t key, const torch::Tensor& ids_given, int64_t width, torch::Device device) {
  const torch::Tensor ids = ids_given.to(device, torch::kInt64);
  const torch::Tensor bits = philox_on_device(key, ids, (width + 3) / 4).reshape({ids.size(0), -1}).narrow(1, 0, width);
  return bits.bitwise_right_shift(8).clamp_min(1).to(torch::kFloat32).mul(0x1p-24);
}

torch::Tensor uniform_of_key(uint64_t key, const torch::Tensor& ids_given, int64_t width, torch::Device device) {
#ifdef L0GM_HAS_CUDA
  if (device.is_cuda()) {
    const torch::Tensor on_device = ids_given.to(device, torch::kInt64).contiguous();
    torch::Tensor numbers = at::empty({on_device.size(0), width}, on_device.options().dtype(torch::kFloat32));
    cuda::fill_uniform(key, on_device.data_ptr<int64_t>(), on_device.size(0), width, numbers.data_ptr<float>(),
                       cuda::current_stream(device.index()));
    cuda::check_launch();
    return numbers;
  }
#endif
  if (!device.is_cpu()) return uniform_of_key_by_tensors(key, ids_given, width, device);
  const torch::Tensor ids = ids_given.to(device, torch::kInt64).contiguous();
  torch::Tensor u = at::empty({ids.size(0), width}, torch::kFloat32);
  const int64_t rows = ids.size(0), parts = std::min(rows, worthwhile_parts(rows * width * 4));
  in_parallel(parts, [&](int64_t part) {
    const int64_t begin = rows * part / parts, end = rows * (part + 1) / parts;
    fill_uniform(key, ids.data_ptr<int64_t>() + begin, end - begin, width, u.data_ptr<float>() + begin * width);
  });
  return u;
}

}  // namespace l0gm
