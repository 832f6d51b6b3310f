#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/request_reader.h"

namespace l0gm {

// One client. Only the server's thread touches it.
struct Connection {
  enum class State {
    receiving,  // waits for a request, or for the rest of one
    waiting,    // for its answer, which others compute
    sending,    // the answer did not fit into the socket's buffer
    closing,    // the last answer is out; what the client still sends is thrown away, so that it can read the answer
  };
  Connection(int descriptor_, uint64_t id_, size_t head_bytes, size_t body_bytes)
      : descriptor(descriptor_), id(id_), reader(head_bytes, body_bytes) {}

  enum class Sent { all, some, failed };
  Sent send(std::string_view head, std::string_view body);  // what does not fit is kept
  Sent send_rest();

  int descriptor;
  uint64_t id;  // never used again, as descriptors are
  State state = State::receiving;
  RequestReader reader;
  std::string unread;  // bytes behind the request that is being served
  size_t unread_at = 0;
  size_t held = 0;  // bytes of its request, later of its answer, that the server has counted
  bool keep_alive = true, head_only = false, checked_head = false;
  uint32_t interest = 0;  // as epoll knows it
  std::chrono::steady_clock::time_point deadline;
  std::chrono::steady_clock::time_point last_used;
  size_t rest() const { return out_.size(); }  // bytes that are kept of an answer
  bool is_idle() const { return state == State::receiving && !reader.started(); }

 private:
  std::string out_;  // rest of an answer
  size_t sent_ = 0;
};

}  // namespace l0gm
