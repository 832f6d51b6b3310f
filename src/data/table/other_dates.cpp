#include "data/table/other_dates.h"

#include <algorithm>
#include <cctype>

namespace l0gm {
namespace {

// The number of digits that a text begins with.
size_t digits(std::string_view text) {
  const auto is_other = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) == 0; };
  return static_cast<size_t>(std::find_if(text.begin(), text.end(), is_other) - text.begin());
}

bool is_other_date(std::string_view text) {
  char separator = 0;
  for (int part = 0; part < 2; ++part) {  // day and month, in either order
    const size_t count = digits(text);
    if (count < 1 || count > 2 || count == text.size()) return false;
    const char found = text[count];
    if ((found != '.' && found != '/' && found != '-') || (part > 0 && found != separator)) return false;
    separator = found;
    text.remove_prefix(count + 1);
  }
  const size_t year = digits(text);
  if (year != 2 && year != 4) return false;
  text.remove_prefix(year);
  return text.empty() || text.front() == ' ' || text.front() == 'T' || text.front() == ',';
}

}  // namespace

bool are_other_dates(std::span<const std::string_view> cells) {
  return !cells.empty() && std::all_of(cells.begin(), cells.end(), is_other_date);
}

}  // namespace l0gm
