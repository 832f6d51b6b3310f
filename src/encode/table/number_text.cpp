#include "encode/table/number_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>

#include "base/text.h"

namespace l0gm {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Whether each separator stands between a group of one to three digits and groups of three: 1,234,567. No number of thousands is
// written with a zero in front: 0,123 is a decimal comma.
bool grouped_well(std::string_view whole, char separator) {
  const size_t first = whole.find(separator);
  if (first == std::string_view::npos) return true;
  if (first == 0 || first > 3 || (whole.size() - first) % 4 != 0 || whole.front() == '0') return false;
  for (size_t i = 0; i < whole.size(); ++i) {
    const bool separates = i >= first && (i - first) % 4 == 0;
    if (separates ? whole[i] != separator : !is_digit(whole[i])) return false;
  }
  return true;
}

// So many digits at the start, taken off the text; -1 if they are not there.
int take_digits(std::string_view& text, size_t count) {
  if (text.size() < count) return -1;
  int value = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!is_digit(text[i])) return -1;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(count);
  return value;
}

bool take_mark(std::string_view& text, std::string_view marks) {
  if (text.empty() || marks.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// "13:45" or "13:45:59", perhaps with a Z behind it, as a share of a day.
std::optional<double> parse_time(std::string_view text) {
  const int hour = take_digits(text, 2);
  if (hour < 0 || hour > 23 || !take_mark(text, ":")) return std::nullopt;
  const int minute = take_digits(text, 2);
  if (minute < 0 || minute > 59) return std::nullopt;
  int second = 0;
  if (take_mark(text, ":")) {
    second = take_digits(text, 2);
    if (second < 0 || second > 59) return std::nullopt;
  }
  take_mark(text, "Z");
  if (!text.empty()) return std::nullopt;
  return (hour * 3600 + minute * 60 + second) / 86400.0;
}

std::optional<double> parse_date(std::string_view text) {
  namespace chrono = std::chrono;
  const int year = take_digits(text, 4);
  const char mark = text.empty() ? ' ' : text.front();
  if (year < 0 || !take_mark(text, "-/")) return std::nullopt;
  const int month = take_digits(text, 2);
  if (month < 0 || !take_mark(text, std::string_view(&mark, 1))) return std::nullopt;
  const int day = take_digits(text, 2);
  if (day < 0) return std::nullopt;
  const chrono::year_month_day date{chrono::year(year), chrono::month(static_cast<unsigned>(month)),
                                    chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  const double days = chrono::sys_days(date).time_since_epoch().count();
  if (text.empty()) return days;
  if (!take_mark(text, " T")) return std::nullopt;
  const std::optional<double> time = parse_time(text);
  return time ? std::optional<double>(days + *time) : std::nullopt;
}

std::string date_text(double value) {
  namespace chrono = std::chrono;
  constexpr double first = -719528, last = 2932896;  // of the years 0 to 9999
  value = std::clamp(value, first, last);
  auto seconds = static_cast<int64_t>(std::llround((value - std::floor(value)) * 86400));
  const auto days = static_cast<int>(std::floor(value)) + static_cast<int>(seconds / 86400);
  seconds %= 86400;
  const chrono::year_month_day date{chrono::sys_days(chrono::days(days))};
  std::string text = fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                                 static_cast<unsigned>(date.day()));
  if (seconds > 0) text += fmt::format(" {:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
  return text;
}

}  // namespace

std::optional<double> parse_number(std::string_view text, char notation) {
  if (notation == 0) return parse_double(text);
  text = trim(text);
  if (notation == date_notation) return parse_date(text);
  const char decimal = notation;
  const char separator = decimal == ',' ? '.' : ',';
  const size_t sign = !text.empty() && (text.front() == '-' || text.front() == '+') ? 1 : 0;
  const size_t end = std::min(text.find_first_of(decimal == ',' ? ",eE" : ".eE", sign), text.size());
  if (!grouped_well(text.substr(sign, end - sign), separator)) return std::nullopt;
  if (text.find(separator, end) != std::string_view::npos) return std::nullopt;
  std::array<char, 64> plain;
  size_t size = 0;
  for (const char c : text) {
    if (c == separator) continue;
    if (size == plain.size()) return std::nullopt;
    plain[size++] = c == decimal ? '.' : c;
  }
  return parse_double({plain.data(), size});
}

std::string number_text(double value, char notation) {
  if (notation == date_notation) return date_text(value);
  std::string text = shortest(value);
  if (notation == ',') std::replace(text.begin(), text.end(), '.', ',');
  return text;
}

}  // namespace l0gm
