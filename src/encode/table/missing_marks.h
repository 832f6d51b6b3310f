#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace l0gm {

inline const std::vector<std::string> default_missing_marks = {"",    "?",   "NA",   "N/A",  "na",  "n/a",
                                                               "NaN", "nan", "null", "NULL", "None"};

// Whether a trimmed cell means missing. The first character rules out most cells.
class MissingMarks {
 public:
  MissingMarks() = default;
  MissingMarks(std::span<const std::string> marks, std::span<const std::string> further);
  bool contains(std::string_view cell) const {
    if (cell.empty()) return empty_;
    // One branch for both conditions: the first character alone is hard to predict.
    return (first_[static_cast<unsigned char>(cell.front())] & (cell.size() <= longest_)) && among_marks(cell);
  }

  // The same for a number: one that a mark spells, such as -999.
  bool contains(double number) const {
    return !numbers_.empty() && std::find(numbers_.begin(), numbers_.end(), number) != numbers_.end();
  }

 private:
  bool among_marks(std::string_view cell) const;
  std::array<bool, 256> first_{};
  bool empty_ = false;
  size_t longest_ = 0;
  std::vector<double> numbers_;  // the marks that are numbers
  std::vector<std::string> marks_;
};

}  // namespace l0gm
