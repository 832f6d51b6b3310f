#pragma once

#include <c10/util/Exception.h>

namespace l0gm {

// As long as it lives, torch does not tell this thread that sparse matrices and reductions by index are a beta: no news to the
// user.
class QuietTorch {
 public:
  QuietTorch() : guard_(&silence_) {}

 private:
  struct Silence : c10::WarningHandler {
    void process(const c10::Warning&) override {}
  };
  Silence silence_;
  c10::WarningUtils::WarningHandlerGuard guard_;
};

}  // namespace l0gm
