#include "server/http_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace l0gm {
namespace {

// Keeps requests for the test to answer, later answers them at once.
class Keeper : public HttpHandler {
 public:
  std::optional<HttpResponse> before_body(const HttpRequest&) override { return std::nullopt; }
  std::optional<HttpResponse> handle(HttpRequest request, uint64_t connection) override {
    if (answers) return HttpResponse{};
    const std::lock_guard lock(mutex_);
    kept_.emplace_back(connection, std::move(request));
    came_.notify_all();
    return std::nullopt;
  }
  std::vector<std::pair<uint64_t, HttpResponse>> after_round() override { return {}; }
  void on_stop() override {}
  // The connection of the request of this number, when it has come.
  uint64_t wait_for(size_t number) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(came_.wait_for(lock, std::chrono::seconds(20), [&] { return kept_.size() > number; }));
    return kept_.at(number).first;
  }

  std::atomic<bool> answers{false};

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::vector<std::pair<uint64_t, HttpRequest>> kept_;
};

class Client {
 public:
  explicit Client(int port) : descriptor_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ~Client() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  void post(size_t bytes) const {
    std::string request = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(bytes) + "\r\n\r\n";
    request.append(bytes, 'x');
    for (size_t at = 0; at < request.size();) {
      const ssize_t count = send(descriptor_, request.data() + at, request.size() - at, MSG_NOSIGNAL);
      if (count <= 0) return;  // refused and closed in the middle: the answer tells
      at += static_cast<size_t>(count);
    }
  }
  void reset() {  // without a farewell
    const linger now{1, 0};
    setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(std::exchange(descriptor_, -1));
  }
  std::string status() const {
    std::string answer(12, ' ');
    return recv(descriptor_, answer.data(), answer.size(), MSG_WAITALL) == 12 ? answer.substr(9) : "none";
  }

 private:
  int descriptor_;
};

TEST(HttpServer, RequestsOfClientsThatWentAwayAreCountedUntilTheyAreAnswered) {
  constexpr size_t body = 600 << 10;
  HttpLimits limits;
  limits.all_bodies_bytes = 1 << 20;
  Keeper keeper;
  ServerMetrics metrics;
  HttpServer server("127.0.0.1", 0, limits, keeper, metrics);
  std::thread thread([&] { server.run(); });

  Client gone(server.port());
  gone.post(body);
  const uint64_t first = keeper.wait_for(0);
  gone.reset();
  while (metrics.connections.load() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const Client refused(server.port());
  refused.post(body);
  EXPECT_EQ(refused.status(), "503");

  keeper.answers = true;
  server.reply({{first, HttpResponse{}}});
  std::string found;
  for (int attempt = 0; attempt < 500 && found != "200"; ++attempt) {  // the reply is on its way
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const Client next(server.port());
    next.post(body);
    found = next.status();
  }
  EXPECT_EQ(found, "200");
  server.stop();
  thread.join();
}

}  // namespace
}  // namespace l0gm
