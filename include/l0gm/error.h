// The error that every part of l0gm throws for wrong input, with a message for the user.
//   try { model = l0gm::CompactModel::load(path); }
//   catch (const l0gm::UserError& error) { std::cerr << error.what() << '\n'; return 2; }
#pragma once

#include <stdexcept>
#include <string>

#include "l0gm/api.h"

namespace l0gm {

// A mistake in input, options or files. The message says what was found, what was wanted and what to do. The command line exits
// with code 2. Any other exception is a bug or a failure of the machine and exits with code 1.
class L0GM_API UserError : public std::runtime_error {
 public:
  explicit UserError(const std::string& message) : std::runtime_error(message) {}
};

// The disk has no room left, or a file may not grow further. The command line exits with code 3.
class L0GM_API DiskFull : public UserError {
 public:
  using UserError::UserError;
};

// Someone asked the program to stop, by Ctrl-C or a signal. The command line exits with code 128 and the signal's number: 130,
// 143.
class L0GM_API Stopped : public UserError {
 public:
  Stopped(const std::string& message, int signal) : UserError(message), signal_(signal) {}
  int signal() const { return signal_; }

 private:
  int signal_;
};

}  // namespace l0gm
