#include "base/csv_buffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "l0gm/error.h"

namespace l0gm {
namespace {

constexpr size_t block_bytes = 256 << 10;  // small enough to stay in the cache between check and parse

}  // namespace

CsvBuffer::CsvBuffer(const std::filesystem::path& path, int64_t longest_line, bool any_bytes)
    : CsvText(path, longest_line, any_bytes), stream_(InputStream::open(path)) {
  skip_byte_order_mark();
}

void CsvBuffer::grow() {
  const size_t pending = end_ - begin_;
  if (begin_ > 0) std::memmove(bytes_, bytes_ + begin_, pending);
  checked_ -= begin_;
  end_ = pending;
  begin_ = 0;
  // At least one byte more than the longest line: otherwise a line of exactly that length would look like a longer one.
  const size_t wanted = std::max(std::min(2 * pending, longest_line_ + 2), pending + 8);
  fill(std::max(wanted, block_bytes));
}

void CsvBuffer::fill(size_t target) {
  reserve(target);
  while (end_ < target && !end_of_file_) {
    const size_t count = stream_->read({bytes_ + end_, target - end_});
    end_ += count;
    end_of_file_ = count == 0;
  }
}

void CsvBuffer::reserve(size_t bytes) {
  if (bytes <= capacity_) return;
  // realloc moves pages instead of holding the old and the new copy of a long line at once.
  char* grown = static_cast<char*>(std::realloc(owned_.get(), bytes));
  if (grown == nullptr) throw std::bad_alloc();
  static_cast<void>(owned_.release());
  owned_.reset(grown);
  bytes_ = grown;
  capacity_ = bytes;
}

void CsvBuffer::skip_byte_order_mark() {
  fill(4);
  const std::string_view start(bytes_, end_);
  if (start.starts_with("PK\x03\x04"))
    throw UserError(fmt::format("{}: this is a zip archive, as Excel's files are; save the table as CSV in UTF-8", path_.string()));
  if (start.starts_with("\xFF\xFE") || start.starts_with("\xFE\xFF")) {
    throw UserError(fmt::format("{}: this is UTF-16 (by its byte-order mark), wanted UTF-8; convert with iconv -f utf16 -t utf8",
                                path_.string()));
  }
  if (start.starts_with("\xEF\xBB\xBF")) begin_ = checked_ = 3;
  check();
}

}  // namespace l0gm
