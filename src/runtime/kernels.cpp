// Highway compiles this file once per instruction set; only its headers are used, so the set that runs is chosen here. All other
// sets are left out; the plain one is compiled too, so that any processor can run it and tests can compare.
#define HWY_DISABLED_TARGETS (~(HWY_AVX3 | HWY_AVX2 | HWY_SSE4 | HWY_NEON | HWY_EMU128 | HWY_SCALAR))
#define HWY_COMPILE_ALL_ATTAINABLE
#define HWY_DISABLE_PCLMUL_AES  // not used, so not required of a processor
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "runtime/kernels.h"
#include "runtime/kernels_grid_inl.h"
#include "runtime/kernels_rows_inl.h"

HWY_BEFORE_NAMESPACE();
namespace l0gm::kernels::HWY_NAMESPACE {

const Kernels table = {
    {sum_rows<float>, sum_rows<Bfloat16>, sum_rows<int8_t>},
    {dense<float>, dense<Bfloat16>, dense<int8_t>},
    {member_dense<float>, member_dense<Bfloat16>, member_dense<int8_t>},
    scale_rows,
    add_dots,
    pairs,
    {cin_depth<float>, cin_depth<Bfloat16>, cin_depth<int8_t>},
    cin_pooled,
    cin_last,
};

}  // namespace l0gm::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

// Highway's checks call this in debug builds; its library, which defines it, is not linked.
namespace hwy {
__attribute__((weak)) HWY_NORETURN void Abort(const char* file, int line, const char* format, ...) {
  std::fprintf(stderr, "%s:%d: %s\n", file, line, format);
  std::abort();
}
}  // namespace hwy

namespace l0gm::kernels {
namespace {

// nullptr: not compiled in.
const Kernels* compiled(InstructionSet set) {
  switch (set) {
#if HWY_TARGETS & HWY_AVX3
    case InstructionSet::avx512:
      return &N_AVX3::table;
#endif
#if HWY_TARGETS & HWY_AVX2
    case InstructionSet::avx2:
      return &N_AVX2::table;
#endif
#if HWY_TARGETS & HWY_SSE4
    case InstructionSet::sse4:
      return &N_SSE4::table;
#endif
#if HWY_TARGETS & HWY_NEON
    case InstructionSet::neon:
      return &N_NEON::table;
#endif
#if HWY_TARGETS & HWY_EMU128
    case InstructionSet::plain:
      return &N_EMU128::table;
#elif HWY_TARGETS & HWY_SCALAR
    case InstructionSet::plain:
      return &N_SCALAR::table;
#endif
    default:
      return nullptr;
  }
}

// Whether this processor and its operating system support everything that the set was compiled with.
bool on_this_processor(InstructionSet set) {
#if HWY_ARCH_X86
  const bool sse4 = __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("sse4.2");
  const bool avx2 = sse4 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512cd");
  if (set == InstructionSet::sse4) return sse4;
  if (set == InstructionSet::avx2) return avx2;
  if (set == InstructionSet::avx512) return avx512;
#endif
  return set == InstructionSet::plain || set == InstructionSet::neon;
}

}  // namespace

Storage storage_of(DType type) {
  switch (type) {
    case DType::f32:
      return Storage::float32;
    case DType::bf16:
      return Storage::bfloat16;
    case DType::i8:
      return Storage::int8;
    default:
      throw std::logic_error("no kernel reads rows of this type");
  }
}

const Kernels& kernels_of(InstructionSet set) {
  const Kernels* found = compiled(set);
  if (found == nullptr || !on_this_processor(set))
    throw std::logic_error("this instruction set is not compiled in or not available on this processor");
  return *found;
}

}  // namespace l0gm::kernels

namespace l0gm {

std::vector<InstructionSet> usable_instruction_sets() {
  std::vector<InstructionSet> sets;
  for (size_t i = 0; i < enum_names<InstructionSet>.size(); ++i) {
    const auto set = static_cast<InstructionSet>(i);
    if (kernels::compiled(set) != nullptr && kernels::on_this_processor(set)) sets.push_back(set);
  }
  return sets;
}

}  // namespace l0gm

#endif
