#pragma once

#include <cstdlib>
#include <memory>
#include <span>

#include "base/csv_text.h"
#include "base/input_stream.h"

namespace l0gm {

// A file's text that is read on demand, from the start (after a byte-order mark) to the end.
class CsvBuffer : public CsvText {
 public:
  CsvBuffer(const std::filesystem::path& path, int64_t longest_line, bool any_bytes = false);

  // For a caller that continues on its own: the bytes read and not consumed, checked or not, and then those that follow.
  std::string_view unread() const { return {bytes_ + begin_, end_ - begin_}; }
  size_t read_further(std::span<char> to) { return stream_->read(to); }  // 0 at the end

 private:
  struct Free {
    void operator()(char* bytes) const { std::free(bytes); }
  };
  void grow() override;
  void fill(size_t target);
  void reserve(size_t bytes);
  void skip_byte_order_mark();

  std::unique_ptr<InputStream> stream_;
  std::unique_ptr<char, Free> owned_;
  size_t capacity_ = 0;
};

}  // namespace l0gm
