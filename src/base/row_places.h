#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace l0gm {

// Where the rows of a table were read, for messages. A line is kept only where it is not the one after the row before, so that a
// file costs a few entries, whatever its length.
class RowPlaces {
 public:
  void begin_file(std::string file);    // rows that are added from here on are in this file
  void add(int64_t row, int64_t line);  // rows in ascending order; line: 1-based
  std::string of(int64_t row) const;    // "bank.csv: line 17", or "data row 17" where nothing is known of it

 private:
  struct Start {
    int64_t row, line;  // rows from here on are in consecutive lines, up to the next start
    size_t file;
  };
  std::vector<std::string> files_;
  std::vector<Start> starts_;
};

}  // namespace l0gm
