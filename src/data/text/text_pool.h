#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace l0gm {

// Many texts in one buffer: no allocation for each of them. Any bytes, also none.
//   TextPool texts;  texts.add("a review");  std::string_view first = texts.view(0);
class TextPool {
 public:
  int64_t size() const { return static_cast<int64_t>(ends_.size()); }
  int64_t bytes() const { return static_cast<int64_t>(buffer_.size()); }
  std::string_view view(int64_t i) const {
    const auto place = static_cast<size_t>(i);
    const uint64_t begin = place == 0 ? 0 : ends_[place - 1];
    return {buffer_.data() + begin, static_cast<size_t>(ends_[place] - begin)};
  }
  void add(std::string_view text) {
    buffer_.append(text);
    ends_.push_back(buffer_.size());
  }
  void reserve(int64_t texts, int64_t bytes) {
    ends_.reserve(static_cast<size_t>(texts));
    buffer_.reserve(static_cast<size_t>(bytes));
  }
  std::string sha256() const;  // of all texts and of where each of them ends

 private:
  std::string buffer_;
  std::vector<uint64_t> ends_;
};

}  // namespace l0gm
