#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "server/connection.h"
#include "server/event_poll.h"
#include "server/http_message.h"
#include "server/server_metrics.h"

namespace l0gm {

struct HttpLimits {
  size_t head_bytes = 16 << 10;
  size_t body_bytes = 8 << 20;
  size_t all_bodies_bytes = 256 << 20;  // of requests that are received or worked on and of answers that wait, together
  int64_t connections = 1024;
  std::chrono::milliseconds request{10000};  // to receive one
  std::chrono::milliseconds answer{60000};   // to send one
  std::chrono::milliseconds idle{60000};     // between requests
  std::chrono::milliseconds grace{10000};    // after stop(), for what was accepted
};

// What answers requests. Called by the server's thread, and must not wait.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  // Before the body is received: an answer refuses it.
  virtual std::optional<HttpResponse> before_body(const HttpRequest& request) = 0;
  // The answer, or none: then it follows by HttpServer::reply with this number.
  virtual std::optional<HttpResponse> handle(HttpRequest request, uint64_t connection) = 0;
  // All requests that have arrived by now were handled: answers that are ready.
  virtual std::vector<std::pair<uint64_t, HttpResponse>> after_round() = 0;
  virtual void on_stop() = 0;
};

// One thread waits for all connections at once (epoll), so that slow and silent clients cost memory and nothing else.
class HttpServer {
 public:
  // Listens from here on; UserError when the address cannot be used. port 0: any free one.
  HttpServer(const std::string& host, int port, HttpLimits limits, HttpHandler& handler, ServerMetrics& metrics);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const { return port_; }
  void run();   // until stop() and what was accepted is answered
  void stop();  // from any thread or signal handler; a second call ends at once
  // From any thread. Connections that are gone are passed over.
  void reply(std::vector<std::pair<uint64_t, HttpResponse>> replies);

 private:
  using Clock = std::chrono::steady_clock;
  void on_event(uint64_t id, uint32_t events);
  void accept_some(int most);
  void add_connection(int descriptor);
  bool make_room();
  void on_readable(Connection& connection);
  void read_on(uint64_t id);
  size_t take_bytes(Connection& connection, std::string_view bytes);
  bool check_head(Connection& connection, bool body_follows);
  bool count_held(Connection& connection, size_t bytes);
  void serve(Connection& connection);
  void refuse(Connection& connection, const HttpResponse& response);
  void send(Connection& connection, const HttpResponse& response, bool keep_alive);
  void after_sending(Connection& connection, Connection::Sent sent);
  void set_interest(Connection& connection, uint32_t events);
  void let_go(Connection& connection);
  void close(Connection& connection);
  void deliver(std::vector<std::pair<uint64_t, HttpResponse>> replies);
  std::vector<std::pair<uint64_t, HttpResponse>> take_replies();
  void check_deadlines();
  void start_stopping();
  Connection* find(uint64_t id);

  HttpLimits limits_;
  HttpHandler& handler_;
  ServerMetrics& metrics_;
  int listener_ = -1, port_ = 0;
  EventPoll poll_;
  std::vector<std::unique_ptr<Connection>> connections_;  // by descriptor
  uint64_t next_id_ = 1;
  int64_t open_ = 0;
  size_t held_bytes_ = 0;
  std::unordered_map<uint64_t, size_t> abandoned_;  // connections that closed before their answer: bytes of their requests
  std::string read_buffer_, head_, date_;
  std::time_t date_second_ = 0;
  Clock::time_point now_, next_check_, stop_at_;
  std::atomic<int> stops_{0};
  bool stopping_ = false, accepts_ = true;
  std::mutex replies_mutex_;
  std::vector<std::pair<uint64_t, HttpResponse>> replies_;
};

}  // namespace l0gm
