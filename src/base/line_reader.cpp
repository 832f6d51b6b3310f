#include "base/line_reader.h"

#include <fmt/format.h>

#include <cstring>

#include "l0gm/error.h"

namespace l0gm {
namespace {

constexpr size_t block = size_t{1} << 20, longest_line = size_t{64} << 20;  // bytes

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

}  // namespace l0gm
