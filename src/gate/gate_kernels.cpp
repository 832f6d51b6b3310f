// Highway compiles this file once per instruction set, and the compiler makes vectors of the loops; the set that runs is chosen
// here (as in runtime/kernels.cpp).
#define HWY_DISABLED_TARGETS (~(HWY_AVX3 | HWY_AVX2 | HWY_NEON | HWY_EMU128 | HWY_SCALAR))
#define HWY_COMPILE_ALL_ATTAINABLE
#define HWY_DISABLE_PCLMUL_AES  // not used, so not required of a processor
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gate/gate_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "gate/gate_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace l0gm::gate_loops::HWY_NAMESPACE {

void forward(const GateNumbers& given, int64_t count, const float* HWY_RESTRICT logits, const float* HWY_RESTRICT u,
             const float* HWY_RESTRICT keep, const float* HWY_RESTRICT r, float* HWY_RESTRICT z, float* HWY_RESTRICT kept,
             float* HWY_RESTRICT value) {
  const GateNumbers n = given;
  for (int64_t j = 0; j < count; ++j) {
    const float gate = gate_of(logits[j], u[j], n), open = gate * keep[j];
    z[j] = gate;
    kept[j] = open;
    value[j] = r[j] * open;
  }
}

void backward(const GateNumbers& given, int64_t count, const float* HWY_RESTRICT z, const float* HWY_RESTRICT keep,
              const float* HWY_RESTRICT r, const float* HWY_RESTRICT of_value, const float* HWY_RESTRICT of_kept,
              float* HWY_RESTRICT of_r, float* HWY_RESTRICT of_logits) {
  const GateNumbers n = given;
  for (int64_t j = 0; j < count; ++j) {
    of_r[j] = of_value[j] * (z[j] * keep[j]);
    of_logits[j] = (of_value[j] * r[j] + of_kept[j]) * gate_slope(z[j], n);
  }
}

GateKernels kernels(const char* name) { return {name, forward, backward}; }

}  // namespace l0gm::gate_loops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace l0gm {

std::vector<GateKernels> usable_gate_kernels() {
  std::vector<GateKernels> list;
#if HWY_ARCH_X86
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512cd");
#if HWY_TARGETS & HWY_AVX3
  if (avx512) list.push_back(gate_loops::N_AVX3::kernels("avx512"));
#endif
#if HWY_TARGETS & HWY_AVX2
  if (avx2) list.push_back(gate_loops::N_AVX2::kernels("avx2"));
#endif
#endif
#if HWY_TARGETS & HWY_NEON
  list.push_back(gate_loops::N_NEON::kernels("neon"));
#endif
#if HWY_TARGETS & HWY_EMU128
  list.push_back(gate_loops::N_EMU128::kernels("plain"));
#elif HWY_TARGETS & HWY_SCALAR
  list.push_back(gate_loops::N_SCALAR::kernels("plain"));
#endif
  return list;
}

const GateKernels& gate_kernels() {
  static const GateKernels best = usable_gate_kernels().front();
  return best;
}

}  // namespace l0gm

#endif
