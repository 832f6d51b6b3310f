#include "data/table/csv_buffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "base/text.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

constexpr size_t block_bytes = 256 << 10;  // small enough to stay in the cache between check and parse

// Offset of the first 64-byte block (or the tail) that holds a byte beyond ASCII.
size_t ascii_prefix(const char* bytes, size_t size) {
  size_t at = 0;
  for (; at + 64 <= size; at += 64) {
    uint64_t words[8];
    std::memcpy(words, bytes + at, 64);
    uint64_t any = 0;
    for (const uint64_t word : words) any |= word;
    if ((any & 0x8080808080808080ULL) != 0) return at;
  }
  while (at < size && static_cast<unsigned char>(bytes[at]) < 0x80) ++at;
  return at;
}

}  // namespace

CsvBuffer::CsvBuffer(const std::filesystem::path& path, int64_t longest_line)
    : path_(path), stream_(InputStream::open(path)), longest_line_(static_cast<size_t>(std::max<int64_t>(longest_line, 1))) {
  skip_byte_order_mark();
}

bool CsvBuffer::more() {
  if (refused_) refuse_byte();
  if (at_end()) return false;
  const size_t pending = end_ - begin_;
  check_length(checked_ - begin_);
  if (begin_ > 0) std::memmove(bytes_.get(), bytes_.get() + begin_, pending);
  checked_ -= begin_;
  end_ = pending;
  begin_ = 0;
  // At least one byte more than may be in a line: else a line of just the longest length could not be told from a longer one.
  const size_t wanted = std::max(std::min(2 * pending, longest_line_ + 2), pending + 8);
  const size_t target = std::max(wanted, block_bytes);
  reserve(target);
  while (end_ < target && !end_of_file_) {
    const size_t count = stream_->read({bytes_.get() + end_, target - end_});
    end_ += count;
    end_of_file_ = count == 0;
  }
  check();
  return true;
}

void CsvBuffer::consume(size_t bytes, int64_t lines) {
  begin_ += bytes;
  line_ += lines;
}

void CsvBuffer::reserve(size_t bytes) {
  if (bytes <= capacity_) return;
  // realloc moves pages instead of holding the old and the new copy of a long line at once.
  char* grown = static_cast<char*>(std::realloc(bytes_.get(), bytes));
  if (grown == nullptr) throw std::bad_alloc();
  static_cast<void>(bytes_.release());
  bytes_.reset(grown);
  capacity_ = bytes;
}

void CsvBuffer::check() {
  const char* from = bytes_.get() + checked_;
  size_t size = end_ - checked_;
  const void* nul = size == 0 ? nullptr : std::memchr(from, 0, size);
  if (nul != nullptr) {
    size = static_cast<size_t>(static_cast<const char*>(nul) - from);
    refused_ = true;
  }
  const size_t ascii = ascii_prefix(from, size);
  const auto invalid = first_invalid_utf8({from + ascii, size - ascii});
  if (!invalid) {
    checked_ += size;
    return;
  }
  const size_t offset = ascii + *invalid;
  checked_ += offset;
  // Up to three bytes at the end of what was read may be a character whose rest is still to come.
  if (refused_ || end_of_file_ || size - offset > 3) refused_ = true;
}

void CsvBuffer::refuse_byte() const {
  const std::string_view before = text();
  const int64_t line = line_ + std::count(before.begin(), before.end(), '\n');
  const size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  const auto column = 1 + std::count_if(before.begin() + static_cast<std::ptrdiff_t>(line_start), before.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;  // characters, as an editor counts them
  });
  const auto byte = static_cast<unsigned char>(bytes_.get()[checked_]);
  if (byte == 0) {
    throw UserError(fmt::format("{}: NUL byte at line {}, column {}: this is not a text file, or it is UTF-16. "
                                "Convert UTF-16 with iconv -f utf16 -t utf8, or write the file again.",
                                path_.string(), line, column));
  }
  throw UserError(fmt::format("{}: not UTF-8 at line {}, column {}; convert with iconv -f latin1 -t utf8 (found byte 0x{:02X})",
                              path_.string(), line, column, byte));
}

void CsvBuffer::refuse_length() const {
  throw UserError(fmt::format("{}: line {} is longer than {} bytes. Is a quote left open there, or is this not a table of text "
                              "with line ends?",
                              path_.string(), line_, with_thousands(static_cast<int64_t>(longest_line_))));
}

void CsvBuffer::skip_byte_order_mark() {
  reserve(4);
  while (end_ < 4 && !end_of_file_) {
    const size_t count = stream_->read({bytes_.get() + end_, 4 - end_});
    end_ += count;
    end_of_file_ = count == 0;
  }
  const std::string_view start(bytes_.get(), end_);
  if (start.starts_with("\xFF\xFE") || start.starts_with("\xFE\xFF")) {
    throw UserError(fmt::format("{}: this is UTF-16 (by its byte-order mark), wanted UTF-8; convert with iconv -f utf16 -t utf8",
                                path_.string()));
  }
  if (start.starts_with("\xEF\xBB\xBF")) begin_ = checked_ = 3;
  check();
}

}  // namespace l0gm
