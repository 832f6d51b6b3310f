#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace l0gm {

// Numbers are read and written independently of the locale, whole string or nothing.
std::optional<double> parse_double(std::string_view text);  // accepts surrounding blanks, "1e3", "+1", "inf", "nan"
std::optional<int64_t> parse_integer(std::string_view text);
std::string shortest(double value);  // shortest text that reads back as the same double
std::string shortest(float value);
std::string with_thousands(int64_t value);  // 1234567 -> 1,234,567

std::string_view trim(std::string_view text);  // ASCII blanks
std::string lower(std::string_view text);
std::string join(std::span<const std::string> parts, std::string_view separator);
// At most `most` names, then "… (N in all)": for messages that list the contents of a file.
std::string list_some(std::span<const std::string> names, size_t most = 12);

// The candidate with the smallest edit distance, or "" when none is close enough to be a likely typo.
std::string nearest_name(std::string_view name, std::span<const std::string> candidates);
// " Did you mean 'x'?" or "".
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

// 0-based offset of the first byte that is not valid UTF-8 (overlong, surrogate, truncated, > U+10FFFF), if any.
std::optional<size_t> first_invalid_utf8(std::string_view text);

}  // namespace l0gm
