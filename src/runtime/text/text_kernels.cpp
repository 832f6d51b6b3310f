// Compiled once per instruction set, as runtime/kernels.cpp is.
#define HWY_DISABLED_TARGETS (~(HWY_AVX3 | HWY_AVX2 | HWY_SSE4 | HWY_NEON | HWY_EMU128 | HWY_SCALAR))
#define HWY_COMPILE_ALL_ATTAINABLE
#define HWY_DISABLE_PCLMUL_AES  // not used, so not required of a processor
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/text/text_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "runtime/text/text_kernels.h"
#include "runtime/text/text_kernels_attention_inl.h"
#include "runtime/text/text_kernels_rows_inl.h"

HWY_BEFORE_NAMESPACE();
namespace l0gm::text_kernels::HWY_NAMESPACE {

const TextKernels table = {activated<Identity>,
                           {activated<Gelu>, activated<GeluTanh>, activated<Relu>},
                           norm_of_sum,
                           {embed<float>, embed<Bfloat16>, embed<int8_t>},
                           quantise,
                           round_rows,
                           attend,
                           add_rows};

}  // namespace l0gm::text_kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <stdexcept>

namespace l0gm::text_kernels {

const TextKernels& text_kernels_of(InstructionSet set) {
  kernels::kernels_of(set);  // throws unless this processor has it
  switch (set) {
#if HWY_TARGETS & HWY_AVX3
    case InstructionSet::avx512:
      return N_AVX3::table;
#endif
#if HWY_TARGETS & HWY_AVX2
    case InstructionSet::avx2:
      return N_AVX2::table;
#endif
#if HWY_TARGETS & HWY_SSE4
    case InstructionSet::sse4:
      return N_SSE4::table;
#endif
#if HWY_TARGETS & HWY_NEON
    case InstructionSet::neon:
      return N_NEON::table;
#endif
#if HWY_TARGETS & HWY_EMU128
    case InstructionSet::plain:
      return N_EMU128::table;
#elif HWY_TARGETS & HWY_SCALAR
    case InstructionSet::plain:
      return N_SCALAR::table;
#endif
    default:
      throw std::logic_error("this instruction set is not compiled in");
  }
}

}  // namespace l0gm::text_kernels

#endif
