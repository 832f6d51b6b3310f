#include "server/json_cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "server/request_error.h"

namespace l0gm {
namespace {

constexpr int deepest = 64;  // of what is skipped

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Inside a text: neither its end, nor an escape, nor what must be one.
bool is_plain(char c) { return c != '"' && c != '\\' && static_cast<unsigned char>(c) >= 0x20; }

// The same of eight bytes at once; false also where it cannot tell.
bool eight_plain(const char* bytes) {
  constexpr uint64_t ones = 0x0101010101010101U, tops = 0x8080808080808080U;
  uint64_t eight = 0;
  std::memcpy(&eight, bytes, sizeof eight);
  const auto has_zero = [](uint64_t word) { return (word - ones) & ~word & tops; };
  const uint64_t control = (eight - ones * 0x20) & ~eight & tops;
  return (has_zero(eight ^ ones * '"') | has_zero(eight ^ ones * '\\') | control) == 0;
}

const char* name_of(char first) {
  switch (first) {
    case '{':
      return "an object";
    case '[':
      return "an array";
    case '"':
      return "a text";
    case 't':
    case 'f':
      return "a boolean";
    case 'n':
      return "null";
    case '\0':
      return "the end";
    default:
      return is_digit(first) || first == '-' ? "a number" : "something else";
  }
}

}  // namespace

void JsonCursor::refuse(const std::string& what) const {
  throw RequestError(400, fmt::format("{} (byte {} of the body)", what, at_ - begin_));
}

void JsonCursor::skip_space() {
  while (at_ < end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
}

char JsonCursor::peek() {
  skip_space();
  return at_ < end_ ? *at_ : '\0';
}

void JsonCursor::open(char bracket) {
  const char found = peek();
  if (found != bracket) refuse(fmt::format("found {}, wanted {}", name_of(found), name_of(bracket)));
  ++at_;
  first_ = true;
}

bool JsonCursor::next(char closing) {
  const char found = peek();
  const bool first = first_;
  first_ = false;
  if (found == closing) {
    ++at_;
    return false;
  }
  if (first && found != '\0') return true;
  if (found != ',') refuse(fmt::format("wanted a comma or '{}'", closing));
  ++at_;
  if (peek() == closing) refuse("a comma with nothing behind it");
  return true;
}

bool JsonCursor::take(std::string_view spelled) {
  peek();
  if (static_cast<size_t>(end_ - at_) < spelled.size() || std::memcmp(at_, spelled.data(), spelled.size()) != 0) return false;
  at_ += spelled.size();
  return true;
}

std::string_view JsonCursor::key() {
  if (peek() != '"') refuse("wanted a key in quotes");
  const std::string_view key = text();
  if (peek() != ':') refuse("wanted ':' behind a key");
  ++at_;
  return key;
}

unsigned JsonCursor::code_unit() {
  unsigned value = 0;
  if (end_ - at_ < 4) refuse("\\u wants four hexadecimal digits");
  for (int i = 0; i < 4; ++i, ++at_) {
    const char c = *at_;
    const int digit = is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    if (digit < 0) refuse("\\u wants four hexadecimal digits");
    value = value * 16 + static_cast<unsigned>(digit);
  }
  return value;
}

// Behind \u. Never longer than what it stood for.
char* JsonCursor::code_point(char* to) {
  unsigned code = code_unit();
  if (code >= 0xD800 && code < 0xDC00) {
    if (end_ - at_ < 2 || at_[0] != '\\' || at_[1] != 'u') refuse("half of a surrogate pair");
    at_ += 2;
    const unsigned low = code_unit();
    if (low < 0xDC00 || low > 0xDFFF) refuse("half of a surrogate pair");
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  } else if (code >= 0xDC00 && code < 0xE000) {
    refuse("half of a surrogate pair");
  }
  const auto put = [&to](unsigned byte) { *to++ = static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6), put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12), put(0x80 | (code >> 6 & 0x3F)), put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | code >> 18), put(0x80 | (code >> 12 & 0x3F)), put(0x80 | (code >> 6 & 0x3F)), put(0x80 | (code & 0x3F));
  }
  return to;
}

// at_ is behind a backslash.
char* JsonCursor::unescape(char* to) {
  if (at_ == end_) refuse("a text without its closing quote");
  const char c = *at_++;
  switch (c) {
    case 'u':
      return code_point(to);
    case 'n':
      *to = '\n';
      break;
    case 't':
      *to = '\t';
      break;
    case 'r':
      *to = '\r';
      break;
    case 'b':
      *to = '\b';
      break;
    case 'f':
      *to = '\f';
      break;
    case '"':
    case '\\':
    case '/':
      *to = c;
      break;
    default:
      refuse(R"(an unknown escape; known are \" \\ \/ \b \f \n \r \t \uXXXX)");
  }
  return to + 1;
}

std::string_view JsonCursor::text() {
  if (peek() != '"') refuse(fmt::format("found {}, wanted a text", name_of(peek())));
  char* const start = ++at_;
  while (end_ - at_ >= 8 && eight_plain(at_)) at_ += 8;
  while (at_ < end_ && is_plain(*at_)) ++at_;
  char* to = at_;
  while (at_ < end_ && *at_ != '"') {
    if (static_cast<unsigned char>(*at_) < 0x20) refuse("a control character inside a text; write it as an escape");
    if (*at_ == '\\') {
      ++at_;
      to = unescape(to);
    } else {
      *to++ = *at_++;
    }
  }
  if (at_ == end_) refuse("a text without its closing quote");
  ++at_;
  return {start, static_cast<size_t>(to - start)};
}

std::string_view JsonCursor::number() {
  peek();
  const char* const start = at_;
  const auto digits = [this] {
    if (at_ == end_ || !is_digit(*at_)) refuse("not a number of JSON");
    while (at_ < end_ && is_digit(*at_)) ++at_;
  };
  if (at_ < end_ && *at_ == '-') ++at_;
  if (at_ < end_ && *at_ == '0') {
    ++at_;
    if (at_ < end_ && is_digit(*at_)) refuse("a number that begins with 0");
  } else {
    digits();
  }
  if (at_ < end_ && *at_ == '.') ++at_, digits();
  if (at_ < end_ && (*at_ == 'e' || *at_ == 'E')) {
    ++at_;
    if (at_ < end_ && (*at_ == '+' || *at_ == '-')) ++at_;
    digits();
  }
  return {start, static_cast<size_t>(at_ - start)};
}

void JsonCursor::word(std::string_view spelled) {
  const auto left = static_cast<size_t>(end_ - at_);
  if (std::string_view(at_, std::min(left, spelled.size())) != spelled) refuse("not a value of JSON");
  at_ += spelled.size();
}

bool JsonCursor::boolean() {
  const bool value = peek() == 't';
  word(value ? "true" : "false");
  return value;
}

void JsonCursor::null() {
  peek();
  word("null");
}

void JsonCursor::skip_text() {
  ++at_;
  char unused[4];
  while (at_ < end_ && *at_ != '"') {
    if (static_cast<unsigned char>(*at_) < 0x20) refuse("a control character inside a text; write it as an escape");
    if (*at_++ == '\\') unescape(unused);
  }
  if (at_ == end_) refuse("a text without its closing quote");
  ++at_;
}

// Without recursion: what a client nests must not cost stack.
void JsonCursor::skip() {
  char closing[deepest];
  int depth = 0;
  const auto value = [&] {
    const char c = peek();
    if (c == '{' || c == '[') {
      if (depth == deepest) refuse(fmt::format("values nest deeper than {} levels", deepest));
      closing[depth++] = c == '{' ? '}' : ']';
      open(c);
    } else if (c == '"') {
      skip_text();
    } else if (c == 't' || c == 'f') {
      boolean();
    } else if (c == 'n') {
      null();
    } else {
      number();
    }
  };
  value();
  while (depth > 0) {
    if (!next(closing[depth - 1])) {
      --depth;
      continue;
    }
    if (closing[depth - 1] == '}') {
      if (peek() != '"') refuse("wanted a key in quotes");
      skip_text();
      if (peek() != ':') refuse("wanted ':' behind a key");
      ++at_;
    }
    value();
  }
}

void JsonCursor::end() {
  if (peek() != '\0' || at_ != end_) refuse("something follows behind the value");
}

}  // namespace l0gm
