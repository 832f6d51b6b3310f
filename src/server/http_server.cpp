#include "server/http_server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "l0gm/error.h"
#include "server/listen.h"

namespace l0gm {
namespace {

constexpr size_t read_bytes = 64 << 10;
constexpr auto check_every = std::chrono::milliseconds(100);
constexpr auto closing_time = std::chrono::seconds(2);
constexpr int accepts_at_once = 64;  // then the others have their turn
// What epoll reports is known by a number. A connection's has its descriptor in its last bits.
constexpr uint64_t listener_id = 1, wake_id = 2;
constexpr int descriptor_bits = 24;
constexpr std::string_view full =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\nConnection: close\r\n\r\n";
constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";

void add_one(std::atomic<int64_t>& counter) { counter.fetch_add(1, std::memory_order_relaxed); }

void send_at_once(int descriptor, std::string_view text) {
  [[maybe_unused]] const auto sent = ::send(descriptor, text.data(), text.size(), MSG_NOSIGNAL);
}

}  // namespace

HttpServer::HttpServer(const std::string& host, int port, HttpLimits limits, HttpHandler& handler, ServerMetrics& metrics)
    : limits_(limits), handler_(handler), metrics_(metrics), poll_(wake_id), read_buffer_(read_bytes, '\0') {
  raise_descriptor_limit(limits.connections);
  listener_ = listen_on(host, port, port_);
  poll_.add(listener_, listener_id, EPOLLIN);
}

HttpServer::~HttpServer() {
  for (const auto& connection : connections_) {
    if (connection != nullptr) ::close(connection->descriptor);
  }
  if (listener_ >= 0) ::close(listener_);
}

void HttpServer::stop() {
  stops_.fetch_add(1);
  poll_.ring();
}

void HttpServer::reply(std::vector<std::pair<uint64_t, HttpResponse>> replies) {
  {
    const std::lock_guard lock(replies_mutex_);
    const bool first = replies_.empty();
    std::move(replies.begin(), replies.end(), std::back_inserter(replies_));
    if (!first) return;  // whoever came first wakes the server
  }
  poll_.ring();
}

void HttpServer::run() {
  next_check_ = Clock::now() + check_every;
  while (!(stopping_ && open_ == 0)) {
    const int timeout = open_ > 0 || stopping_ || !accepts_ ? static_cast<int>(check_every.count()) : -1;
    const std::span<const epoll_event> events = poll_.wait(timeout);
    now_ = Clock::now();
    if (std::time(nullptr) != date_second_) date_ = http_date(date_second_ = std::time(nullptr));
    for (const epoll_event& event : events) on_event(event.data.u64, event.events);
    if (stops_.load() > 0 && !stopping_) start_stopping();
    if (now_ >= next_check_) check_deadlines();
    // Who is answered may have sent the next request together with this one.
    for (auto ready = handler_.after_round(); !ready.empty(); ready = handler_.after_round()) deliver(std::move(ready));
    if (stopping_ && (stops_.load() > 1 || now_ >= stop_at_)) break;
  }
}

Connection* HttpServer::find(uint64_t id) {
  const auto at = static_cast<size_t>(id & ((uint64_t{1} << descriptor_bits) - 1));
  if (at >= connections_.size() || connections_[at] == nullptr || connections_[at]->id != id) return nullptr;
  return connections_[at].get();
}

void HttpServer::on_event(uint64_t id, uint32_t events) {
  if (id == listener_id) return accept_some(accepts_at_once);
  if (id == wake_id) {
    poll_.quiet();
    return deliver(take_replies());
  }
  Connection* const connection = find(id);
  if (connection == nullptr) return;  // closed by an earlier event of this round
  if ((events & EPOLLERR) != 0 || (events & (EPOLLIN | EPOLLHUP)) == EPOLLHUP) return close(*connection);
  if ((events & EPOLLOUT) != 0) {
    after_sending(*connection, connection->send_rest());
    return read_on(id);
  }
  if ((events & EPOLLIN) != 0) on_readable(*connection);
}

// Connections: who comes and who goes.

void HttpServer::accept_some(int most) {
  for (int i = 0; i < most; ++i) {
    const int descriptor = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor >= 0) {
      add_connection(descriptor);
    } else if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM) {
      return;
    } else if (!make_room()) {  // no descriptor is left, and who waits would wake us again at once
      accepts_ = false;
      return poll_.change(listener_, listener_id, 0);
    }
  }
}

void HttpServer::add_connection(int descriptor) {
  add_one(metrics_.accepted);
  if (descriptor >> descriptor_bits != 0 || (open_ + std::ssize(abandoned_) >= limits_.connections && !make_room())) {
    add_one(metrics_.refused_connections);
    send_at_once(descriptor, full);
    ::close(descriptor);
    return;
  }
  const int on = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const auto at = static_cast<size_t>(descriptor);
  if (at >= connections_.size()) connections_.resize(at + 1);
  const uint64_t id = next_id_++ << descriptor_bits | static_cast<uint64_t>(descriptor);
  connections_[at] = std::make_unique<Connection>(descriptor, id, limits_.head_bytes, limits_.body_bytes);
  connections_[at]->deadline = now_ + limits_.idle;
  connections_[at]->last_used = now_;
  connections_[at]->interest = EPOLLIN;
  poll_.add(descriptor, id, EPOLLIN);
  metrics_.connections.store(++open_, std::memory_order_relaxed);
}

// At the limit, the connection that has been idle longest goes, then the one whose request has used up more than half of its time:
// silent and trickling clients must not keep others out.
bool HttpServer::make_room() {
  Connection* oldest = nullptr;
  for (const auto& connection : connections_) {
    if (connection == nullptr || !connection->is_idle()) continue;
    if (oldest == nullptr || connection->last_used < oldest->last_used) oldest = connection.get();
  }
  if (oldest == nullptr) {
    for (const auto& connection : connections_) {
      if (connection == nullptr || connection->state != Connection::State::receiving) continue;
      if (oldest == nullptr || connection->deadline < oldest->deadline) oldest = connection.get();
    }
    if (oldest == nullptr || oldest->deadline - limits_.request / 2 > now_) return false;
  }
  add_one(metrics_.evicted_connections);
  close(*oldest);
  return true;
}

void HttpServer::set_interest(Connection& connection, uint32_t events) {
  if (connection.interest == events) return;
  connection.interest = events;
  poll_.change(connection.descriptor, connection.id, events);
}

void HttpServer::close(Connection& connection) {
  if (connection.state == Connection::State::waiting) {
    abandoned_.emplace(connection.id, connection.held);  // what works on its request still holds it
  } else {
    held_bytes_ -= connection.held;
  }
  const int descriptor = connection.descriptor;
  ::close(descriptor);  // leaves epoll as well
  connections_[static_cast<size_t>(descriptor)].reset();
  metrics_.connections.store(--open_, std::memory_order_relaxed);
}

void HttpServer::check_deadlines() {
  next_check_ = now_ + check_every;
  if (!accepts_ && !stopping_) {
    accepts_ = true;
    poll_.change(listener_, listener_id, EPOLLIN);
  }
  for (size_t i = 0; i < connections_.size(); ++i) {
    Connection* const connection = connections_[i].get();
    if (connection == nullptr || connection->deadline > now_) continue;
    if (connection->state == Connection::State::receiving && connection->reader.started()) {
      add_one(metrics_.timeouts);
      refuse(*connection, error_response(408, fmt::format("the request did not arrive within {} s",
                                                          std::chrono::duration<double>(limits_.request).count())));
    } else {
      if (connection->state == Connection::State::sending) add_one(metrics_.timeouts);
      close(*connection);
    }
  }
}

// Nobody new; clients that have begun a request get their answer, the others are let go.
void HttpServer::start_stopping() {
  accept_some(static_cast<int>(limits_.connections));  // who waits to be accepted was promised a connection by the system
  stopping_ = true;
  stop_at_ = now_ + limits_.grace;
  handler_.on_stop();
  ::close(std::exchange(listener_, -1));
  for (size_t i = 0; i < connections_.size(); ++i) {
    if (connections_[i] == nullptr || !connections_[i]->is_idle()) continue;
    on_readable(*connections_[i]);  // a request may lie in the socket already
    if (connections_[i] != nullptr && connections_[i]->is_idle()) let_go(*connections_[i]);
  }
}

// Requests and answers.

void HttpServer::on_readable(Connection& connection) {
  // A request is being served: what follows stays in the socket until it is answered.
  if (connection.state == Connection::State::waiting || connection.state == Connection::State::sending) {
    return set_interest(connection, connection.interest & ~static_cast<uint32_t>(EPOLLIN));
  }
  const ssize_t count = recv(connection.descriptor, read_buffer_.data(), read_buffer_.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) return close(connection);
  if (connection.state == Connection::State::closing) return;
  const uint64_t id = connection.id;
  const std::string_view bytes(read_buffer_.data(), static_cast<size_t>(count));
  const size_t used = take_bytes(connection, bytes);
  if (used == bytes.size() || find(id) == nullptr) return;
  connection.unread.assign(bytes.substr(used));
  connection.unread_at = 0;
  read_on(id);
}

// Requests that came together with one that is answered by now.
void HttpServer::read_on(uint64_t id) {
  while (Connection* const connection = find(id)) {
    if (connection->state != Connection::State::receiving || connection->unread_at == connection->unread.size()) return;
    const std::string_view bytes = std::string_view(connection->unread).substr(connection->unread_at);
    const size_t used = take_bytes(*connection, bytes);
    if (find(id) == nullptr) return;
    connection->unread_at += used;
    if (connection->unread_at < connection->unread.size()) continue;
    connection->unread.clear();
    connection->unread_at = 0;
  }
}

// Up to the end of a request, which is served then, perhaps with the connection closed; returns how many were used.
size_t HttpServer::take_bytes(Connection& connection, std::string_view bytes) {
  RequestReader& reader = connection.reader;
  if (!reader.started()) connection.deadline = now_ + limits_.request;
  size_t used = 0;
  while (reader.state() != RequestReader::State::complete) {
    used += reader.feed(bytes.substr(used));
    if (reader.state() == RequestReader::State::failed) {
      add_one(metrics_.bad_requests);
      refuse(connection, reader.problem());
      return bytes.size();
    }
    if (reader.state() == RequestReader::State::body && !connection.checked_head) {
      if (!check_head(connection, used < bytes.size())) return bytes.size();
    } else if (reader.state() != RequestReader::State::complete) {  // all bytes are used
      if (!reader.started()) connection.deadline = now_ + limits_.idle;
      count_held(connection, reader.held_bytes());
      return bytes.size();
    }
  }
  serve(connection);
  return used;
}

// Before the body is received; false: it is refused.
bool HttpServer::check_head(Connection& connection, bool body_follows) {
  connection.checked_head = true;
  if (const auto refusal = handler_.before_body(connection.reader.request())) {
    refuse(connection, *refusal);
    return false;
  }
  if (connection.reader.wants_continue() && !body_follows) send_at_once(connection.descriptor, go_on);
  return true;
}

// All requests together must fit into memory; false: this one is refused.
bool HttpServer::count_held(Connection& connection, size_t bytes) {
  held_bytes_ = held_bytes_ + bytes - connection.held;
  connection.held = bytes;
  if (held_bytes_ <= limits_.all_bodies_bytes) return true;
  add_one(metrics_.bad_requests);
  refuse(connection, error_response(503, "the server is receiving more than it can hold; try again later"));
  return false;
}

void HttpServer::serve(Connection& connection) {
  HttpRequest request = connection.reader.take();
  connection.checked_head = false;
  connection.head_only = request.method == "HEAD";
  if (!count_held(connection, request.body.size())) return;
  connection.keep_alive = request.keep_alive;
  connection.state = Connection::State::waiting;
  connection.deadline = Clock::time_point::max();
  if (const auto response = handler_.handle(std::move(request), connection.id)) {
    send(connection, *response, connection.keep_alive);
  }
}

void HttpServer::refuse(Connection& connection, const HttpResponse& response) {
  if (connection.reader.started()) connection.head_only = connection.reader.request().method == "HEAD";
  send(connection, response, false);
}

void HttpServer::send(Connection& connection, const HttpResponse& response, bool keep_alive) {
  connection.keep_alive = keep_alive && !stopping_;
  connection.state = Connection::State::sending;  // its request is answered: nobody else holds any of it
  held_bytes_ -= std::exchange(connection.held, 0);
  head_.clear();
  append_head(response, connection.keep_alive, date_, head_);
  connection.deadline = now_ + limits_.answer;
  after_sending(connection, connection.send(head_, connection.head_only ? std::string_view() : response.body));
}

void HttpServer::after_sending(Connection& connection, Connection::Sent sent) {
  if (sent == Connection::Sent::failed) return close(connection);
  held_bytes_ = held_bytes_ + connection.rest() - std::exchange(connection.held, connection.rest());
  if (sent == Connection::Sent::some) {
    if (held_bytes_ > limits_.all_bodies_bytes) return close(connection);  // too many clients do not read their answers
    connection.state = Connection::State::sending;
    return set_interest(connection, EPOLLOUT);
  }
  connection.state = Connection::State::receiving;
  connection.last_used = now_;
  connection.deadline = now_ + limits_.idle;
  set_interest(connection, EPOLLIN);
  if (!connection.keep_alive) let_go(connection);
}

// The client reads to the end of what was sent, then sees the end. Closing at once would reset the connection, and the answer
// with it, where the client is sending.
void HttpServer::let_go(Connection& connection) {
  connection.state = Connection::State::closing;
  connection.deadline = now_ + closing_time;
  shutdown(connection.descriptor, SHUT_WR);
}

std::vector<std::pair<uint64_t, HttpResponse>> HttpServer::take_replies() {
  const std::lock_guard lock(replies_mutex_);
  return std::exchange(replies_, {});
}

void HttpServer::deliver(std::vector<std::pair<uint64_t, HttpResponse>> replies) {
  for (const auto& [id, response] : replies) {
    Connection* const connection = find(id);
    if (connection == nullptr) {
      if (const auto gone = abandoned_.find(id); gone != abandoned_.end()) {
        held_bytes_ -= gone->second;
        abandoned_.erase(gone);
      }
      continue;
    }
    send(*connection, response, connection->keep_alive);
    read_on(id);
  }
}

}  // namespace l0gm
