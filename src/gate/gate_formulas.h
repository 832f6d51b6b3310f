#pragma once

#include <cstdint>

#include "base/philox.h"
#if !defined(__CUDA_ARCH__)
#include <bit>
#endif

// The arithmetic of a hard concrete gate in training, in float32, shared by the kernels of the processor and of a GPU. The same
// in tensor operations: gate_sampling.h.
namespace l0gm {

struct GateNumbers {
  float inverse_tau = 1, gamma = -0.1F, zeta = 1.1F;
};

namespace gate_formulas {

L0GM_HOST_DEVICE float clip(float x, float low, float high) {
  const float raised = x < low ? low : x;
  return raised > high ? high : raised;
}

#if defined(__CUDA_ARCH__)
// The unit's own instructions: the functions of the language wrap each of them in steps for numbers that do not occur here.
L0GM_HOST_DEVICE float log2_of(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
L0GM_HOST_DEVICE float exp2_of(float x) {  // beyond the range: 0, infinity
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
L0GM_HOST_DEVICE float inverse(float x) {  // of infinity: 0
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
#else
// Without a branch or a call, so that a compiler makes vectors of them.
// x = 2^e m with m in [sqrt(1/2), sqrt(2)); ln m = 2 atanh((m - 1) / (m + 1)) as a series: relative error below 1e-8.
L0GM_HOST_DEVICE float log2_of(float x) {
  const int32_t bits = std::bit_cast<int32_t>(x), exponent = (bits - 0x3F3504F3) >> 23;
  const float m = std::bit_cast<float>(bits - (exponent << 23)), s = (m - 1.0F) / (m + 1.0F), square = s * s;
  const float series =
      1.0F + square * (0x1.555556p-2F + square * (0x1.99999ap-3F + square * (0x1.24924ap-3F + square * 0x1.c71c72p-4F)));
  return static_cast<float>(exponent) + 0x1.715476p+1F * s * series;  // 2 / ln 2
}
// 2^x = 2^n e^(f ln 2) with f in [-1/2, 1/2], as a series: relative error below 2e-7. Beyond 2^-100 and 2^100: these.
L0GM_HOST_DEVICE float exp2_of(float given) {
  const float x = clip(given, -100.0F, 100.0F);
  const float magic = 0x1.8p+23F, n = (x + magic) - magic, f = (x - n) * 0x1.62e43p-1F;
  const float series =
      1.0F +
      f * (1.0F + f * (0.5F + f * (0x1.555556p-3F +
                                   f * (0x1.555556p-5F + f * (0x1.111112p-7F + f * (0x1.6c16c2p-10F + f * 0x1.a01a02p-13F))))));
  return series * std::bit_cast<float>((static_cast<int32_t>(n) + 127) << 23);
}
L0GM_HOST_DEVICE float inverse(float x) { return 1.0F / x; }
#endif

}  // namespace gate_formulas

// z = s (zeta - gamma) + gamma, clipped to [0, 1], with s = sigmoid((logit + ln(u / (1 - u))) / tau), u in (0, 1).
L0GM_HOST_DEVICE float gate_of(float logit, float u, const GateNumbers& n) {
  using namespace gate_formulas;
  constexpr float log2_e = 0x1.715476p+0F;
  const float shifted = (logit * log2_e + log2_of(u * inverse(1.0F - u))) * n.inverse_tau;
  const float s = inverse(1.0F + exp2_of(-shifted));
  return clip(s * (n.zeta - n.gamma) + n.gamma, 0.0F, 1.0F);
}

// dz / dlogit, from z: none where it was clipped.
L0GM_HOST_DEVICE float gate_slope(float z, const GateNumbers& n) {
  const float inside = (z - n.gamma) * (n.zeta - z) * (n.inverse_tau / (n.zeta - n.gamma));
  return z * (1.0F - z) > 0.0F ? inside : 0.0F;
}

}  // namespace l0gm
