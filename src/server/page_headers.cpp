#include "server/page_headers.h"

#include <fmt/format.h>

#include <stdexcept>

#include "base/base64.h"

namespace l0gm {
namespace {

std::string_view between(std::string_view page, std::string_view open, std::string_view close) {
  const size_t begin = page.find(open), end = page.find(close);
  if (begin == page.npos || end == page.npos || page.find(open, begin + 1) != page.npos) {
    throw std::logic_error(fmt::format("the page has no {} or several", open));
  }
  return page.substr(begin + open.size(), end - begin - open.size());
}

std::string source_of(std::string_view text) { return "'sha256-" + base64_sha256(text) + "'"; }

}  // namespace

std::string page_headers(std::string_view page) {
  return fmt::format(
      "Content-Security-Policy: default-src 'none'; script-src {}; style-src {}; connect-src 'self'; img-src data:; "
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
      "Referrer-Policy: no-referrer\r\nX-Frame-Options: DENY\r\n",
      source_of(between(page, "<script>", "</script>")), source_of(between(page, "<style>", "</style>")));
}

}  // namespace l0gm
