#include "data/graph/line_reader.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstring>

#include "base/text.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

constexpr size_t block = size_t{1} << 20, longest_line = size_t{64} << 20;

// A number that from_chars does not accept: with blanks or a plus around it, or too small for a float.
bool parse_unusual(std::string_view text, float& number) {
  const auto value = parse_double(text);
  if (value) number = static_cast<float>(*value);
  return value.has_value();
}

}  // namespace

LineReader::LineReader(const std::filesystem::path& path) : path_(path), input_(InputStream::open(path)), buffer_(block) {}

// More bytes behind those of the unfinished line; false at the end of the file.
bool LineReader::fill() {
  if (ended_) return false;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) {
    if (end_ >= longest_line)
      throw UserError(fmt::format("{} line {} has more than 64 MiB. Is it a text file?", path_.string(), line_ + 1));
    buffer_.resize(buffer_.size() * 2);
  }
  const size_t count = input_->read({buffer_.data() + end_, buffer_.size() - end_});
  end_ += count;
  ended_ = count == 0;
  return !ended_;
}

bool LineReader::next(std::string_view& line) {
  searched_ = begin_;
  const char* newline = nullptr;
  while (true) {
    newline = static_cast<const char*>(std::memchr(buffer_.data() + searched_, '\n', end_ - searched_));
    if (newline != nullptr) break;
    const size_t unfinished = end_ - begin_;
    if (!fill()) break;
    searched_ = begin_ + unfinished;
  }
  if (newline == nullptr && begin_ == end_) return false;
  const char* begin = buffer_.data() + begin_;
  const size_t size = newline == nullptr ? end_ - begin_ : static_cast<size_t>(newline - begin);
  begin_ += size + (newline == nullptr ? 0 : 1);
  line_ += 1;
  line = {begin, size};
  if (line.ends_with('\r')) line.remove_suffix(1);
  return true;
}

bool parse_numbers(std::string_view line, std::vector<float>& numbers, size_t& column) {
  numbers.clear();
  const char* place = line.data();
  const char* const end = place + line.size();
  for (column = 0;; ++column) {
    float number = 0;
    auto [after, error] = std::from_chars(place, end, number);
    if (error != std::errc() || (after != end && *after != ',')) {
      const auto* comma = static_cast<const char*>(std::memchr(place, ',', static_cast<size_t>(end - place)));
      after = comma == nullptr ? end : comma;
      if (!parse_unusual({place, static_cast<size_t>(after - place)}, number)) return false;
    }
    if (!std::isfinite(number)) return false;
    numbers.push_back(number);
    if (after == end) return true;
    place = after + 1;
  }
}

bool parse_pair(std::string_view line, int64_t& first, int64_t& second) {
  const char* const end = line.data() + line.size();
  const auto [comma, error] = std::from_chars(line.data(), end, first);
  if (error == std::errc() && comma != end && *comma == ',') {
    const auto [after, second_error] = std::from_chars(comma + 1, end, second);
    if (second_error == std::errc() && after == end) return true;
  }
  const size_t place = line.find(',');  // blanks around the numbers
  if (place == std::string_view::npos) return false;
  const auto left = parse_integer(trim(line.substr(0, place))), right = parse_integer(trim(line.substr(place + 1)));
  if (left) first = *left;
  if (right) second = *right;
  return left && right;
}

}  // namespace l0gm
