#include "server/page_headers.h"

#include <fmt/format.h>

#include <stdexcept>

#include "base/hash.h"

namespace l0gm {
namespace {

std::string_view between(std::string_view page, std::string_view open, std::string_view close) {
  const size_t begin = page.find(open), end = page.find(close);
  if (begin == page.npos || end == page.npos || page.find(open, begin + 1) != page.npos) {
    throw std::logic_error(fmt::format("the page has no {} or several", open));
  }
  return page.substr(begin + open.size(), end - begin - open.size());
}

std::string base64_of_hex(const std::string& hex) {
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (const char digit : hex) {
    bits = bits << 4 | static_cast<uint32_t>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    count += 4;
    if (count < 6) continue;
    count -= 6;
    out += letters[bits >> count & 63];
  }
  if (count > 0) out += letters[bits << (6 - count) & 63];
  while (out.size() % 4 != 0) out += '=';
  return out;
}

std::string source_of(std::string_view text) { return "'sha256-" + base64_of_hex(sha256(text)) + "'"; }

}  // namespace

std::string page_headers(std::string_view page) {
  return fmt::format(
      "Content-Security-Policy: default-src 'none'; script-src {}; style-src {}; connect-src 'self'; img-src data:; "
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
      "Referrer-Policy: no-referrer\r\nX-Frame-Options: DENY\r\n",
      source_of(between(page, "<script>", "</script>")), source_of(between(page, "<style>", "</style>")));
}

}  // namespace l0gm
