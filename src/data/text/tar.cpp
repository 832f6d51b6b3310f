#include "data/text/tar.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

constexpr int64_t block_size = 512, longest_name = 1 << 16;

// Places of a header's fields.
constexpr size_t size_at = 124, checksum_at = 148, kind_at = 156, magic_at = 257, prefix_at = 345;

std::string_view field(const std::array<char, 512>& block, size_t begin, size_t length) {
  const std::string_view text(block.data() + begin, length);
  return text.substr(0, text.find('\0'));
}

// Octal digits with blanks around them. Other encodings are for files of 8 GiB and more, which are not read here.
std::optional<int64_t> octal(std::string_view text) {
  text = trim(text);
  if (text.empty() || text.size() > 12) return std::nullopt;
  int64_t value = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '7') return std::nullopt;
    value = value * 8 + (digit - '0');
  }
  return value;
}

// The sum of all bytes, where those of the checksum itself count as blanks.
int64_t checksum(const std::array<char, 512>& block) {
  int64_t sum = 0;
  for (size_t i = 0; i < block.size(); ++i) {
    const bool own = i >= checksum_at && i < checksum_at + 8;
    sum += own ? ' ' : static_cast<unsigned char>(block[i]);
  }
  return sum;
}

int64_t padded(int64_t size) { return (size + block_size - 1) / block_size * block_size; }

}  // namespace

TarReader::TarReader(const std::filesystem::path& path) : path_(path), input_(InputStream::open(path)) {}

void TarReader::refuse(const std::string& what) const {
  throw UserError(fmt::format("{}, before byte {} of the archive: {}. It is cut off, damaged or no tar archive; fetch it again.",
                              path_.string(), position_, what));
}

size_t TarReader::fill(char* to, size_t wanted) {
  size_t filled = 0;
  while (filled < wanted) {
    const size_t count = input_->read({to + filled, wanted - filled});
    if (count == 0) break;
    filled += count;
  }
  position_ += static_cast<int64_t>(filled);
  return filled;
}

void TarReader::need(char* to, size_t wanted) {
  if (fill(to, wanted) != wanted) refuse("it ends in the middle of a file");
}

void TarReader::pass_over(int64_t bytes) {
  std::array<char, 8192> buffer;
  while (bytes > 0) {
    const int64_t piece = std::min<int64_t>(bytes, buffer.size());
    need(buffer.data(), static_cast<size_t>(piece));
    bytes -= piece;
  }
}

// False at the end: a block of zeros, or no block.
bool TarReader::read_header(Block& block) {
  const size_t count = fill(block.data(), block.size());
  if (count == 0) {
    if (position_ == 0) refuse("it is empty");
    return false;
  }
  if (count < block.size()) refuse("it ends in the middle of a header");
  if (std::all_of(block.begin(), block.end(), [](char c) { return c == 0; })) return false;
  if (octal(field(block, checksum_at, 8)) != checksum(block)) refuse("the checksum of a header is wrong");
  const std::optional<int64_t> size = octal(field(block, size_at, 12));
  if (!size) refuse("the size of a file is not an octal number");
  size_ = *size;
  left_ = padded(size_);
  return true;
}

// GNU: a name of more than 100 bytes is the content of a member of its own.
std::string TarReader::long_name() {
  if (size_ > longest_name) refuse(fmt::format("a file's name has {} bytes", size_));
  std::string name(static_cast<size_t>(left_), '\0');
  need(name.data(), name.size());
  left_ = 0;
  return name.substr(0, std::min(name.find('\0'), static_cast<size_t>(size_)));
}

bool TarReader::next() {
  std::string given;
  Block block;
  while (true) {
    pass_over(left_);
    left_ = 0;
    if (!read_header(block)) return false;
    const char kind = block[kind_at];
    if (kind == 'L') {
      given = long_name();
      continue;
    }
    if (kind != '0' && kind != '\0' && kind != '7') {
      if (kind != 'x') given.clear();
      continue;
    }
    const std::string_view prefix = field(block, magic_at, 5) == "ustar" ? field(block, prefix_at, 155) : std::string_view();
    const std::string_view own = field(block, 0, 100);
    name_ = !given.empty() ? given : prefix.empty() ? std::string(own) : fmt::format("{}/{}", prefix, own);
    return true;
  }
}

const std::string& TarReader::content(int64_t most) {
  if (size_ > most)
    refuse(fmt::format("'{}' has {} bytes, wanted at most {}", name_, with_thousands(size_), with_thousands(most)));
  content_.resize(static_cast<size_t>(left_));
  if (left_ > 0) need(content_.data(), content_.size());
  left_ = 0;
  content_.resize(static_cast<size_t>(size_));
  return content_;
}

}  // namespace l0gm
