#include "encode/table/missing_marks.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/text.h"

namespace l0gm {

MissingMarks::MissingMarks(std::span<const std::string> marks, std::span<const std::string> further) {
  for (const auto& part : {marks, further}) {
    for (const std::string& mark : part) {
      const std::string_view text = trim(mark);
      if (text.empty()) {
        empty_ = true;
      } else {
        first_[static_cast<unsigned char>(text.front())] = true;
        longest_ = std::max(longest_, text.size());
        marks_.emplace_back(text);
        if (const std::optional<double> number = parse_double(text); number && !std::isnan(*number)) numbers_.push_back(*number);
      }
    }
  }
}

bool MissingMarks::among_marks(std::string_view cell) const {
  return std::find(marks_.begin(), marks_.end(), cell) != marks_.end();
}

}  // namespace l0gm
