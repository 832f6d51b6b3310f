#pragma once

#include <c10/util/Exception.h>

namespace l0gm {

// During its lifetime, torch's warnings on this thread are dropped: they say that sparse matrices and reductions by index are in
// beta, which does not help the user.
class SuppressTorchWarnings {
 public:
  SuppressTorchWarnings() : guard_(&handler_) {}

 private:
  struct IgnoreAll : c10::WarningHandler {
    void process(const c10::Warning&) override {}
  };
  IgnoreAll handler_;
  c10::WarningUtils::WarningHandlerGuard guard_;
};

}  // namespace l0gm
