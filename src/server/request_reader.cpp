#include "server/request_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace l0gm {
namespace {

constexpr std::string_view head_end = "\r\n\r\n";
constexpr size_t longest_chunk_line = 1024;

bool is_token(std::string_view text) {
  constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || marks.find(c) != marks.npos;
  });
}

bool has_control_characters(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; });
}

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool equal_words(std::string_view a, std::string_view lower_case) {
  return a.size() == lower_case.size() && std::equal(a.begin(), a.end(), lower_case.begin(), [](char x, char y) {
           return (x >= 'A' && x <= 'Z' ? static_cast<char>(x + 32) : x) == y;
         });
}

// Whether a list with commas between its words has this one.
bool lists_word(std::string_view list, std::string_view lower_case) {
  while (!list.empty()) {
    const std::string_view word = list.substr(0, list.find(','));
    if (equal_words(without_blanks(word), lower_case)) return true;
    list.remove_prefix(std::min(word.size() + 1, list.size()));
  }
  return false;
}

}  // namespace

bool RequestReader::fail(int status, std::string_view message) {
  problem_ = error_response(status, message);
  state_ = State::failed;
  return false;
}

size_t RequestReader::feed(std::string_view bytes) {
  size_t used = 0;
  if (state_ == State::head) return feed_head(bytes);
  if (state_ == State::body) used = chunk_ == Chunk::none ? feed_body(bytes) : feed_chunks(bytes);
  return used;
}

size_t RequestReader::feed_head(std::string_view bytes) {
  size_t skipped = 0;  // empty lines before a request are allowed
  while (head_.empty() && skipped < bytes.size() && (bytes[skipped] == '\r' || bytes[skipped] == '\n')) ++skipped;
  bytes.remove_prefix(skipped);
  const size_t before = head_.size();
  head_.append(bytes.substr(0, most_head_ + head_end.size() - std::min(before, most_head_)));
  const size_t end = head_.find(head_end, before < head_end.size() ? 0 : before - head_end.size());
  if (end == std::string::npos) {
    if (head_.size() > most_head_) fail(431, fmt::format("the request's line and headers have more than {} bytes", most_head_));
    return skipped + bytes.size();
  }
  const size_t used = end + head_end.size() - before;
  head_.resize(end);
  read_head();
  return skipped + used;
}

void RequestReader::read_head() {
  std::string_view rest = head_;
  bool first = true;
  while (!rest.empty() || first) {
    const size_t end = std::min(rest.find("\r\n"), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 2, rest.size()));
    if (has_control_characters(line)) {
      fail(400, "there are control characters in the request's line or headers; lines end with CR LF");
      return;
    }
    if (!(first ? read_request_line(line) : read_header(line))) return;
    first = false;
  }
  if (!has_host_ && !http_1_0_) {
    fail(400, "there is no Host header");
    return;
  }
  start_body();
}

bool RequestReader::read_request_line(std::string_view line) {
  const size_t first = line.find(' '), last = line.rfind(' ');
  if (first == line.npos || first == last) return fail(400, "the request's first line is not METHOD TARGET HTTP/1.1");
  const std::string_view method = line.substr(0, first), version = line.substr(last + 1);
  if (!is_token(method)) return fail(400, "the request's method is no word");
  if (!version.starts_with("HTTP/")) return fail(400, "the request's first line is not METHOD TARGET HTTP/1.1");
  http_1_0_ = version == "HTTP/1.0";
  if (!http_1_0_ && version != "HTTP/1.1") return fail(505, "this server speaks HTTP/1.1");
  request_.keep_alive = !http_1_0_;
  request_.method = method;
  return read_target(line.substr(first + 1, last - first - 1));
}

bool RequestReader::read_target(std::string_view target) {
  if (target.starts_with("http://")) {  // the long form, as for a proxy
    const size_t path = target.find('/', 7);
    target = path == target.npos ? "/" : target.substr(path);
  }
  if (!target.starts_with('/') || target.find_first_of(" #") != target.npos) {
    return fail(400, "the request's target does not begin with / or holds a blank or #");
  }
  const size_t question = target.find('?');
  if (question != target.npos) request_.query = target.substr(question + 1);
  if (!decode_percents(target.substr(0, question), request_.path)) return fail(400, "the request's path has a wrong % code");
  return true;
}

bool RequestReader::read_length(std::string_view value) {
  const bool digits = !value.empty() && value.size() <= 18 && value.find_first_not_of("0123456789") == value.npos;
  if (!digits) return fail(400, "Content-Length is no number");
  const auto length = static_cast<size_t>(*parse_integer(value));
  if (has_length_ && length != length_) return fail(400, "there are two different Content-Length headers");
  has_length_ = true;
  length_ = length;
  return true;
}

bool RequestReader::read_header(std::string_view line) {
  const size_t colon = line.find(':');
  if (colon == line.npos || !is_token(line.substr(0, colon))) {
    return fail(400, "a header is not NAME: VALUE, or is continued on the next line");
  }
  const std::string_view name = line.substr(0, colon), value = without_blanks(line.substr(colon + 1));
  if (equal_words(name, "content-length")) return read_length(value);
  if (equal_words(name, "transfer-encoding")) {
    if (!equal_words(value, "chunked") || chunk_ != Chunk::none) return fail(501, "the only Transfer-Encoding known is chunked");
    chunk_ = Chunk::size;
  } else if (equal_words(name, "host")) {
    if (has_host_) return fail(400, "there are two Host headers");
    has_host_ = true;
    request_.host = value;
  } else if (equal_words(name, "connection")) {
    if (lists_word(value, "close")) request_.keep_alive = false;
    if (http_1_0_ && lists_word(value, "keep-alive")) request_.keep_alive = true;
  } else if (equal_words(name, "expect")) {
    wants_continue_ = equal_words(value, "100-continue");
  } else if (equal_words(name, "content-encoding")) {
    if (!equal_words(value, "identity")) return fail(415, "a body with a Content-Encoding is not read: send it as it is");
  } else if (equal_words(name, "content-type")) {
    request_.content_type = value;
  } else if (equal_words(name, "accept")) {
    if (!request_.accept.empty()) request_.accept += ',';
    request_.accept += value;
  } else if (equal_words(name, "authorization")) {
    request_.authorization = value;
  }
  return true;
}

void RequestReader::start_body() {
  const auto too_large = [this] {
    fail(413, fmt::format("the request's body has more than {} bytes; send fewer rows at a time", most_body_));
  };
  if (chunk_ != Chunk::none && (has_length_ || http_1_0_)) {
    fail(400, "the request has a Transfer-Encoding and a Content-Length, or is of HTTP/1.0");
  } else if (length_ > most_body_) {
    too_large();
  } else {
    head_.clear();
    state_ = chunk_ == Chunk::none && length_ == 0 ? State::complete : State::body;
  }
}

size_t RequestReader::feed_body(std::string_view bytes) {
  std::string& body = request_.body;
  const size_t used = std::min(bytes.size(), length_ - body.size());
  // No more than arrived is reserved: a client may announce much and send nothing.
  if (body.empty() && used < length_) body.reserve(std::min<size_t>(length_, std::max<size_t>(4 * used, 4096)));
  body.append(bytes.substr(0, used));
  if (body.size() == length_) state_ = State::complete;
  return used;
}

// Appends to the current line up to its end; whether the end was there.
bool RequestReader::chunk_line(std::string_view bytes, size_t& used) {
  const size_t end = bytes.find('\n', used);
  const size_t stop = end == bytes.npos ? bytes.size() : end + 1;
  line_.append(bytes.substr(used, stop - used));
  used = stop;
  if (line_.size() > longest_chunk_line) return fail(400, "a line of the chunked body is too long");
  if (end == bytes.npos) return false;
  if (!line_.ends_with("\r\n")) return fail(400, "a line of the chunked body does not end with CR LF");
  line_.resize(line_.size() - 2);
  return true;
}

void RequestReader::end_chunk_line() {
  if (chunk_ == Chunk::data_end) {
    if (!line_.empty()) fail(400, "a chunk is longer than it says");
    chunk_ = Chunk::size;
  } else if (chunk_ == Chunk::trailer) {
    trailer_bytes_ += line_.size();
    if (trailer_bytes_ > most_head_) fail(431, "the chunked body's trailer is too long");
    if (line_.empty()) state_ = State::complete;
  } else {
    const std::string_view line = line_, digits = line.substr(0, line.find_first_of("; \t"));
    const size_t extension = line.find_first_not_of(" \t", digits.size());
    const bool number =
        !digits.empty() && digits.size() <= 8 && digits.find_first_not_of("0123456789abcdefABCDEF") == digits.npos;
    if (!number || (extension != line.npos && line[extension] != ';')) {
      fail(400, "a chunk of the body does not begin with its size");
      return;
    }
    length_ = std::stoul(std::string(digits), nullptr, 16);
    if (request_.body.size() + length_ > most_body_) {
      fail(413, fmt::format("the request's body has more than {} bytes; send fewer rows at a time", most_body_));
    }
    chunk_ = length_ == 0 ? Chunk::trailer : Chunk::data;
  }
  line_.clear();
}

size_t RequestReader::feed_chunks(std::string_view bytes) {
  size_t used = 0;
  while (used < bytes.size() && state_ == State::body) {
    if (chunk_ == Chunk::data) {
      const size_t taken = std::min(bytes.size() - used, length_);
      request_.body.append(bytes.substr(used, taken));
      used += taken;
      length_ -= taken;
      if (length_ == 0) chunk_ = Chunk::data_end;
    } else if (chunk_line(bytes, used)) {
      end_chunk_line();
    }
  }
  return used;
}

HttpRequest RequestReader::take() {
  HttpRequest taken = std::move(request_);
  *this = RequestReader(most_head_, most_body_);
  return taken;
}

}  // namespace l0gm
