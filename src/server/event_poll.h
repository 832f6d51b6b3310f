#pragma once

#include <sys/epoll.h>

#include <array>
#include <cstdint>
#include <span>

namespace l0gm {

// The descriptors that one thread waits for (epoll), each known by a number, and a bell that any thread or signal handler may
// ring.
class EventPoll {
 public:
  explicit EventPoll(uint64_t bell);  // the number by which wait() reports the bell; UserError where the system has no epoll
  ~EventPoll();
  EventPoll(const EventPoll&) = delete;
  EventPoll& operator=(const EventPoll&) = delete;

  void add(int descriptor, uint64_t number, uint32_t events);
  void change(int descriptor, uint64_t number, uint32_t events);
  // What has happened; nothing after so many milliseconds (-1: however long it takes), or when a signal came.
  std::span<const epoll_event> wait(int milliseconds);
  void ring();
  void quiet();  // after the bell was reported

 private:
  void control(int operation, int descriptor, uint64_t number, uint32_t events);
  int epoll_, bell_;
  std::array<epoll_event, 256> events_;
};

}  // namespace l0gm
