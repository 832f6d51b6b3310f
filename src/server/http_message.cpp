#include "server/http_message.h"

#include <fmt/format.h>

#include <charconv>

#include "base/text.h"

namespace l0gm {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void append_number(std::string& out, size_t number) {
  char digits[24];
  out.append(digits, static_cast<size_t>(std::to_chars(digits, digits + sizeof digits, number).ptr - digits));
}

}  // namespace

std::string_view reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Error";
  }
}

HttpResponse error_response(int status, std::string_view message) {
  HttpResponse response;
  response.status = status;
  response.body = fmt::format("{{\"error\": {{\"status\": {}, \"message\": ", status);
  append_json_text(response.body, message);
  response.body += "}}\n";
  return response;
}

std::string http_date(std::time_t second) {
  std::tm parts{};
  gmtime_r(&second, &parts);
  char text[64];
  return {text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts)};
}

void append_head(const HttpResponse& response, bool keep_alive, std::string_view date, std::string& out) {
  out += "HTTP/1.1 ";
  append_number(out, static_cast<size_t>(response.status));
  ((out += ' ') += reason_of(response.status)) += "\r\nContent-Type: ";
  (out += response.content_type) += "\r\nContent-Length: ";
  append_number(out, response.body.size());
  (out += "\r\nDate: ") += date;
  out += keep_alive ? "\r\nConnection: keep-alive" : "\r\nConnection: close";
  out += "\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n";
  (out += response.headers) += "\r\n";
}

void append_json_text(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const size_t valid = first_invalid_utf8(text).value_or(text.size());
    for (const char c : text.substr(0, valid)) {
      if (c == '"' || c == '\\') {
        (out += '\\') += c;
      } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
        out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
      } else {
        out += c;
      }
    }
    if (valid < text.size()) out += "\xEF\xBF\xBD";
    text.remove_prefix(std::min(valid + 1, text.size()));
  }
  out += '"';
}

bool decode_percents(std::string_view text, std::string& out) {
  out.clear();
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1, low = high < 0 ? -1 : hex_digit(text[i + 2]);
    if (low < 0 || (high == 0 && low == 0)) return false;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return true;
}

bool query_value(std::string_view query, std::string_view name, std::string& value) {
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(part.size() + 1, query.size()));
    const size_t equals = part.find('=');
    if (part.substr(0, equals) != name) continue;
    return decode_percents(equals == std::string_view::npos ? std::string_view() : part.substr(equals + 1), value);
  }
  return false;
}

}  // namespace l0gm
