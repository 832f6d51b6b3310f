#include "runtime/text/text_program.h"

namespace l0gm {

TextProgram::TextProgram(const TextNet& net, WeightType weights, const std::map<std::string, TensorBytes>& tensors,
                         InstructionSet instructions)
    : net_(net),
      numbers_(numbers_for(weights)),
      weights_(read_text_weights(tensors, net, numbers_)),
      kernels_(text_kernels::text_kernels_of(instructions)) {}

}  // namespace l0gm
