#include "base/csv_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/csv_scan.h"
#include "base/text.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

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

CsvText::CsvText(std::filesystem::path path, int64_t longest_line, bool any_bytes)
    : path_(std::move(path)), longest_line_(static_cast<size_t>(std::max<int64_t>(longest_line, 1))), any_bytes_(any_bytes) {}

bool CsvText::more() {
  if (refused_) refuse_byte();
  if (at_end()) return false;
  check_length(checked_ - begin_);
  grow();
  check();
  return true;
}

void CsvText::check() {
  if (any_bytes_) {
    checked_ = end_;
    return;
  }
  const char* from = bytes_ + checked_;
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
  // Up to three bytes at the end of what was read may be a character whose other bytes have not been read yet.
  if (refused_ || end_of_file_ || size - offset > 3) refused_ = true;
}

void CsvText::refuse_byte() const {
  const std::string_view before = text();
  const int64_t line = line_ + csv_scan::count_byte(before, '\n');
  const size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  const auto column = 1 + std::count_if(before.begin() + static_cast<std::ptrdiff_t>(line_start), before.end(), [](char c) {
                        return (static_cast<unsigned char>(c) & 0xC0) != 0x80;  // characters, as an editor counts them
                      });
  const auto byte = static_cast<unsigned char>(bytes_[checked_]);
  if (byte == 0) {
    throw UserError(
        fmt::format("{}: NUL byte at line {}, column {}: this is not a text file, or it is UTF-16. "
                    "Convert UTF-16 with iconv -f utf16 -t utf8, or write the file again.",
                    path_.string(), line, column));
  }
  throw UserError(fmt::format("{}: not UTF-8 at line {}, column {}; convert with iconv -f latin1 -t utf8 (found byte 0x{:02X})",
                              path_.string(), line, column, byte));
}

void CsvText::refuse_length() const {
  throw UserError(
      fmt::format("{}: line {} is longer than {} bytes. Is a quote left open there, or is this not a table of text "
                  "with line ends?",
                  path_.string(), line_, with_thousands(static_cast<int64_t>(longest_line_))));
}

}  // namespace l0gm
