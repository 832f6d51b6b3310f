#include "server/connection.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>

namespace l0gm {

Connection::Sent Connection::send(std::string_view head, std::string_view body) {
  std::array<iovec, 2> parts = {iovec{const_cast<char*>(head.data()), head.size()},
                                iovec{const_cast<char*>(body.data()), body.size()}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = body.empty() ? 1 : 2;
  const ssize_t count = sendmsg(descriptor, &message, MSG_NOSIGNAL);
  if (count < 0 && errno != EAGAIN && errno != EINTR) return Sent::failed;
  const size_t sent = count < 0 ? 0 : static_cast<size_t>(count);
  if (sent == head.size() + body.size()) return Sent::all;
  out_.assign(sent < head.size() ? head.substr(sent) : std::string_view());
  out_ += body.substr(sent < head.size() ? 0 : sent - head.size());
  sent_ = 0;
  return Sent::some;
}

Connection::Sent Connection::send_rest() {
  const ssize_t count = ::send(descriptor, out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL);
  if (count < 0) return errno == EAGAIN || errno == EINTR ? Sent::some : Sent::failed;
  sent_ += static_cast<size_t>(count);
  if (sent_ < out_.size()) return Sent::some;
  out_ = {};
  return Sent::all;
}

}  // namespace l0gm
