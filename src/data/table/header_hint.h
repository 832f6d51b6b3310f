#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace l0gm {

// How the reader of a table file is told what he got wrong.
struct HeaderWords {
  std::string_view delimiter;  // "data.delimiter = \"{}\"", where {} is the character
  std::string_view no_header;  // "data.header = false"; "": a header is needed
};
constexpr HeaderWords training_words = {"data.delimiter = \"{}\"", "data.header = false"};
constexpr HeaderWords predict_words = {"--delimiter '{}'", "--no-header"};
// The model knows its columns by names, which a file without a header does not have.
constexpr HeaderWords predict_named_words = {"--delimiter '{}'", ""};

// Why a column may be missing among the names of a header: another character separates them, or the first line is no header but a
// row. A sentence with the remedy, after a blank; or nothing.
std::string header_hint(const std::vector<std::string>& names, char delimiter, std::string_view wanted, const HeaderWords& words);

}  // namespace l0gm
