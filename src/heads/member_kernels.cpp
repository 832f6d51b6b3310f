// Highway compiles this file once per instruction set; only its headers are used, so the set that runs is chosen here (as in
// runtime/kernels.cpp).
#define HWY_DISABLED_TARGETS (~(HWY_AVX3 | HWY_AVX2 | HWY_NEON | HWY_EMU128 | HWY_SCALAR))
#define HWY_COMPILE_ALL_ATTAINABLE
#define HWY_DISABLE_PCLMUL_AES  // not used, so not required of a processor
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heads/member_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "heads/member_kernels_inl.h"

HWY_BEFORE_NAMESPACE();
namespace l0gm::member_kernels_of::HWY_NAMESPACE {

template <class T>
MemberKernels<T> kernels(const char* name) {
  return {name, activate<T>, activate_back<T>, inputs_back<T>, weights_back<T>};
}
MemberKernels<float> float_kernels(const char* name) { return kernels<float>(name); }
MemberKernels<double> double_kernels(const char* name) { return kernels<double>(name); }

}  // namespace l0gm::member_kernels_of::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <cstdio>
#include <cstdlib>
#include <type_traits>

// Highway's checks call this in debug builds; its library, which defines it, is not linked.
namespace hwy {
__attribute__((weak)) HWY_NORETURN void Abort(const char* file, int line, const char* format, ...) {
  std::fprintf(stderr, "%s:%d: %s\n", file, line, format);
  std::abort();
}
}  // namespace hwy

namespace l0gm {

namespace {

template <class T>
void add_kernels(std::vector<MemberKernels<T>>& list, const char* name, MemberKernels<float> (*floats)(const char*),
                 MemberKernels<double> (*doubles)(const char*)) {
  if constexpr (std::is_same_v<T, float>) {
    list.push_back(floats(name));
  } else {
    list.push_back(doubles(name));
  }
}

}  // namespace

template <class T>
std::vector<MemberKernels<T>> usable_member_kernels() {
  std::vector<MemberKernels<T>> list;
#if HWY_ARCH_X86
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512cd");
#if HWY_TARGETS & HWY_AVX3
  if (avx512) add_kernels(list, "avx512", member_kernels_of::N_AVX3::float_kernels, member_kernels_of::N_AVX3::double_kernels);
#endif
#if HWY_TARGETS & HWY_AVX2
  if (avx2) add_kernels(list, "avx2", member_kernels_of::N_AVX2::float_kernels, member_kernels_of::N_AVX2::double_kernels);
#endif
#endif
#if HWY_TARGETS & HWY_NEON
  add_kernels(list, "neon", member_kernels_of::N_NEON::float_kernels, member_kernels_of::N_NEON::double_kernels);
#endif
#if HWY_TARGETS & HWY_EMU128
  add_kernels(list, "plain", member_kernels_of::N_EMU128::float_kernels, member_kernels_of::N_EMU128::double_kernels);
#elif HWY_TARGETS & HWY_SCALAR
  add_kernels(list, "plain", member_kernels_of::N_SCALAR::float_kernels, member_kernels_of::N_SCALAR::double_kernels);
#endif
  return list;
}

template std::vector<MemberKernels<float>> usable_member_kernels();
template std::vector<MemberKernels<double>> usable_member_kernels();

}  // namespace l0gm

#endif
