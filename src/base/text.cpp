#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace l0gm {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
char lower_ascii(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// from_chars does not accept a plus sign.
bool drop_plus(std::string_view& text) {
  if (text.empty() || text.front() != '+') return true;
  text.remove_prefix(1);
  return !text.empty() && text.front() != '-' && text.front() != '+';
}

// A well-formed number outside the range of double becomes infinity or zero, whichever is nearer. Decided by the decimal exponent
// of its first digit other than 0.
double nearest_out_of_range(std::string_view text) {
  const bool negative = text.front() == '-';
  if (negative) text.remove_prefix(1);
  const size_t mark = std::min(text.find_first_of("eE"), text.size());
  const std::string_view mantissa = text.substr(0, mark);
  const size_t point = std::min(mantissa.find('.'), mantissa.size());
  const size_t first = mantissa.find_first_of("123456789");
  double exponent = first < point ? static_cast<double>(point - first) : -static_cast<double>(first - point);
  if (mark < text.size()) {
    const bool down = text[mark + 1] == '-';
    double stated = 0;
    for (const char c : text.substr(mark + 1)) {
      if (is_digit(c)) stated = stated * 10 + (c - '0');
    }
    exponent += down ? -stated : stated;
  }
  return std::copysign(exponent > 0 ? std::numeric_limits<double>::infinity() : 0.0, negative ? -1.0 : 1.0);
}

// Edit distance in which swapping neighbours is one edit; `limit + 1` if it is more than `limit`.
size_t edit_distance(std::string_view a, std::string_view b, size_t limit) {
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) > limit) return limit + 1;
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    size_t smallest = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, substituted});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) now[j] = std::min(now[j], before[j - 2] + 1);
      smallest = std::min(smallest, now[j]);
    }
    if (smallest > limit) return limit + 1;
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

// Length of the valid UTF-8 character at the front, 0 when there is none (the table of well-formed sequences in Unicode 3.9).
size_t utf8_length(const unsigned char* s, size_t size) {
  const unsigned char lead = s[0];
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (size < length) return 0;
  const unsigned char lowest = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char highest = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (s[1] < lowest || s[1] > highest) return 0;
  for (size_t i = 2; i < length; ++i) {
    if ((s[i] & 0xC0) != 0x80) return 0;
  }
  return length;
}

}  // namespace

std::optional<double> parse_double(std::string_view text) {
  text = trim(text);
  if (!drop_plus(text) || text.empty() || text.back() == ')') return std::nullopt;  // ')' ends C's "nan(…)"
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) return nearest_out_of_range(text);
  if (error != std::errc()) return std::nullopt;
  return value;
}

std::optional<int64_t> parse_integer(std::string_view text) {
  text = trim(text);
  if (!drop_plus(text)) return std::nullopt;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// fmt instead of to_chars: equally short, and 100000 rather than 1e+05.
std::string shortest(double value) { return std::isnan(value) ? "nan" : fmt::format("{}", value); }
std::string shortest(float value) { return std::isnan(value) ? "nan" : fmt::format("{}", value); }

std::string with_thousands(int64_t value) {
  const std::string digits = std::to_string(value);
  std::string grouped;
  for (size_t i = 0; i < digits.size(); ++i) {
    const bool after_a_digit = i > 0 && digits[i - 1] != '-';
    if (after_a_digit && (digits.size() - i) % 3 == 0) grouped += ',';
    grouped += digits[i];
  }
  return grouped;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), lower_ascii);
  return result;
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts.begin(), parts.end(), separator));
}

std::string list_some(std::span<const std::string> names, size_t most) {
  if (names.size() <= most) return join(names, ", ");
  return fmt::format("{}{}… ({} in all)", join(names.first(most), ", "), most == 0 ? "" : ", ", names.size());
}

std::string nearest_name(std::string_view name, std::span<const std::string> candidates) {
  const std::string wanted = lower(name);
  size_t limit = std::max<size_t>(1, wanted.size() / 3);
  std::string_view best;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(wanted, lower(candidate), limit);
    // One edit turns any single letter into any other: not a likely typo.
    if (distance > limit || distance >= std::max(wanted.size(), candidate.size())) continue;
    best = candidate;
    if (distance == 0) break;
    limit = distance - 1;
  }
  return std::string(best);
}

std::string did_you_mean(std::string_view name, std::span<const std::string> candidates) {
  const std::string nearest = nearest_name(name, candidates);
  return nearest.empty() ? "" : fmt::format(" Did you mean '{}'?", nearest);
}

std::optional<size_t> first_invalid_utf8(std::string_view text) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  for (size_t at = 0; at < text.size();) {
    if (text.size() - at >= 8) {
      uint64_t eight = 0;
      std::memcpy(&eight, bytes + at, 8);
      if ((eight & 0x8080808080808080U) == 0) {
        at += 8;
        continue;
      }
    }
    const size_t length = utf8_length(bytes + at, text.size() - at);
    if (length == 0) return at;
    at += length;
  }
  return std::nullopt;
}

}  // namespace l0gm
