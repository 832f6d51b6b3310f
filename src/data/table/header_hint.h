#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace l0gm {

// How the reader of a table file is told what he got wrong.
struct HeaderWords {
  std::string_view delimiter, no_header;  // "data.delimiter = \"{}\"", "data.header = false"; {} is the character
};
constexpr HeaderWords training_words = {"data.delimiter = \"{}\"", "data.header = false"};
constexpr HeaderWords predict_words = {"--delimiter '{}'", "--no-header"};

// Why a column may be missing among the names of a header: another character separates them, or the first line is no header but a
// row. A sentence with the remedy, after a blank; or nothing.
std::string header_hint(const std::vector<std::string>& names, char delimiter, std::string_view wanted, const HeaderWords& words);

}  // namespace l0gm
