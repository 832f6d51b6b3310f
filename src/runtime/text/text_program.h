#pragma once

#include <map>
#include <string>

#include "runtime/program.h"
#include "runtime/text/text_weights.h"

namespace l0gm {

// A compact text model ready to be computed; TextPass does.
class TextProgram {
 public:
  TextProgram(const TextNet& net, WeightType weights, const std::map<std::string, TensorBytes>& tensors,
              InstructionSet instructions = usable_instruction_sets().front());

  const TextNet& net() const { return net_; }
  const TextWeights& weights() const { return weights_; }
  const text_kernels::TextKernels& kernels() const { return kernels_; }
  onednn::Numbers numbers() const { return numbers_; }  // that products are computed with
  size_t memory_bytes() const { return weights_.bytes(); }

 private:
  TextNet net_;
  onednn::Numbers numbers_;
  TextWeights weights_;
  const text_kernels::TextKernels& kernels_;
};

}  // namespace l0gm
