#pragma once

#include <cmath>

#include "base/philox.h"

// The arithmetic of a hard concrete gate in training, in float32, shared by the kernels of the processor and of a GPU. The same
// in tensor operations, and in words: l0gm/hard_concrete.h.
namespace l0gm {

struct GateNumbers {
  float inverse_tau = 1, gamma = -0.1F, zeta = 1.1F;
};

struct GateValue {
  float z;      // the gate
  float slope;  // dz / dlogit
};

namespace gate_formulas {

inline constexpr float log2_e = 1.44269504088896341F;

#if defined(__CUDA_ARCH__)
L0GM_HOST_DEVICE float log2(float x) { return __log2f(x); }
L0GM_HOST_DEVICE float exp2(float x) { return exp2f(x); }
L0GM_HOST_DEVICE float quotient(float a, float b) { return __fdividef(a, b); }
#else
L0GM_HOST_DEVICE float log2(float x) { return std::log2(x); }
L0GM_HOST_DEVICE float exp2(float x) { return std::exp2(x); }
L0GM_HOST_DEVICE float quotient(float a, float b) { return a / b; }
#endif

}  // namespace gate_formulas

// s = sigmoid((logit + ln(u / (1 - u))) / tau), z = s (zeta - gamma) + gamma, clipped to [0, 1].
L0GM_HOST_DEVICE GateValue gate_value(float logit, float u, const GateNumbers& n) {
  using namespace gate_formulas;
  const float odds = quotient(u, 1.0F - u);
  const float s = quotient(1.0F, 1.0F + gate_formulas::exp2(-(logit * log2_e + gate_formulas::log2(odds)) * n.inverse_tau));
  const float stretch = n.zeta - n.gamma, stretched = s * stretch + n.gamma;
  const bool inside = stretched >= 0.0F && stretched <= 1.0F;
  return {stretched < 0.0F   ? 0.0F
          : stretched > 1.0F ? 1.0F
                             : stretched,
          inside ? stretch * n.inverse_tau * s * (1.0F - s) : 0.0F};
}

// P(z > 0) of a unit: sigmoid(logit - tau ln(-gamma / zeta)); `edge`: the part behind the minus sign.
L0GM_HOST_DEVICE float open_probability_of(float logit, float edge) {
  using namespace gate_formulas;
  return quotient(1.0F, 1.0F + gate_formulas::exp2((edge - logit) * log2_e));
}

}  // namespace l0gm
