#include "study/stop_signal.h"

#include <atomic>
#include <csignal>

namespace l0gm {

namespace {

std::atomic<int> received_signal{0};

void note_signal(int number) {
  if (received_signal.exchange(number) == 0) return;
  std::signal(number, SIG_DFL);
  std::raise(number);
}

}  // namespace

StopSignal::StopSignal()
    : interrupt_before_(std::signal(SIGINT, note_signal)), terminate_before_(std::signal(SIGTERM, note_signal)) {
  received_signal = 0;
}

StopSignal::~StopSignal() {
  std::signal(SIGINT, interrupt_before_);
  std::signal(SIGTERM, terminate_before_);
}

int StopSignal::received() { return received_signal; }

}  // namespace l0gm
