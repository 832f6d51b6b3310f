#pragma once

#include <string>

#include "l0gm/error.h"

namespace l0gm {

// A request that is answered with a message instead of a result.
class RequestError : public UserError {
 public:
  RequestError(int status, const std::string& message) : UserError(message), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

}  // namespace l0gm
