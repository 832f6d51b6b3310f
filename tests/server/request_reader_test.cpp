#include "server/request_reader.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace l0gm {
namespace {

using State = RequestReader::State;

RequestReader fed(std::string_view bytes) {
  RequestReader reader(1024, 100);
  while (!bytes.empty() && reader.state() != State::failed && reader.state() != State::complete) {
    bytes.remove_prefix(reader.feed(bytes));
  }
  return reader;
}

int status_of(std::string_view bytes) {
  const RequestReader reader = fed(bytes);
  return reader.state() == State::failed ? reader.problem().status : reader.state() == State::complete ? 200 : 0;
}

constexpr std::string_view post =
    "POST /v1/models/a%20b:predict?x=1 HTTP/1.1\r\nHost: here\r\nContent-Type: text/csv\r\nContent-Length: 5\r\n\r\nhello";

TEST(RequestReader, ReadsARequestWhole) {
  RequestReader reader = fed(post);
  ASSERT_EQ(reader.state(), State::complete);
  const HttpRequest request = reader.take();
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/v1/models/a b:predict");
  EXPECT_EQ(request.query, "x=1");
  EXPECT_EQ(request.host, "here");
  EXPECT_EQ(request.content_type, "text/csv");
  EXPECT_EQ(request.body, "hello");
  EXPECT_TRUE(request.keep_alive);
  EXPECT_EQ(reader.state(), State::head);
  EXPECT_FALSE(reader.started());
}

TEST(RequestReader, ReadsARequestByteByByte) {
  RequestReader reader(1024, 100);
  for (const char c : post) {
    ASSERT_NE(reader.state(), State::complete);
    ASSERT_EQ(reader.feed({&c, 1}), 1U);
  }
  ASSERT_EQ(reader.state(), State::complete);
  EXPECT_EQ(reader.take().body, "hello");
}

TEST(RequestReader, LeavesTheNextRequestAlone) {
  const std::string two = std::string(post) + "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
  RequestReader reader(1024, 100);
  size_t used = 0;
  while (reader.state() != State::complete) used += reader.feed(std::string_view(two).substr(used));
  EXPECT_EQ(used, post.size());
  reader.take();
  while (reader.state() != State::complete) used += reader.feed(std::string_view(two).substr(used));
  EXPECT_EQ(used, two.size());
  EXPECT_EQ(reader.take().method, "GET");
}

TEST(RequestReader, ReadsChunks) {
  const std::string chunked =
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nTrail: er\r\n\r\n";
  RequestReader whole = fed(chunked);
  ASSERT_EQ(whole.state(), State::complete);
  EXPECT_EQ(whole.take().body, "abc0123456789");
  RequestReader slow(1024, 100);
  for (const char c : chunked) slow.feed({&c, 1});
  ASSERT_EQ(slow.state(), State::complete);
  EXPECT_EQ(slow.take().body, "abc0123456789");
}

TEST(RequestReader, KeepsOrClosesTheConnectionAsAsked) {
  EXPECT_FALSE(fed("GET / HTTP/1.1\r\nHost: h\r\nConnection: x, Close\r\n\r\n").take().keep_alive);
  EXPECT_FALSE(fed("GET / HTTP/1.0\r\n\r\n").take().keep_alive);
  EXPECT_TRUE(fed("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").take().keep_alive);
}

TEST(RequestReader, TellsWhoWaitsForLeave) {
  RequestReader reader(1024, 100);
  reader.feed("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
  EXPECT_EQ(reader.state(), State::body);
  EXPECT_TRUE(reader.wants_continue());
}

TEST(RequestReader, AcceptsTheLongForm) {
  EXPECT_EQ(fed("GET http://here:80/a?b HTTP/1.1\r\nHost: h\r\n\r\n").take().path, "/a");
  EXPECT_EQ(fed("\r\n\r\nGET http://here HTTP/1.1\r\nHost: h\r\n\r\n").take().path, "/");
}

TEST(RequestReader, RefusesWhatOthersMightReadDifferently) {
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\n";
  EXPECT_EQ(status_of(head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc"), 400);
  EXPECT_EQ(status_of(head + "Content-Length: 2\r\nContent-Length: 2\r\n\r\nab"), 200);
  EXPECT_EQ(status_of(head + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400);
  EXPECT_EQ(status_of(head + "Transfer-Encoding: gzip, chunked\r\n\r\n"), 501);
  EXPECT_EQ(status_of(head + "Content-Length: +2\r\n\r\nab"), 400);
  EXPECT_EQ(status_of(head + "Content-Length: 99999999999999999999\r\n\r\n"), 400);
  EXPECT_EQ(status_of(head + "Content-Length : 2\r\n\r\nab"), 400);
  EXPECT_EQ(status_of(head + "X: 1\r\n folded\r\n\r\n"), 400);
  EXPECT_EQ(status_of(head + "X: 1\nY: 2\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET /a%zz HTTP/1.1\r\nHost: h\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET a HTTP/1.1\r\nHost: h\r\n\r\n"), 400);
  EXPECT_EQ(status_of("G T / HTTP/1.1\r\nHost: h\r\n\r\n"), 400);
  EXPECT_EQ(status_of("PRI * HTTP/2.0\r\n\r\n"), 505);
  EXPECT_EQ(status_of(head + "Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\na"), 415);
  const std::string chunked = head + "Transfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(status_of(chunked + "2\r\nabc\r\n"), 400);
  EXPECT_EQ(status_of(chunked + "\r\n"), 400);
  EXPECT_EQ(status_of(chunked + "-1\r\n"), 400);
  EXPECT_EQ(status_of(chunked + "2\nab"), 400);
  EXPECT_EQ(status_of(chunked + "2 3\r\nab\r\n0\r\n\r\n"), 400);
  EXPECT_EQ(status_of(chunked + "2 ; name=value\r\nab\r\n0\r\n\r\n"), 200);
}

TEST(RequestReader, KeepsItsLimits) {
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\n";
  EXPECT_EQ(status_of(head + "Content-Length: 101\r\n\r\n"), 413);
  EXPECT_EQ(status_of(head + "Transfer-Encoding: chunked\r\n\r\n65\r\n"), 413);
  EXPECT_EQ(status_of(head + "Transfer-Encoding: chunked\r\n\r\n32\r\n" + std::string(50, 'a') + "\r\n33\r\n"), 413);
  EXPECT_EQ(status_of("GET /" + std::string(2000, 'a')), 431);
  EXPECT_EQ(status_of(head + std::string(20000, 'a')), 431);
  EXPECT_EQ(status_of(head + "Transfer-Encoding: chunked\r\n\r\n1;" + std::string(2000, 'a')), 400);
}

// Whatever arrives, in whatever pieces: one state follows, within the limits.
TEST(RequestReader, SurvivesDamagedRequests) {
  RandomStream random(7);
  const auto below = [&](size_t most) { return static_cast<size_t>(random.uniform() * static_cast<double>(most)); };
  const std::string chunked = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
  for (int i = 0; i < 20000; ++i) {
    std::string bytes(i % 2 == 0 ? post : std::string_view(chunked));
    for (size_t changes = below(4) + 1; changes > 0; --changes) bytes[below(bytes.size())] = static_cast<char>(below(256));
    RequestReader reader(1024, 100);
    for (size_t at = 0; at < bytes.size() && reader.state() != State::failed && reader.state() != State::complete;) {
      const size_t piece = std::min(bytes.size() - at, below(40) + 1);
      at += reader.feed(std::string_view(bytes).substr(at, piece));
    }
    ASSERT_LE(reader.held_bytes(), 1200U);
    if (reader.state() == State::complete) ASSERT_LE(reader.take().body.size(), 100U);
  }
}

}  // namespace
}  // namespace l0gm
