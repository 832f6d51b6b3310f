#include "server/event_poll.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "l0gm/error.h"

namespace l0gm {

EventPoll::EventPoll(uint64_t bell) : epoll_(epoll_create1(EPOLL_CLOEXEC)), bell_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (epoll_ < 0 || bell_ < 0) throw UserError(fmt::format("the system gives no epoll: {}", std::strerror(errno)));
  add(bell_, bell, EPOLLIN);
}

EventPoll::~EventPoll() {
  close(bell_);
  close(epoll_);
}

void EventPoll::control(int operation, int descriptor, uint64_t number, uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = number;
  epoll_ctl(epoll_, operation, descriptor, &event);
}

void EventPoll::add(int descriptor, uint64_t number, uint32_t events) { control(EPOLL_CTL_ADD, descriptor, number, events); }

void EventPoll::change(int descriptor, uint64_t number, uint32_t events) { control(EPOLL_CTL_MOD, descriptor, number, events); }

std::span<const epoll_event> EventPoll::wait(int milliseconds) {
  const int count = epoll_wait(epoll_, events_.data(), static_cast<int>(events_.size()), milliseconds);
  if (count < 0 && errno != EINTR) throw std::runtime_error(fmt::format("epoll_wait: {}", std::strerror(errno)));
  return std::span(events_).first(static_cast<size_t>(count < 0 ? 0 : count));
}

void EventPoll::ring() {
  const uint64_t one = 1;
  [[maybe_unused]] const auto written = write(bell_, &one, sizeof one);
}

void EventPoll::quiet() {
  uint64_t count = 0;
  [[maybe_unused]] const auto taken = read(bell_, &count, sizeof count);
}

}  // namespace l0gm
