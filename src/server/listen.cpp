#include "server/listen.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "l0gm/error.h"

namespace l0gm {
namespace {

constexpr int backlog = 1024;

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses addresses_of(const std::string& host, int port) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int problem = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (problem != 0 || found == nullptr) {
    throw UserError(
        fmt::format("'{}' is no address to listen on: {}. Name one of this machine, or leave --host out for 127.0.0.1", host,
                    gai_strerror(problem)));
  }
  return {found, &freeaddrinfo};
}

bool is_loopback(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    const auto* ipv4 = reinterpret_cast<const sockaddr_in*>(address);
    return ntohl(ipv4->sin_addr.s_addr) >> 24 == 127;
  }
  const auto* ipv6 = reinterpret_cast<const sockaddr_in6*>(address);
  return address->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&ipv6->sin6_addr);
}

}  // namespace

bool is_loopback(const std::string& host) {
  const Addresses addresses = addresses_of(host, 0);
  for (const addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next) {
    if (!is_loopback(address->ai_addr)) return false;
  }
  return true;
}

int listen_on(const std::string& host, int port, int& chosen) {
  const Addresses addresses = addresses_of(host, port);
  const addrinfo& address = *addresses;
  const int descriptor = socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int on = 1;
  if (descriptor >= 0) setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (descriptor < 0 || bind(descriptor, address.ai_addr, address.ai_addrlen) != 0 || listen(descriptor, backlog) != 0) {
    const int problem = errno;
    if (descriptor >= 0) close(descriptor);
    throw UserError(
        fmt::format("cannot listen on {} port {}: {}. Choose another with --port", host, port, std::strerror(problem)));
  }
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &size);
  chosen = ntohs(own.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(own).sin6_port
                                           : reinterpret_cast<sockaddr_in&>(own).sin_port);
  return descriptor;
}

void raise_descriptor_limit(int64_t connections) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const auto wanted = static_cast<rlim_t>(connections) + 64;
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace l0gm
