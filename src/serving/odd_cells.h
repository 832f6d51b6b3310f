#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runtime/predictor.h"

namespace l0gm {

// The first cell of each column that was read as missing though it is not empty, and the first category that training did not
// know: what a report shows beside their numbers.
//   OddCells odd(predictor);
//   predictor.predict(cells, probabilities, counts);
//   odd.look(cells, first_row, counts);  // each block, in order
class OddCells {
 public:
  explicit OddCells(const Predictor& predictor);
  // counts: of this block and of all before it. Where a column has its first odd cell in this block, parts of the block are
  // predicted again to find it.
  void look(const Cells& cells, int64_t first_row, const InputCounts& counts);
  // Those of another part of the same file; of two the one of the earlier row stays.
  void merge(const OddCells& other);
  // {"unseen": {column: {"cell": text, "row": number}}, "unreadable": …}
  nlohmann::json json() const;

 private:
  struct Cell {
    int64_t row;
    std::string text;
  };
  using Kind = std::vector<int64_t> InputCounts::*;
  using Found = std::vector<std::optional<Cell>>;  // per column
  void look_for(Kind kind, Found& found, const Cells& cells, int64_t first_row, const InputCounts& counts);
  int64_t first_odd_row(Kind kind, size_t column, const Cells& cells) const;

  const Predictor& predictor_;
  bool asks_again_;
  Found unseen_, unreadable_;
};

}  // namespace l0gm
