#pragma once

namespace l0gm {

// While it lives, SIGINT and SIGTERM are noted and do not end the process; a second one does.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;
  static int received();  // its number; 0: none

 private:
  void (*interrupt_before_)(int);
  void (*terminate_before_)(int);
};

}  // namespace l0gm
