#pragma once

#include <memory>
#include <vector>

#include "encoders/graph/convolution.h"

namespace l0gm {

// A convolution with attention over the neighbours and the node itself (Velickovic et al., 2018). narrowed_heads: as
// NarrowedOutputs::heads. UserError if options.heads does not divide the outputs.
std::shared_ptr<Convolution> make_gat(int64_t inputs, int64_t outputs, const ConvolutionOptions& options,
                                      const std::vector<int64_t>& narrowed_heads);

}  // namespace l0gm
