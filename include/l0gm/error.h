#pragma once

#include <stdexcept>
#include <string>

#include "l0gm/api.h"

namespace l0gm {

// The user's mistake: what was found, what was wanted and what to do. The command line exits with code 2.
// Everything else that is thrown is our mistake (or the machine's) and exits with code 1.
class L0GM_API UserError : public std::runtime_error {
 public:
  explicit UserError(const std::string& message) : std::runtime_error(message) {}
};

}  // namespace l0gm
