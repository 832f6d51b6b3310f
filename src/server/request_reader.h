#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "server/http_message.h"

namespace l0gm {

// Reads one HTTP/1.1 request out of bytes as they arrive. Strict, since what two programs read differently is a way past one of
// them: lines end with CR LF, one length only, no folded headers.
//   size_t used = reader.feed(bytes);                   // what is left belongs to the next request
//   if (reader.state() == RequestReader::State::complete) serve(reader.take());
class RequestReader {
 public:
  enum class State { head, body, complete, failed };
  RequestReader(size_t most_head_bytes, size_t most_body_bytes) : most_head_(most_head_bytes), most_body_(most_body_bytes) {}

  size_t feed(std::string_view bytes);  // stops behind the head, behind the request and at a mistake
  State state() const { return state_; }
  bool started() const { return state_ != State::head || !head_.empty(); }
  const HttpRequest& request() const { return request_; }   // without its body from State::body on
  bool wants_continue() const { return wants_continue_; }   // the client sends its body only when it is told to
  const HttpResponse& problem() const { return problem_; }  // of a request that failed
  size_t held_bytes() const { return head_.size() + request_.body.size(); }
  HttpRequest take();  // of a complete request; ready for the next one then

 private:
  enum class Chunk { none, size, data, data_end, trailer };  // where in a chunked body; none: its length is known
  size_t feed_head(std::string_view bytes);
  size_t feed_body(std::string_view bytes);
  size_t feed_chunks(std::string_view bytes);
  bool chunk_line(std::string_view bytes, size_t& used);
  void end_chunk_line();
  void read_head();
  bool read_request_line(std::string_view line);
  bool read_target(std::string_view target);
  bool read_header(std::string_view line);
  bool read_length(std::string_view value);
  void start_body();
  bool fail(int status, std::string_view message);

  size_t most_head_, most_body_;
  State state_ = State::head;
  std::string head_;
  HttpRequest request_;
  HttpResponse problem_;
  bool wants_continue_ = false, has_length_ = false, has_host_ = false, http_1_0_ = false;
  size_t length_ = 0;  // of the body; chunked: left of this chunk
  Chunk chunk_ = Chunk::none;
  std::string line_;  // of a chunk's size, or of a trailer
  size_t trailer_bytes_ = 0;
};

}  // namespace l0gm
