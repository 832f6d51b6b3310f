#pragma once

namespace l0gm {

// While one lives, progress and warnings are not shown: of work that repeats what was said already. Errors are.
class LogPause {
 public:
  LogPause();
  ~LogPause();
  LogPause(const LogPause&) = delete;
  LogPause& operator=(const LogPause&) = delete;
};

}  // namespace l0gm
