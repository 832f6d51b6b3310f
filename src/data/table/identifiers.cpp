#include "data/table/identifiers.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <string>

#include "base/text.h"
#include "data/table/fit_numeric.h"

namespace l0gm {
namespace {

constexpr size_t fewest_texts = 10;    // fewer may all differ by coincidence
constexpr size_t fewest_numbers = 20;  // so may small whole numbers
constexpr double many_digits = 1e7;    // eight digits

// The last word of a name: "Id" of "CustomerId", "id" of "customer_id".
std::string last_word(std::string_view name) {
  size_t begin = name.size();
  while (begin > 0 && std::isalpha(static_cast<unsigned char>(name[begin - 1])) != 0) {
    --begin;
    const bool upper = std::isupper(static_cast<unsigned char>(name[begin])) != 0;
    const bool after_lower = begin > 0 && std::islower(static_cast<unsigned char>(name[begin - 1])) != 0;
    if (upper && after_lower) break;
  }
  return lower(name.substr(begin));
}

bool names_identifiers(std::string_view name) {
  constexpr auto words = std::to_array<std::string_view>({"id", "ids", "key", "uid", "uuid", "guid", "index", "identifier"});
  return std::find(words.begin(), words.end(), last_word(name)) != words.end();
}

}  // namespace

bool nearly_all_different(size_t different, size_t cells) {
  if (cells >= fewest_numbers) return 20 * different >= 19 * cells;
  return cells >= fewest_texts && different == cells;
}

bool are_identifiers(std::string_view name, std::span<const double> sorted) {
  if (sorted.size() < fewest_numbers || !all_whole(sorted)) return false;
  size_t different = 1;
  for (size_t i = 1; i < sorted.size(); ++i) different += sorted[i] != sorted[i - 1] ? 1 : 0;
  if (!nearly_all_different(different, sorted.size())) return false;
  const bool numbered_through = sorted.back() - sorted.front() < 2 * static_cast<double>(different);
  const bool long_numbers = sorted.front() >= many_digits;
  return numbered_through || long_numbers || names_identifiers(name);
}

}  // namespace l0gm
