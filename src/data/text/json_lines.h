#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/line_reader.h"

namespace l0gm {

// A file with one JSON object per line, of which some keys are wanted.
//   JsonLines lines(path, {"text", "label"});
//   while (lines.next()) use(lines.text(0), lines.scalar(1));
class JsonLines {
 public:
  JsonLines(const std::filesystem::path& path, std::vector<std::string> keys);
  bool next();  // the next line that is not blank; UserError naming the line when it is no object or lacks a key
  int64_t line() const { return reader_.line(); }
  size_t count() const { return keys_.size(); }
  // Valid until the next call of next(). UserError when the value is of another kind.
  std::string_view text(size_t key) const;    // a string
  std::string_view scalar(size_t key) const;  // a string; numbers and booleans as they are spelled

  enum class Kind { absent, text, number, boolean, other };
  struct Value {
    Kind kind = Kind::absent;
    std::string text;
  };

 private:
  [[noreturn]] void refuse(const std::string& what) const;
  [[noreturn]] void refuse_kind(size_t key, std::string_view wanted) const;
  LineReader reader_;
  std::vector<std::string> keys_;
  std::vector<Value> values_;
};

}  // namespace l0gm
